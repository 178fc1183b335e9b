import type { Key as ApiKey } from '../../contract/types.ts';
import type { Binding } from '../keys.ts';
import { ListScreen } from '../parts/list.tsx';
import type { Column } from '../parts/table.tsx';
import type { Page } from '../rows.ts';
import type { Tone } from '../theme.ts';
import { ago, moment } from '../times.ts';

type Status = ApiKey['status'];
const TONES: Readonly<Record<Status, Tone>> = { ACTIVE: 'ok', SUSPENDED: 'warn', REVOKED: 'bad' };

/** API keys, by name. */
export class KeysScreen extends ListScreen<ApiKey> {
  readonly name = 'keys';
  readonly title = 'keys';
  protected readonly empty = 'No keys. Make one: wfx key create --help';
  protected readonly columns: readonly Column<ApiKey>[] = [
    { title: 'NAME', width: 0, text: ({ name }) => name },
    { title: 'STATUS', width: 9, text: ({ status }) => status, tone: ({ status }) => TONES[status] },
    { title: 'ROLES', width: 16, text: ({ roles }) => roles.join(' ') },
    { title: 'ORGANIZATION', width: 12, from: 100, text: ({ organizationId }) => organizationId ?? 'system' },
    { title: 'LIMITS', width: 14, from: 110, text: limitsOf, tone: () => 'dim' },
    {
      title: 'EXPIRES',
      width: 11,
      from: 80,
      text: ({ expiresAt }) => (expiresAt === null ? 'never' : moment(Date.parse(expiresAt))),
    },
    {
      title: 'USED',
      width: 7,
      align: 'right',
      text: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : ago(Date.parse(lastUsedAt))),
    },
    { title: 'ID', width: 18, from: 70, text: ({ keyId }) => keyId, tone: () => 'dim' },
  ];

  protected page(cursor: string | undefined): Promise<Page<ApiKey>> {
    return this.app.client.call('listKeys', { query: { limit: 200, ...(cursor !== undefined && { cursor }) } });
  }
  protected idOf({ keyId }: ApiKey): string {
    return keyId;
  }
  protected words(key: ApiKey): string {
    return `${key.name} ${key.keyId} ${key.status} ${key.roles.join(' ')} ${key.organizationId ?? 'system'}`;
  }

  protected actions(): readonly Binding[] {
    return [
      {
        keys: ['s'],
        does: 'suspend',
        changes: true,
        run: () => this.#change('SUSPENDED', 'Suspend', 'It is refused until it is resumed.'),
      },
      { keys: ['a'], does: 'resume', changes: true, run: () => this.#change('ACTIVE', 'Resume', 'It is taken again.') },
      {
        keys: ['R'],
        does: 'revoke',
        changes: true,
        run: () => this.#change('REVOKED', 'Revoke', 'It is refused for good.'),
      },
    ];
  }

  #change(status: Status, does: string, means: string): void {
    const keys = this.chosen;
    const [first] = keys;
    if (first === undefined) return;
    const what = keys.length === 1 ? `the key ${first.name}` : `${keys.length} keys`;
    this.app.confirm(`${does} ${what}? ${means}`, does.toLowerCase(), () => {
      this.unmark();
      void this.app
        .each(keys, 'Changed', async ({ keyId }) => {
          const key = await this.app.client.call('updateKey', { params: { keyId }, body: { status } });
          this.rows.put({ ...key });
        })
        .then(() => this.app.changed());
    });
  }
}

const limitsOf = ({ rateLimitPerMinute: minute, rateLimitPerHour: hour }: ApiKey): string =>
  [minute === null ? '' : `${minute}/min`, hour === null ? '' : `${hour}/h`].filter((part) => part !== '').join(' ');

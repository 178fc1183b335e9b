import type { Key as ApiKey } from '../../contract/types.ts';
import type { Binding } from '../keys.ts';
import { ListScreen } from '../parts/list.tsx';
import type { Column } from '../parts/table.tsx';
import type { Page } from '../rows.ts';
import type { Tone } from '../theme.ts';
import { ago, moment } from '../times.ts';

type Status = ApiKey['status'];
const TONES: Readonly<Record<Status, Tone>> = { ACTIVE: 'ok', SUSPENDED: 'warn', REVOKED: 'bad' };

/** What may be done to a key, and to which. */
interface Change {
  readonly key: string;
  readonly does: string;
  readonly done: string;
  readonly from: readonly Status[];
  readonly to: Status;
  readonly means: string;
}
const CHANGES: readonly Change[] = [
  {
    key: 's',
    does: 'suspend',
    done: 'Suspended',
    from: ['ACTIVE'],
    to: 'SUSPENDED',
    means: 'It is refused until it is resumed.',
  },
  { key: 'a', does: 'resume', done: 'Resumed', from: ['SUSPENDED'], to: 'ACTIVE', means: 'It is taken again.' },
  {
    key: 'R',
    does: 'revoke',
    done: 'Revoked',
    from: ['ACTIVE', 'SUSPENDED'],
    to: 'REVOKED',
    means: 'It is refused for good.',
  },
];

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
    return CHANGES.map((change) => ({
      keys: [change.key],
      does: change.does,
      changes: true,
      quiet: !this.chosen.some(({ status }) => change.from.includes(status)),
      run: () => this.#change(change),
    }));
  }

  #change({ does, done, from, to, means }: Change): void {
    const keys = this.chosen.filter(({ status }) => from.includes(status));
    const [first] = keys;
    if (first === undefined) return this.app.say(`Nothing to ${does}: no key that is ${from.join(' or ')}.`, 'warn');
    const what = keys.length === 1 ? `the key ${first.name}` : `${keys.length} keys`;
    this.app.confirm(`${does[0]?.toUpperCase()}${does.slice(1)} ${what}? ${means}`, does, () => {
      this.unmark();
      void this.app
        .each(keys, done, async ({ keyId }) => {
          const key = await this.app.client.call('updateKey', { params: { keyId }, body: { status: to } });
          this.rows.put({ ...key });
        })
        .then(() => this.app.changed());
    });
  }
}

const limitsOf = ({ rateLimitPerMinute: minute, rateLimitPerHour: hour }: ApiKey): string =>
  [minute === null ? '' : `${minute}/min`, hour === null ? '' : `${hour}/h`].filter((part) => part !== '').join(' ');

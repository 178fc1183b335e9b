import type { Command } from 'commander';
import { ROLE_NAMES, type Role } from '../../contract/permissions.ts';
import type { Key, NewKey } from '../../contract/types.ts';
import { shownTime } from '../../terminal/shown.ts';
import { usage } from '../exit.ts';
import { collected, examples } from '../help.ts';
import { firstItems } from '../pages.ts';
import { styleOf } from '../shown.ts';
import { printTable } from '../table.ts';
import type { Wfx } from '../wfx.ts';

interface CreateOptions {
  readonly role?: readonly string[];
  readonly organization?: string;
  readonly expires?: string;
  readonly perMinute?: string;
  readonly perHour?: string;
}

const KEY_ID = ['<key-id>', 'id of the key: wfx key list shows it'] as const;

export function add(command: Command, wfx: Wfx): void {
  command
    .command('create')
    .description('Make an API key. It is shown this once only.')
    .argument('<name>', 'what it is for')
    .option('-r, --role <role>', `${ROLE_NAMES.join(', ')} (default: runner); may be given several times`, collected)
    .option('--organization <id>', 'whose key it is, when the key in use is system-level')
    .option('--expires <date>', 'ISO 8601 date, or with a time: 2027-01-31, 2027-01-31T12:00:00Z')
    .option('--per-minute <requests>', 'rate limit per minute (default: none)')
    .option('--per-hour <requests>', 'rate limit per hour (default: none)')
    .addHelpText(
      'after',
      examples(
        ['wfx key create ci --role developer', 'may publish and run flows'],
        ['KEY=$(wfx key create shop --role runner)', 'stdout has the key alone'],
        ['wfx key create guest -r viewer --expires 2027-01-31', 'for a while'],
      ),
    )
    .action((name: string, options: CreateOptions) => create(wfx, name, options));
  command
    .command('list')
    .alias('ls')
    .description('List the keys, without their secrets.')
    .addHelpText('after', examples(['wfx key list', 'roles, status and last use']))
    .action(() => list(wfx));
  for (const [verb, status, meaning] of [
    ['suspend', 'SUSPENDED', 'Make a key invalid until it is activated again.'],
    ['activate', 'ACTIVE', 'Make a suspended key valid again.'],
    ['revoke', 'REVOKED', 'Make a key invalid for good.'],
  ] as const)
    command
      .command(verb)
      .description(meaning)
      .argument(...KEY_ID)
      .addHelpText('after', examples([`wfx key ${verb} KEY_ID`, meaning.toLowerCase().replace(/\.$/, '')]))
      .action((keyId: string) => setStatus(wfx, keyId, status));
  command
    .command('rotate')
    .description('Give a key a new secret. The old one is invalid at once.')
    .argument(...KEY_ID)
    .addHelpText('after', examples(['KEY=$(wfx key rotate KEY_ID)', 'stdout has the new key alone']))
    .action((keyId: string) => rotate(wfx, keyId));
}

async function create(wfx: Wfx, name: string, options: CreateOptions): Promise<void> {
  const body = {
    name,
    roles: (options.role ?? ['runner']).map(roleOf),
    ...(options.organization === undefined ? {} : { organizationId: options.organization }),
    ...(options.expires === undefined ? {} : { expiresAt: momentOf(options.expires) }),
    ...(options.perMinute === undefined ? {} : { rateLimitPerMinute: countOf(options.perMinute, '--per-minute') }),
    ...(options.perHour === undefined ? {} : { rateLimitPerHour: countOf(options.perHour, '--per-hour') }),
  };
  const client = await wfx.client();
  showNew(wfx, await client.call('createKey', { body }));
}

function roleOf(text: string): Role {
  const role = ROLE_NAMES.find((name) => name === text.toLowerCase());
  if (role !== undefined) return role;
  throw usage(`There is no role “${text}”.`, `the roles are ${ROLE_NAMES.join(', ')}`);
}

/** A date alone means its end, UTC: a key that expires on a day still works on it. */
function momentOf(text: string): string {
  const moment = new Date(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T23:59:59.999Z` : text);
  if (Number.isNaN(moment.getTime()))
    throw usage(`--expires takes an ISO 8601 date, not “${text}”.`, 'for example: 2027-01-31');
  return moment.toISOString();
}

function countOf(text: string, option: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count > 0) return count;
  throw usage(`${option} takes a whole number above 0, not “${text}”.`);
}

function showNew(wfx: Wfx, key: NewKey): void {
  if (wfx.json) {
    wfx.io.json(key);
    return;
  }
  wfx.io.note(`Key ${key.keyId} (${key.roles.join(', ')}). It is shown this once only:`);
  wfx.io.print(key.key);
}

async function list(wfx: Wfx): Promise<void> {
  const client = await wfx.client();
  const page = await firstItems<Key>(100_000, (query) => client.call('listKeys', { query }));
  if (wfx.json) return wfx.io.json(page);
  printTable(
    wfx.io,
    page.items,
    [
      { title: 'KEY ID', text: ({ keyId }) => keyId },
      { title: 'STATUS', text: ({ status }) => status, style: ({ status }) => styleOf(status) },
      { title: 'ROLES', text: ({ roles }) => roles.join(', ') },
      { title: 'EXPIRES', text: ({ expiresAt }) => (expiresAt === null ? 'never' : shownTime(expiresAt)) },
      { title: 'LAST USED', text: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : shownTime(lastUsedAt)) },
      { title: 'ORGANIZATION', text: ({ organizationId }) => organizationId ?? '(system)' },
      { title: 'NAME', text: ({ name }) => name },
    ],
    'There are no keys.',
  );
}

async function setStatus(wfx: Wfx, keyId: string, status: Key['status']): Promise<void> {
  const client = await wfx.client();
  const key = await client.call('updateKey', { params: { keyId }, body: { status } });
  if (wfx.json) wfx.io.json(key);
  else wfx.io.note(`Key ${key.keyId} is ${key.status}.`);
}

async function rotate(wfx: Wfx, keyId: string): Promise<void> {
  const client = await wfx.client();
  showNew(wfx, await client.call('rotateKey', { params: { keyId } }));
}

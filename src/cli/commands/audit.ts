import type { Command } from 'commander';
import { plain } from '../../client/index.ts';
import type { AuditEntry } from '../../contract/types.ts';
import { shownTime } from '../../terminal/shown.ts';
import { examples } from '../help.ts';
import { firstItems, limitOf } from '../pages.ts';
import { printTable } from '../table.ts';
import type { Wfx } from '../wfx.ts';

interface AuditOptions {
  readonly key?: string;
  readonly limit: number;
}

export function add(command: Command, wfx: Wfx): void {
  command
    .description('Show who did what, newest first: what changed something, and what was turned away.')
    .option('--key <key-id>', 'only what this key did')
    .option('-n, --limit <number>', 'how many at most', limitOf, 50)
    .addHelpText(
      'after',
      examples(['wfx audit', 'the last 50'], ['wfx audit --key KEY_ID -o json', 'what a key did, for programs']),
    )
    .action((options: AuditOptions) => audit(wfx, options));
}

async function audit(wfx: Wfx, { key, limit }: AuditOptions): Promise<void> {
  const client = await wfx.client();
  const page = await firstItems<AuditEntry>(limit, (query) =>
    client.call('listAudit', { query: { ...query, ...(key === undefined ? {} : { keyId: key }) } }),
  );
  if (wfx.json) return wfx.io.json(page);
  printTable(
    wfx.io,
    page.items,
    [
      { title: 'WHEN', text: ({ at }) => shownTime(at) },
      { title: 'WHO', text: ({ actor }) => (actor === null ? '-' : `${actor.name} (${actor.keyId ?? actor.userId})`) },
      { title: 'WHAT', text: ({ action }) => action },
      {
        title: 'ANSWER',
        text: ({ status, error }) => (error === undefined ? String(status) : `${status} ${error}`),
        style: ({ status }) => (status < 400 ? undefined : 'red'),
      },
      { title: 'FROM', text: ({ address }) => address },
      { title: 'TO', text: ({ target }) => plain(Object.values(target).join(' ')) },
    ],
    'Nothing is recorded yet.',
  );
}

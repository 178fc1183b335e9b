import type { Command } from 'commander';
import { examples } from '../help.ts';
import { printFields } from '../table.ts';
import type { Wfx } from '../wfx.ts';

export function add(command: Command, wfx: Wfx): void {
  command
    .description('Show whose key commands send, and what it may do.')
    .addHelpText('after', examples(['wfx whoami', 'key, organization, roles and permissions']))
    .action(() => whoami(wfx));
}

async function whoami(wfx: Wfx): Promise<void> {
  const client = await wfx.client();
  const me = await client.call('whoami');
  if (wfx.json) return wfx.io.json(me);
  printFields(wfx.io, [
    ['key', me.keyId],
    ['name', me.name],
    ['organization', me.organizationId ?? '(none: a system-level key)'],
    ['roles', me.roles.join(', ')],
    ['permissions', me.permissions.join(', ')],
  ]);
}

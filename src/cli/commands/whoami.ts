import type { Command } from 'commander';
import { examples } from '../help.ts';
import { printFields } from '../table.ts';
import type { Wfx } from '../wfx.ts';

export function add(command: Command, wfx: Wfx): void {
  command
    .description('Show which key commands send, or who signed in, and what that allows.')
    .addHelpText('after', examples(['wfx whoami', 'key, organization, roles and permissions']))
    .action(() => whoami(wfx));
}

async function whoami(wfx: Wfx): Promise<void> {
  const client = await wfx.client();
  const me = await client.call('whoami');
  if (wfx.json) return wfx.io.json(me);
  printFields(wfx.io, [
    me.userId === null ? ['key', me.keyId ?? ''] : ['user', me.userId],
    ['name', me.name],
    ['organization', me.organizationId ?? '(none: system-level)'],
    ['roles', me.roles.join(', ')],
    ['permissions', me.permissions.join(', ')],
  ]);
}

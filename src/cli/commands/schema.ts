import type { Command } from 'commander';
import { examples } from '../help.ts';
import type { Wfx } from '../wfx.ts';

export function add(command: Command, wfx: Wfx): void {
  command
    .description(
      'Print the JSON Schema of flow files. An editor that knows it completes keys and marks mistakes as you type.',
    )
    .addHelpText(
      'after',
      `${examples(['wfx schema > flow.schema.json', 'keep it beside your flows'])}

Then begin a flow file with:
  # yaml-language-server: $schema=flow.schema.json`,
    )
    .action(async () => {
      const { flowSchema } = await import('../../engine/schema.ts');
      wfx.io.json(flowSchema());
    });
}

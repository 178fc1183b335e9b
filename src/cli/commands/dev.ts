import type { Command } from 'commander';
import type { DevOptions } from '../dev/dev.ts';
import { examples } from '../help.ts';
import type { Wfx } from '../wfx.ts';

export function add(command: Command, wfx: Wfx): void {
  command
    .description(
      'Work on the flows of a folder, until Ctrl-C: each valid one is published to DEVELOPMENT when it is saved, problems are shown, and so are deliveries of webhooks and what the runs do. Finds the daemon, or starts one that ends with it.',
    )
    .argument('[folder]', 'with flow files, also in folders below', '.')
    .option('--tunnel <name>', 'make the webhooks reachable from outside, as wfx webhook tunnel does')
    .option('--public-url <url>', 'address of the tunnel, where the program does not print it')
    .option('--url-pattern <regex>', 'where a tunnel prints several addresses: which one')
    .option('--remote-port <port>', 'tunnel by ssh: the port over there (default: 80)')
    .addHelpText(
      'after',
      examples(
        ['wfx dev', 'the flows of this folder'],
        ['wfx dev flows --tunnel cloudflared', 'and their webhooks from outside'],
        ['wfx dev -o json | jq', 'one object a line'],
      ),
    )
    .action(async (folder: string, options: DevOptions) => (await import('../dev/dev.ts')).dev(wfx, folder, options));
}

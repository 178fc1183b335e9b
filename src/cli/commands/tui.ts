import { type Command, Option } from 'commander';
import { usage } from '../exit.ts';
import { examples } from '../help.ts';
import type { Wfx } from '../wfx.ts';

interface Options {
  readonly readOnly?: true;
  readonly theme?: 'dark' | 'light' | 'mono';
}

export function add(command: Command, wfx: Wfx): void {
  command
    .description(
      'Watch and operate everything from one screen: runs, tasks, flows, webhooks, keys, schedules and the health of the daemon. ? shows every key.',
    )
    .argument('[screen]', 'where to begin: runs, tasks, flows, …', 'runs')
    .option('--read-only', 'look only: everything that changes something is gone')
    .addOption(
      new Option('--theme <name>', 'colours (default: what fits the terminal)').choices(['dark', 'light', 'mono']),
    )
    .addHelpText(
      'after',
      examples(
        ['wfx tui', 'begin with the runs'],
        ['wfx tui tasks', 'begin with what waits for people'],
        ['wfx --url https://wfx.example tui --read-only', 'watch a daemon elsewhere'],
      ),
    )
    .action(async (screen: string, { readOnly, theme }: Options) => {
      if (!wfx.io.stdin.isTTY || !wfx.io.stdout.isTTY)
        throw usage('wfx tui needs a terminal.', 'in scripts use the other commands: wfx instance list -o json');
      const client = await wfx.client();
      const { runTui } = await import('../../tui/start.tsx');
      const { home } = wfx.settings;
      const place = (await client.url()).replace(/^https?:\/\//, '');
      await runTui({ client, home, env: wfx.io.env, place, readOnly: readOnly === true, screen, theme });
    });
}

import type { Command } from 'commander';
import { collected, examples } from '../help.ts';
import type { RunOptions } from '../run/run.ts';
import type { Wfx } from '../wfx.ts';

export function add(command: Command, wfx: Wfx): void {
  command
    .description(
      'Run a flow and follow it to its end: finds the daemon or starts one, publishes the file if it changed, shows the log, asks at the terminal for what the flow waits for, and prints the variables (stdout) when it is over.',
    )
    .argument('<file|process-id>', 'a flow file (- reads standard input), or the id of a published flow')
    .option(
      '-d, --data <key=value>',
      'a variable to start with; dots reach inside; may be given several times',
      collected,
    )
    .option('--data-file <file>', 'variables from a YAML or JSON file; - reads standard input')
    .option(
      '-s, --set-input <node=value>',
      'answer for an Input Node or User Task; node.field=value for forms',
      collected,
    )
    .option('--input-file <file>', 'answers from a YAML or JSON file: a map from node id to value')
    .option('-k, --correlation-key <key>', 'your own reference, which events find the run by')
    .option('-e, --environment <name>', 'DEVELOPMENT or PRODUCTION (default: PRODUCTION)')
    .option('--version-number <version>', 'version of a published flow to run (default: the active one)')
    .option('--timeout <duration>', 'stop following after this long (90s, 10m, PT1H), and exit with 124')
    .option('--detach', 'start the run, print its id, and leave it')
    .addHelpText(
      'after',
      `${examples(
        ['wfx run order-approval.yaml', 'run it, and be asked'],
        ['wfx run order-approval.yaml -s review=approve', 'answer beforehand: for scripts'],
        ['wfx run order.yaml -d order.total=240 -d order.id=A-17', 'with variables'],
        ['wfx run order.yaml --data-file order.json -o json', 'print the whole run as JSON'],
        ['ID=$(wfx run 7c9e6679-7425-40de-944b-e07fc1f90ae7 --detach)', 'a published flow, in the background'],
      )}

Values: --data takes JSON for numbers, true, false, null, lists and objects; everything else is text. Numbers that must
stay text go into --data-file. --set-input: a list is written a,b; @cancel cancels the task; a file is given by its path;
given several times, the answers are taken in turn.
Exits with 0 Completed, 1 Failed, 3 Cancelled, 124 --timeout, 130 Ctrl-C, 2 when nobody answers a question.`,
    )
    .action(async (target: string, options: RunOptions) => {
      const { run } = await import('../run/run.ts');
      await run(wfx, target, options);
    });
}

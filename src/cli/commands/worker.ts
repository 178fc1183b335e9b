import type { Command } from 'commander';
import { usage } from '../exit.ts';
import { examples } from '../help.ts';
import type { Wfx } from '../wfx.ts';

interface Options {
  readonly dir?: string;
  readonly concurrency: string;
  readonly environment?: string;
}

export function add(command: Command, wfx: Wfx): void {
  command
    .description(
      'Do domainTask nodes here: polls the daemon for tasks of these handlers, runs them, and hands in what they return, until Ctrl-C. Any number of workers may run, on any machine.',
    )
    .argument('[file...]', 'handler files (JavaScript or TypeScript); the name of the file is the name of the handler')
    .option('--dir <folder>', 'all handler files of a folder, loaded again whenever they are saved')
    .option('-c, --concurrency <number>', 'tasks at the same time', '4')
    .option('-e, --environment <name>', 'only tasks of runs in DEVELOPMENT or PRODUCTION (default: both)')
    .addHelpText(
      'after',
      examples(
        ['wfx worker charge-card.ts', 'does `type: domainTask, handler: charge-card`'],
        ['wfx worker --dir handlers', 'all of a folder, with reload'],
        ['wfx --url https://wfx.example worker --dir handlers', 'for a daemon elsewhere (WFX_API_KEY)'],
      ),
    )
    .action(async (files: readonly string[], { dir, concurrency, environment }: Options) => {
      const places = Number(concurrency);
      if (!Number.isInteger(places) || places < 1 || places > 1000)
        throw usage(`--concurrency takes a whole number from 1 to 1000, not “${concurrency}”.`);
      if (files.length === 0 && dir === undefined)
        throw usage('A worker needs handlers.', 'name files, or a folder: wfx worker --dir handlers');
      const { runWorker } = await import('../worker/worker.ts');
      await runWorker(wfx, {
        files,
        dir,
        places,
        environment: environment === undefined ? undefined : wfx.environment(environment),
      });
    });
}

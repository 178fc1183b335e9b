import type { Command } from 'commander';
import type { Published } from '../../contract/types.ts';
import { mustCompile } from '../compiled.ts';
import { readSource } from '../flow-file.ts';
import { examples } from '../help.ts';
import { publish, publishedSentence } from '../publishing.ts';
import type { Wfx } from '../wfx.ts';

interface Options {
  readonly environment?: string;
}

export function add(command: Command, wfx: Wfx): void {
  command
    .description(
      'Publish flow files: each becomes a new version and the active one. A file that did not change makes no version.',
    )
    .argument('<file...>', 'flow files; - reads standard input')
    .option('-e, --environment <name>', 'where it becomes active: DEVELOPMENT or PRODUCTION (default: both)')
    .addHelpText(
      'after',
      examples(
        ['wfx publish order.yaml', 'publish, active in both environments'],
        ['wfx publish -e DEVELOPMENT flows/*.yaml', 'publish several, for development only'],
      ),
    )
    .action((files: readonly string[], options: Options) => publishAll(wfx, files, options));
}

/** All files are checked before the first is published. */
async function publishAll(wfx: Wfx, files: readonly string[], options: Options): Promise<void> {
  const environment = wfx.environment(options.environment);
  const sources = files.map((file) => readSource(file, 'flow file'));
  const flows = [];
  for (const source of sources) flows.push({ source, flow: await mustCompile(wfx.io, source) });
  const client = await wfx.client();
  const results: Published[] = [];
  for (const { source, flow } of flows) {
    const published = await publish(wfx, client, source, environment);
    results.push(published);
    if (!wfx.json) wfx.io.print(`${wfx.io.paint('green', '✓')} ${publishedSentence(flow.name, published)}`);
  }
  if (wfx.json) wfx.io.json(results.length === 1 ? results[0] : { items: results });
}

import type { Command } from 'commander';
import type { Client } from '../../client/index.ts';
import type { Environment, EnvironmentValue } from '../../contract/types.ts';
import { shownValue } from '../../terminal/shown.ts';
import { CliError, EXIT } from '../exit.ts';
import { examples } from '../help.ts';
import { firstItems } from '../pages.ts';
import { printTable } from '../table.ts';
import { assignment } from '../values.ts';
import type { Wfx } from '../wfx.ts';

interface Options {
  readonly environment?: string;
  readonly secret?: boolean;
}
const OPTION = ['-e, --environment <name>', 'DEVELOPMENT or PRODUCTION (default: PRODUCTION)'] as const;

export function add(command: Command, wfx: Wfx): void {
  command
    .command('set')
    .description(
      'Set values that flows read as {env.NAME}. They are text; flows never see the environment of the daemon itself.',
    )
    .argument('<name=value...>', 'what to set')
    .option(...OPTION)
    .option('--secret', 'keep the values sealed: only outside work gets them, everywhere else they read ***')
    .addHelpText(
      'after',
      examples(
        ['wfx env set SHOP_URL=https://shop.example', 'for runs in PRODUCTION'],
        ['wfx env set --secret SHOP_KEY=s3cr3t', 'never shown again'],
        ['wfx env set -e DEVELOPMENT SHOP_URL=http://127.0.0.1:8080', 'for runs in DEVELOPMENT'],
      ),
    )
    .action((values: readonly string[], options: Options) => set(wfx, values, options));
  command
    .command('list')
    .alias('ls')
    .description('List the values.')
    .option('-e, --environment <name>', 'only DEVELOPMENT or PRODUCTION')
    .addHelpText('after', examples(['wfx env list', 'of both environments']))
    .action((options: Options) => list(wfx, options));
  command
    .command('unset')
    .description('Remove values.')
    .argument('<name...>', 'which')
    .option(...OPTION)
    .addHelpText('after', examples(['wfx env unset SHOP_URL', 'remove it from PRODUCTION']))
    .action((names: readonly string[], options: Options) => unset(wfx, names, options));
}

const chosen = (wfx: Wfx, options: Options): Environment => wfx.environment(options.environment) ?? 'PRODUCTION';

async function set(wfx: Wfx, texts: readonly string[], options: Options): Promise<void> {
  const environment = chosen(wfx, options);
  const values = texts.map((text) => assignment(text, 'wfx env set', 'SHOP_URL=https://shop.example'));
  const client = await wfx.client();
  const results: EnvironmentValue[] = [];
  for (const [name, value] of values)
    results.push(
      await client.call('setEnvironment', {
        body: { name, value, environment, ...(options.secret === true && { secret: true }) },
      }),
    );
  if (wfx.json) wfx.io.json({ items: results });
  else for (const { name } of results) wfx.io.note(`${name} is set in ${environment}.`);
}

async function list(wfx: Wfx, options: Options): Promise<void> {
  const environment = wfx.environment(options.environment);
  const page = await all(await wfx.client(), environment);
  if (wfx.json) return wfx.io.json(page);
  printTable(
    wfx.io,
    page.items,
    [
      { title: 'NAME', text: ({ name }) => name },
      { title: 'ENVIRONMENT', text: (value) => value.environment },
      { title: 'VALUE', text: ({ value }) => shownValue(value) },
    ],
    'No values are set. Set one: wfx env set NAME=value',
  );
}

const all = (client: Client, environment: Environment | undefined) =>
  firstItems<EnvironmentValue>(100_000, (page) =>
    client.call('listEnvironment', { query: { ...page, ...(environment === undefined ? {} : { environment }) } }),
  );

async function unset(wfx: Wfx, names: readonly string[], options: Options): Promise<void> {
  const environment = chosen(wfx, options);
  const client = await wfx.client();
  const { items } = await all(client, environment);
  const found = names.map((name) => items.find((value) => value.name === name) ?? missing(name, environment));
  for (const { id } of found) await client.call('deleteEnvironment', { params: { valueId: id } });
  if (wfx.json) wfx.io.json({ items: found });
  else for (const { name } of found) wfx.io.note(`${name} is removed from ${environment}.`);
}

function missing(name: string, environment: Environment): never {
  throw new CliError(EXIT.usage, `There is no value ${name} in ${environment}.`, 'wfx env list shows them');
}

import type { Command } from 'commander';
import { plainLines } from '../../client/index.ts';
import type { Memory } from '../../contract/types.ts';
import { shownTime, shownValue } from '../../terminal/shown.ts';
import { typedValue } from '../../terminal/typed.ts';
import { examples } from '../help.ts';
import { firstItems, limitOf } from '../pages.ts';
import { type Column, printTable } from '../table.ts';
import type { Wfx } from '../wfx.ts';

interface Options {
  readonly flow?: string;
  readonly prefix?: string;
}
interface Listed extends Options {
  readonly limit: number;
}
const FLOW = ['-f, --flow <process-id>', "the memory of this flow (default: the organization's)"] as const;
const PREFIX = ['-p, --prefix <text>', 'only keys that begin so'] as const;

export function add(command: Command, wfx: Wfx): void {
  command
    .command('list')
    .alias('ls')
    .description('List what is remembered, by key.')
    .option(...FLOW)
    .option(...PREFIX)
    .option('-n, --limit <number>', 'how many at most', limitOf, 1000)
    .addHelpText('after', examples(['wfx memory list --prefix customer/', 'keys that begin so']))
    .action((options: Listed) => list(wfx, options));
  command
    .command('get')
    .description('Print a value: a text as it is, anything else as JSON.')
    .argument('<key>', 'its name')
    .option(...FLOW)
    .addHelpText('after', examples(['wfx memory get greeting', "of the organization's memory"]))
    .action((key: string, options: Options) => get(wfx, key, options));
  command
    .command('set')
    .description('Remember a value, new or in place of the old one.')
    .argument('<key>', 'its name')
    .argument('<value>', 'JSON where it is a number, true, false, null, a list or an object; text otherwise')
    .option(...FLOW)
    .addHelpText(
      'after',
      examples(['wfx memory set greeting hello', 'a text'], ['wfx memory set limits \'{"daily": 5}\'', 'an object']),
    )
    .action((key: string, value: string, options: Options) => set(wfx, key, value, options));
  command
    .command('delete')
    .alias('rm')
    .description('Forget values.')
    .argument('<key...>', 'which')
    .option(...FLOW)
    .addHelpText('after', examples(['wfx memory delete greeting', 'it is gone at once']))
    .action((keys: readonly string[], options: Options) => remove(wfx, keys, options));
  command
    .command('search')
    .description('Search keys and values for words, best first. Words may be misspelt a little, or only begun.')
    .argument('<query>', 'what is looked for')
    .option(...FLOW)
    .option(...PREFIX)
    .option('-n, --limit <number>', 'how many at most', limitOf, 10)
    .addHelpText('after', examples(['wfx memory search "late invoice"', 'what speaks of it']))
    .action((query: string, options: Listed) => search(wfx, query, options));
}

const ofFlow = ({ flow }: Options) => (flow === undefined ? {} : { processId: flow });
const underPrefix = ({ prefix }: Options) => (prefix === undefined ? {} : { prefix });

const COLUMNS: readonly Column<Memory>[] = [
  { title: 'KEY', text: ({ key }) => key },
  { title: 'UPDATED', text: ({ updatedAt }) => shownTime(updatedAt) },
  { title: 'VALUE', text: ({ value }) => shownValue(value) },
];

async function list(wfx: Wfx, { limit, ...options }: Listed): Promise<void> {
  const client = await wfx.client();
  const asked = { ...ofFlow(options), ...underPrefix(options) };
  const page = await firstItems<Memory>(limit, (at) => client.call('listMemory', { query: { ...asked, ...at } }));
  if (wfx.json) return wfx.io.json(page);
  printTable(wfx.io, page.items, COLUMNS, 'Nothing is remembered here.');
  if (page.nextCursor !== null) wfx.io.note(`There is more: --limit shows more than ${limit}.`);
}

async function get(wfx: Wfx, key: string, options: Options): Promise<void> {
  const client = await wfx.client();
  const memory = await client.call('getMemory', { params: { memoryKey: key }, query: ofFlow(options) });
  if (wfx.json) return wfx.io.json(memory);
  if (typeof memory.value !== 'string') return wfx.io.json(memory.value);
  wfx.io.print(wfx.io.stdout.isTTY === true ? plainLines(memory.value, 1_100_000) : memory.value);
}

async function set(wfx: Wfx, key: string, text: string, options: Options): Promise<void> {
  const client = await wfx.client();
  const body = { value: typedValue(text) };
  const memory = await client.call('setMemory', { params: { memoryKey: key }, query: ofFlow(options), body });
  if (wfx.json) wfx.io.json(memory);
  else wfx.io.note(`${key} is remembered.`);
}

async function remove(wfx: Wfx, keys: readonly string[], options: Options): Promise<void> {
  const client = await wfx.client();
  for (const key of keys) await client.call('deleteMemory', { params: { memoryKey: key }, query: ofFlow(options) });
  if (wfx.json) wfx.io.json({ items: keys });
  else for (const key of keys) wfx.io.note(`${key} is forgotten.`);
}

async function search(wfx: Wfx, query: string, { limit, ...options }: Listed): Promise<void> {
  const client = await wfx.client();
  const asked = { query, limit, ...ofFlow(options), ...underPrefix(options) };
  const found = await client.call('searchMemory', { query: asked });
  if (wfx.json) wfx.io.json(found);
  else printTable(wfx.io, found.items, COLUMNS, 'Nothing here speaks of that.');
}

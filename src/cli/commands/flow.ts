import { existsSync, writeFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import type { Command } from 'commander';
import { plain, plainLines } from '../../client/index.ts';
import type { Activated, Environment, FlowDefinition, FlowSummary } from '../../contract/types.ts';
import { shownTime } from '../../terminal/shown.ts';
import { mustCompile } from '../compiled.ts';
import { CliError, EXIT, usage } from '../exit.ts';
import { printGraph } from '../graph.ts';
import { collected, examples } from '../help.ts';
import type { Io } from '../io.ts';
import { firstItems, limitOf } from '../pages.ts';
import { printFields, printTable } from '../table.ts';
import type { Wfx } from '../wfx.ts';

interface EnvironmentOption {
  readonly environment?: string;
}
const ENVIRONMENT = ['-e, --environment <name>', 'DEVELOPMENT or PRODUCTION (default: both)'] as const;
const PROCESS_ID = ['<process-id>', 'id of the flow, as its file has it'] as const;

export function add(command: Command, wfx: Wfx): void {
  command
    .command('init')
    .description('Write a first flow to begin from, with comments and an id of its own. Never overwrites a file.')
    .argument('[file]', 'where to', 'flow.yaml')
    .option('-n, --name <name>', 'name of the flow (default: after the file)')
    .addHelpText('after', examples(['wfx flow init hello.yaml', 'then: wfx run hello.yaml']))
    .action((file: string, options: { readonly name?: string }) => init(wfx, file, options.name));
  command
    .command('list')
    .alias('ls')
    .description('List the published flows.')
    .option('-n, --limit <number>', 'how many at most', limitOf, 100)
    .addHelpText('after', examples(['wfx flow list', 'by name'], ['wfx flow list -o json', '{items, nextCursor}']))
    .action((options: { readonly limit: number }) => list(wfx, options.limit));
  command
    .command('show')
    .description('Show a flow: its versions, triggers and source.')
    .argument(...PROCESS_ID)
    .option('--version-number <version>', 'which version (default: the newest)')
    .option('--source', 'print only the source')
    .option('--graph', 'draw it')
    .addHelpText('after', examples(['wfx flow show PROCESS_ID --source > flow.yaml', 'get the file back']))
    .action((id: string, options: ShowOptions) => show(wfx, id, options));
  command
    .command('versions')
    .description('List the versions of a flow, newest first.')
    .argument(...PROCESS_ID)
    .addHelpText('after', examples(['wfx flow versions PROCESS_ID', 'and where each is active']))
    .action((id: string) => versions(wfx, id));
  command
    .command('activate')
    .description('Choose the active version: the one that new runs take. Running ones stay on theirs.')
    .argument(...PROCESS_ID)
    .argument('<version>', 'version number')
    .option(...ENVIRONMENT)
    .addHelpText('after', examples(['wfx flow activate PROCESS_ID 3 -e PRODUCTION', 'go back to version 3']))
    .action((id: string, version: string, options: EnvironmentOption) => activate(wfx, id, version, options));
  command
    .command('unpublish')
    .description('Withdraw a flow: nothing starts it any more, running instances go on. Its versions stay.')
    .argument(...PROCESS_ID)
    .option(...ENVIRONMENT)
    .addHelpText('after', examples(['wfx flow unpublish PROCESS_ID -e DEVELOPMENT', 'only there']))
    .action((id: string, options: EnvironmentOption) => unpublish(wfx, id, options));
  addTrigger(command, wfx);
}

function addTrigger(command: Command, wfx: Wfx): void {
  command
    .command('trigger')
    .description(
      'Try a trigger of a flow by hand: the payload is read, filtered and made into variables as if it had come.',
    )
    .argument(...PROCESS_ID)
    .requiredOption('-t, --type <type>', 'webhook, schedule or email')
    .option('-p, --payload <file>', 'body of the event, or the whole message (.eml); - reads standard input')
    .option('--link <name>', 'of several triggers the one with this webhook, connection or cron expression')
    .option('--provider <name>', 'webhook: who sends it, where the webhook is not registered yet')
    .option('--header <name=value>', 'webhook: a header of the event; may be given several times', collected)
    .option('-e, --environment <name>', 'DEVELOPMENT or PRODUCTION (default: PRODUCTION where it is published there)')
    .option('--version-number <version>', 'which version (default: the active one)')
    .addHelpText(
      'after',
      examples(
        ['wfx flow trigger PROCESS_ID -t email -p message.eml', 'as if the message had come'],
        [
          'wfx flow trigger PROCESS_ID -t webhook -p push.json --header X-GitHub-Event=push',
          'as if GitHub had sent it',
        ],
        ['wfx flow trigger PROCESS_ID -t schedule', 'as if the time had come'],
      ),
    )
    .action(async (id: string, options) => (await import('../flow-trigger.ts')).trigger(wfx, id, options));
}

async function init(wfx: Wfx, file: string, name: string | undefined): Promise<void> {
  const { starterFlow } = await import('../starter.ts');
  const title = name ?? titleOf(file);
  if (existsSync(file))
    throw usage(`${file} is there already, and is left as it is.`, 'give another name: wfx flow init other.yaml');
  try {
    writeFileSync(file, starterFlow(title), { flag: 'wx' });
  } catch (error) {
    throw new CliError(
      EXIT.usage,
      `${file} can't be written: ${(error as Error).message}.`,
      'check that the folder is there and yours',
    );
  }
  if (wfx.json) wfx.io.json({ file });
  else wfx.io.note(`Wrote ${file}. Run it: wfx run ${file}`);
}

/** `order-approval.yaml` → `Order approval`. */
function titleOf(file: string): string {
  const words = basename(file, extname(file)).replace(/[-_]+/g, ' ').trim();
  return words === '' ? 'My flow' : words.charAt(0).toUpperCase() + words.slice(1);
}

const activeText = ({ activeVersion }: Pick<FlowSummary, 'activeVersion'>, environment: Environment): string =>
  activeVersion[environment] ?? '-';
const triggerText = ({ triggers }: FlowSummary): string => triggers.map(({ type }) => String(type)).join(', ') || '-';

async function list(wfx: Wfx, limit: number): Promise<void> {
  const client = await wfx.client();
  const page = await firstItems<FlowSummary>(limit, (query) => client.call('listFlows', { query }));
  if (wfx.json) return wfx.io.json(page);
  printTable(
    wfx.io,
    page.items,
    [
      { title: 'PROCESS ID', text: ({ processId }) => processId },
      { title: 'PRODUCTION', text: (flow) => activeText(flow, 'PRODUCTION') },
      { title: 'DEVELOPMENT', text: (flow) => activeText(flow, 'DEVELOPMENT') },
      { title: 'TRIGGERS', text: triggerText },
      { title: 'UPDATED', text: ({ updatedAt }) => shownTime(updatedAt) },
      { title: 'NAME', text: ({ name }) => name },
    ],
    'No flow is published yet. Publish one: wfx publish FILE',
  );
  if (page.nextCursor !== null) wfx.io.note(`There are more; --limit shows more than ${limit}.`);
}

interface ShowOptions {
  readonly versionNumber?: string;
  readonly source?: true;
  readonly graph?: true;
}

async function show(wfx: Wfx, processId: string, { versionNumber, source, graph }: ShowOptions): Promise<void> {
  const client = await wfx.client();
  const query = versionNumber === undefined ? {} : { versionNumber };
  const flow = await client.call('getFlow', { params: { processId }, query });
  if (wfx.json) return wfx.io.json(flow);
  // Somebody who wants the file gets it byte for byte, unless it goes to a terminal, which would obey what is in it.
  if (source === true)
    return void wfx.io.stdout.write(wfx.io.stdout.isTTY === true ? plainLines(flow.source, 1_000_000) : flow.source);
  if (graph === true)
    return printGraph(wfx.io, await mustCompile(wfx.io, { name: `version ${flow.version}`, text: flow.source }));
  showFlow(wfx, flow);
}

function showFlow({ io }: Wfx, flow: FlowDefinition): void {
  io.print(io.paint('bold', plain(flow.name)));
  printFields(io, [
    ['process id', flow.processId],
    ['description', flow.description ?? undefined],
    ['versions', flow.versions.join(', ')],
    ['production', flow.activeVersion.PRODUCTION ?? 'not published'],
    ['development', flow.activeVersion.DEVELOPMENT ?? 'not published'],
    ['triggers', triggerText(flow)],
    ['public', flow.public ? 'yes' : 'no'],
    ['updated', shownTime(flow.updatedAt)],
  ]);
  for (const schedule of flow.schedules) showSchedule(io, schedule);
  io.print(`\n${io.paint('dim', `# version ${flow.version}`)}\n${plainLines(flow.source, 1_000_000).trimEnd()}`);
}

/** When it comes next, in its own timezone and in that of whoever looks. */
function showSchedule(io: Io, { cron, timezone, environment, next }: FlowDefinition['schedules'][number]): void {
  const local = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const where = environment === null ? 'not active' : `in ${environment}`;
  io.print(`\n${io.paint('dim', 'schedule')}  ${plain(cron)}  ${plain(timezone)}  (${where})`);
  for (const time of next) {
    const theirs = `${timeIn(timezone, time)} ${plain(timezone)}`;
    io.print(timezone === local ? `  ${theirs}` : `  ${theirs}   ${timeIn(local, time)} ${local}`);
  }
}

/** `Mon 2026-11-23 09:00`. */
function timeIn(timeZone: string, time: string): string {
  const at = new Date(time);
  const day = at.toLocaleDateString('en-GB', { timeZone, weekday: 'short' });
  return `${day} ${at.toLocaleString('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' })}`;
}

async function versions(wfx: Wfx, processId: string): Promise<void> {
  const client = await wfx.client();
  const answer = await client.call('listVersions', { params: { processId } });
  if (wfx.json) return wfx.io.json(answer);
  printTable(
    wfx.io,
    answer.items,
    [
      { title: 'VERSION', text: ({ version }) => version },
      { title: 'PUBLISHED', text: ({ publishedAt }) => shownTime(publishedAt) },
      { title: 'BYTES', text: ({ size }) => String(size) },
      { title: 'SHA-256', text: ({ sha256 }) => sha256.slice(0, 12) },
      { title: 'ACTIVE IN', text: ({ activeIn }) => activeIn.join(', ') || '-' },
    ],
    'It has no versions.',
  );
}

async function activate(wfx: Wfx, processId: string, version: string, options: EnvironmentOption): Promise<void> {
  const environment = wfx.environment(options.environment);
  const client = await wfx.client();
  const body = { version, ...(environment === undefined ? {} : { environment }) };
  report(wfx, await client.call('activateFlow', { params: { processId }, body }));
}

async function unpublish(wfx: Wfx, processId: string, options: EnvironmentOption): Promise<void> {
  const environment = wfx.environment(options.environment);
  const client = await wfx.client();
  const input = environment === undefined ? {} : { body: { environment } };
  report(wfx, await client.call('unpublishFlow', { params: { processId }, ...input }));
}

function report(wfx: Wfx, answer: Activated): void {
  if (wfx.json) {
    wfx.io.json(answer);
    return;
  }
  for (const environment of ['PRODUCTION', 'DEVELOPMENT'] as const) {
    const version = answer.activeVersion[environment];
    wfx.io.note(`${environment}: ${version === null ? 'not published' : `version ${version} is active`}`);
  }
}

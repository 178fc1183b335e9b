import type { Command } from 'commander';
import type { Client } from '../../client/index.ts';
import type { InstanceSummary } from '../../contract/types.ts';
import type { JsonObject } from '../../engine/json.ts';
import { shownDuration } from '../../terminal/duration.ts';
import { between, STATES, shownTime, stateOf } from '../../terminal/shown.ts';
import { usage } from '../exit.ts';
import { readMap } from '../flow-file.ts';
import { collected, examples } from '../help.ts';
import { showInstance } from '../instance-page.ts';
import { firstItems, limitOf } from '../pages.ts';
import { styleOf } from '../shown.ts';
import { printTable } from '../table.ts';
import { withData } from '../values.ts';
import type { Wfx } from '../wfx.ts';

interface ListOptions {
  readonly flow?: string;
  readonly state?: string;
  readonly environment?: string;
  readonly correlationKey?: string;
  readonly limit: number;
}
interface RetryOptions {
  readonly from?: string;
  readonly data?: readonly string[];
  readonly dataFile?: string;
}

const INSTANCE_ID = ['<instance-id>', 'id of the run: wfx instance list shows it'] as const;

export function add(command: Command, wfx: Wfx): void {
  command
    .command('list')
    .alias('ls')
    .description('List runs, newest first.')
    .option('-f, --flow <process-id>', 'only runs of this flow')
    .option('-s, --state <state>', 'only running, completed, failed or cancelled ones')
    .option('-e, --environment <name>', 'only those in DEVELOPMENT or PRODUCTION')
    .option('-k, --correlation-key <key>', 'only those with this correlation key')
    .option('-n, --limit <number>', 'how many at most', limitOf, 30)
    .addHelpText(
      'after',
      examples(
        ['wfx instance list --state failed', 'what went wrong lately'],
        ['wfx instance list -k order-17', 'the runs of one order'],
      ),
    )
    .action((options: ListOptions) => list(wfx, options));
  command
    .command('show')
    .description('Show a run: its state, nodes, variables and error.')
    .argument(...INSTANCE_ID)
    .option('--at <entry>', 'as it was once its log had so many entries', entryOf)
    .addHelpText(
      'after',
      examples(
        ['wfx instance show ID -o json', 'the resource as the API gives it'],
        ['wfx instance show ID --at 12', 'as it was after the twelfth entry of its log'],
      ),
    )
    .action((id: string, { at }: { readonly at?: number }) => show(wfx, id, at));
  command
    .command('logs')
    .description('Print the log of a run. With --follow, go on until it ends.')
    .argument(...INSTANCE_ID)
    .option('-f, --follow', 'go on with what comes, until the run ends')
    .addHelpText(
      'after',
      examples(
        ['wfx instance logs ID --follow', 'watch a run'],
        ['wfx instance logs ID -o json', 'one JSON object a line, with the variables'],
      ),
    )
    .action(async (id: string, { follow }: { readonly follow?: true }) => {
      const { printLog } = await import('../instance-log.ts');
      await printLog(wfx, id, follow === true);
    });
  command
    .command('history')
    .description('Show what happened in a run step by step, with what each step did to the variables.')
    .argument(...INSTANCE_ID)
    .option('-n, --limit <number>', 'how many steps at most, from the beginning', limitOf, 1000)
    .addHelpText(
      'after',
      examples(
        ['wfx instance history ID', 'with the number of each step'],
        ['wfx instance show ID --at 12', 'the whole run as it was after step 12'],
      ),
    )
    .action(async (id: string, { limit }: { readonly limit: number }) => {
      const { printHistory } = await import('../instance-history.ts');
      await printHistory(wfx, id, limit);
    });
  command
    .command('cancel')
    .description('Cancel runs, with everything that still runs in them.')
    .argument('<instance-id...>', 'which')
    .addHelpText('after', examples(['wfx instance cancel ID', 'its state becomes Cancelled']))
    .action((ids: readonly string[]) => cancel(wfx, ids));
  command
    .command('retry')
    .description(
      'Go on from where a finished run failed, or from a node that it reached, as a new run with its variables.',
    )
    .argument(...INSTANCE_ID)
    .option('--from <node-id>', 'node to go on from (default: the one that failed)')
    .option('-d, --data <key=value>', 'a variable to change; may be given several times', collected)
    .option('--data-file <file>', 'variables to change, from a YAML or JSON file')
    .addHelpText(
      'after',
      examples(
        ['wfx instance retry ID', 'try the failed node again'],
        ['wfx instance retry ID --from ship -d address.zip=12345', 'with a mended variable'],
      ),
    )
    .action((id: string, options: RetryOptions) => retry(wfx, id, options));
}

function entryOf(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw usage(`--at takes the number of a log entry, from 1, not “${text}”.`);
}

async function show(wfx: Wfx, processInstanceId: string, at: number | undefined): Promise<void> {
  const client = await wfx.client();
  const params = { processInstanceId };
  if (at === undefined) return showInstance(wfx, await client.call('getInstance', { params }));
  // A page of the history begins after the step that its cursor names.
  const page = await client.call('listHistory', { params, query: { limit: 1, cursor: String(at - 1) } });
  const [step] = page.items;
  if (step === undefined)
    throw usage(`This run has no step ${at}.`, `wfx instance history ${processInstanceId} lists its steps`);
  showInstance(wfx, await client.call('getInstance', { params, query: { at } }), step);
}

async function list(wfx: Wfx, options: ListOptions): Promise<void> {
  const environment = wfx.environment(options.environment);
  const state = options.state === undefined ? {} : { state: stateCdOf(options.state) };
  const query = {
    ...state,
    ...(environment === undefined ? {} : { environment }),
    ...(options.correlationKey === undefined ? {} : { correlationKey: options.correlationKey }),
  };
  const isNarrowed = options.flow !== undefined || Object.keys(query).length > 0;
  const page = await instances(await wfx.client(), options, query);
  if (wfx.json) return wfx.io.json(page);
  printTable(
    wfx.io,
    page.items,
    [
      { title: 'INSTANCE ID', text: ({ processInstanceId }) => processInstanceId },
      { title: 'STATE', text: stateOf, style: (row) => styleOf(stateOf(row)) },
      { title: 'STARTED', text: ({ startTime }) => shownTime(startTime) },
      { title: 'TOOK', text: (row) => shownDuration(between(row.startTime, row.endTime)) },
      { title: 'VERSION', text: ({ processVersion }) => processVersion },
      { title: 'KEY', text: ({ correlationKey = '-' }) => correlationKey },
      { title: 'FLOW', text: ({ processName }) => processName },
    ],
    isNarrowed ? 'No run is like that.' : 'No runs. Start one: wfx run FILE',
  );
  if (page.nextCursor !== null) wfx.io.note(`There are more; --limit shows more than ${options.limit}.`);
}

type Query = Readonly<Record<string, string | number>>;

const instances = (client: Client, { flow, limit }: ListOptions, query: Query) =>
  firstItems<InstanceSummary>(limit, (page) =>
    flow === undefined
      ? client.call('listInstances', { query: { ...query, ...page } })
      : client.call('listFlowInstances', { params: { processId: flow }, query: { ...query, ...page } }),
  );

function stateCdOf(text: string): number {
  const stateCd = STATES.findIndex((state) => state.toLowerCase() === text.toLowerCase());
  if (stateCd >= 0) return stateCd;
  throw usage(`There is no state “${text}”.`, 'it is running, completed, failed or cancelled');
}

async function cancel(wfx: Wfx, ids: readonly string[]): Promise<void> {
  const client = await wfx.client();
  const answers = [];
  for (const id of ids) answers.push(await client.call('cancelInstance', { params: { processInstanceId: id } }));
  if (wfx.json) wfx.io.json(answers.length === 1 ? answers[0] : { items: answers });
  else for (const { processInstanceId } of answers) wfx.io.note(`Cancelled ${processInstanceId}.`);
}

async function retry(wfx: Wfx, id: string, { from, data, dataFile }: RetryOptions): Promise<void> {
  const file = dataFile === undefined ? {} : await readMap(dataFile, 'data file');
  const changed = withData(file as JsonObject, data);
  const body = {
    ...(from === undefined ? {} : { from }),
    ...(Object.keys(changed).length === 0 ? {} : { data: changed }),
  };
  const client = await wfx.client();
  const started = await client.call('retryInstance', { params: { processInstanceId: id }, body });
  if (wfx.json) return wfx.io.json(started);
  wfx.io.note(`Goes on as a new run; watch it: wfx instance logs ${started.processInstanceId} --follow`);
  wfx.io.print(started.processInstanceId);
}

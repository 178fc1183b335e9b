import type { Command } from 'commander';
import type { Client } from '../../client/index.ts';
import type { Task } from '../../contract/types.ts';
import { exampleCompletion, formOf } from '../../terminal/commands.ts';
import { shownTime } from '../../terminal/shown.ts';
import { EXIT, usage } from '../exit.ts';
import { readMap } from '../flow-file.ts';
import { collected, examples } from '../help.ts';
import { firstItems, limitOf } from '../pages.ts';
import { type Answer, Answers, CANCEL } from '../run/answers.ts';
import { printTable } from '../table.ts';
import type { Wfx } from '../wfx.ts';

interface ListOptions {
  readonly flow?: string;
  readonly instance?: string;
  readonly limit: number;
}
interface CompleteOptions {
  readonly data?: readonly string[];
  readonly dataFile?: string;
}

const INSTANCE_ID = ['<instance-id>', 'id of the run'] as const;
const NODE_ID = ['<node-id>', 'id of the waiting node'] as const;

export function add(command: Command, wfx: Wfx): void {
  command
    .command('list')
    .alias('ls')
    .description('List what waits for a person, oldest first.')
    .option('-f, --flow <process-id>', 'only tasks of this flow')
    .option('-i, --instance <instance-id>', 'only tasks of this run')
    .option('-n, --limit <number>', 'how many at most', limitOf, 50)
    .addHelpText(
      'after',
      examples(
        ['wfx task list', 'with the command that answers the first'],
        ['wfx task list -o json', 'with the forms'],
      ),
    )
    .action((options: ListOptions) => list(wfx, options));
  command
    .command('complete')
    .description('Answer a task, and let its run go on. Without a value it asks at the terminal.')
    .argument(...INSTANCE_ID)
    .argument(...NODE_ID)
    .argument('[value]', 'the answer; a list is written a,b; a file is given by its path')
    .option('-d, --data <field=value>', 'one field of a form; may be given several times', collected)
    .option('--data-file <file>', 'the fields of a form, from a YAML or JSON file; - reads standard input')
    .addHelpText(
      'after',
      examples(
        ['wfx task complete ID review approve', 'one value'],
        ['wfx task complete ID address -d zip=12345 -d city=Berlin', 'a form'],
        ['wfx task complete ID review', 'be asked for it'],
      ),
    )
    .action((instanceId: string, nodeId: string, value: string | undefined, options: CompleteOptions) =>
      complete(wfx, instanceId, nodeId, value, options),
    );
  command
    .command('cancel')
    .description("Cancel a task. Its run goes on by the node's errorFlow, or by its next where it has none.")
    .argument(...INSTANCE_ID)
    .argument(...NODE_ID)
    .addHelpText('after', examples(['wfx task cancel ID review', 'nobody will answer it']))
    .action(async (instanceId: string, nodeId: string) => submit(wfx, await wfx.client(), instanceId, nodeId, CANCEL));
}

async function list(wfx: Wfx, { flow, instance, limit }: ListOptions): Promise<void> {
  const client = await wfx.client();
  const query = {
    ...(flow === undefined ? {} : { processId: flow }),
    ...(instance === undefined ? {} : { processInstanceId: instance }),
  };
  const page = await firstItems<Task>(limit, (next) => client.call('listTasks', { query: { ...query, ...next } }));
  if (wfx.json) return wfx.io.json(page);
  printTable(
    wfx.io,
    page.items,
    [
      { title: 'INSTANCE ID', text: ({ processInstanceId }) => processInstanceId },
      { title: 'NODE', text: ({ nodeId }) => nodeId },
      { title: 'SINCE', text: ({ since }) => shownTime(since) },
      {
        title: 'UNTIL',
        text: ({ timeoutAt, dueAt }) =>
          (timeoutAt ?? dueAt) === undefined ? '-' : shownTime(timeoutAt ?? dueAt ?? ''),
      },
      { title: 'FOR', text: ({ assignee, candidates }) => assignee ?? candidates?.join(', ') ?? '-' },
      { title: 'FLOW', text: ({ processName }) => processName },
      { title: 'QUESTION', text: (task) => formOf(task).title },
    ],
    Object.keys(query).length > 0 ? 'Nothing of it waits for a person.' : 'Nothing waits for a person.',
  );
  const [first] = page.items;
  if (first !== undefined) wfx.io.note(`\nAnswer one: ${exampleCompletion(first)}`);
}

async function complete(
  wfx: Wfx,
  instanceId: string,
  nodeId: string,
  value: string | undefined,
  options: CompleteOptions,
): Promise<void> {
  const file = options.dataFile === undefined ? {} : { [nodeId]: await readMap(options.dataFile, 'data file') };
  const client = await wfx.client();
  const { items } = await client.call('listTasks', { query: { processInstanceId: instanceId, limit: 500 } });
  const task = items.find((one) => one.nodeId === nodeId);
  // The daemon says best why nothing waits there: unknown, finished, or somewhere else.
  if (task === undefined) return submit(wfx, client, instanceId, nodeId, { action: 'COMPLETE', data: {} });
  const texts = [
    ...(value === undefined ? [] : [`${nodeId}=${value}`]),
    ...(options.data ?? []).map((text) => `${nodeId}.${text}`),
  ];
  const given = await new Answers(texts, file).next(task, client);
  const answer = given ?? (await asked(wfx, client, task));
  if (answer !== undefined) return submit(wfx, client, instanceId, nodeId, answer);
  process.exitCode = EXIT.interrupted;
}

/** A task without a form needs no more than the command itself. Ctrl-C leaves the task as it is: cancelling has a command of its own. */
async function asked(wfx: Wfx, client: Client, task: Task): Promise<Answer | undefined> {
  const { inputType, fields = [] } = formOf(task);
  if (inputType === 'form' && fields.length === 0) return { action: 'COMPLETE', data: {} };
  if (!wfx.io.interactive)
    throw usage(`The answer for ${task.nodeId} is missing.`, `for example: ${exampleCompletion(task)}`);
  const { askAtTerminal } = await import('../run/form.ts');
  const answer = await askAtTerminal(task, { io: wfx.io, client, signal: new AbortController().signal });
  return answer?.action === 'CANCEL' ? undefined : answer;
}

async function submit(
  wfx: Wfx,
  client: Client,
  processInstanceId: string,
  nodeId: string,
  answer: Answer,
): Promise<void> {
  const resumed = await client.call('submitTask', { body: { processInstanceId, nodeId, ...answer } });
  if (wfx.json) return wfx.io.json(resumed);
  wfx.io.note(
    `${answer.action === 'CANCEL' ? 'Cancelled' : 'Completed'} ${nodeId}; the run goes on: wfx instance logs ${processInstanceId} --follow`,
  );
}

import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { ApiError, type Client, plain } from '../../client/index.ts';
import type { Environment, Instance, Started } from '../../contract/types.ts';
import type { JsonObject } from '../../engine/json.ts';
import { shownDuration } from '../../terminal/duration.ts';
import { between } from '../../terminal/shown.ts';
import { mustCompile } from '../compiled.ts';
import { durationMs } from '../duration.ts';
import { CliError, EXIT, type Exit, usage } from '../exit.ts';
import { readMap, readSource } from '../flow-file.ts';
import { showVariables } from '../instance-page.ts';
import { publish, publishedSentence } from '../publishing.ts';
import { withData } from '../values.ts';
import type { Wfx } from '../wfx.ts';
import { Answers } from './answers.ts';
import { type Outcome, RunSession, waitingMessage } from './session.ts';

export interface RunOptions {
  readonly data?: readonly string[];
  readonly dataFile?: string;
  readonly setInput?: readonly string[];
  readonly inputFile?: string;
  readonly correlationKey?: string;
  readonly environment?: string;
  readonly versionNumber?: string;
  readonly timeout?: string;
  readonly detach?: true;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** What is run, ready to be started. */
interface Runnable {
  readonly client: Client;
  readonly processId: string;
  readonly versionNumber: string | undefined;
}

export async function run(wfx: Wfx, target: string, options: RunOptions): Promise<void> {
  const environment = wfx.environment(options.environment);
  const timeoutMs = options.timeout === undefined ? undefined : durationMs(options.timeout, '--timeout');
  if (target === '-' && options.dataFile === '-')
    throw usage('The flow and --data-file can’t both come from standard input.');
  const data = await startData(options);
  const answers = await startAnswers(options);
  const runnable = await prepared(wfx, target, options, environment);
  const started = await start(runnable, { data, environment, correlationKey: options.correlationKey });
  if (options.detach === true) return detached(wfx, started);
  const { processInstanceId } = started;
  wfx.io.note(wfx.io.paintNote('dim', `Run ${processInstanceId}`));
  const outcome = await new RunSession({
    io: wfx.io,
    client: runnable.client,
    processInstanceId,
    answers,
    timeoutMs,
  }).follow();
  await finish(wfx, runnable.client, processInstanceId, outcome, answers);
}

async function startData({ data, dataFile }: RunOptions): Promise<JsonObject> {
  const file = dataFile === undefined ? {} : await readMap(dataFile, 'data file');
  return withData(file as JsonObject, data);
}

async function startAnswers({ setInput = [], inputFile }: RunOptions): Promise<Answers> {
  return new Answers(setInput, inputFile === undefined ? {} : await readMap(inputFile, 'input file'));
}

/** A file is checked here, before a daemon is looked for, and published when it changed. */
async function prepared(
  wfx: Wfx,
  target: string,
  options: RunOptions,
  environment: Environment | undefined,
): Promise<Runnable> {
  if (UUID.test(target) && !existsSync(target))
    return {
      client: await wfx.client({ start: true }),
      processId: target.toLowerCase(),
      versionNumber: options.versionNumber,
    };
  if (options.versionNumber !== undefined)
    throw usage(
      '--version-number chooses a version of a published flow, and a file is always run as it is.',
      'give the process id instead of the file',
    );
  const source = readSource(target, 'flow file');
  const flow = await mustCompile(wfx.io, source);
  const client = await wfx.client({ start: true });
  const published = await publish(wfx, client, source, environment).catch((error) => {
    throw withoutPermission(error, flow.id);
  });
  if (!published.unchanged) wfx.io.note(wfx.io.paintNote('dim', `${publishedSentence(flow.name, published)}.`));
  return { client, processId: published.processId, versionNumber: published.version };
}

function withoutPermission(error: unknown, processId: string): unknown {
  if (!(error instanceof ApiError) || error.status !== 403) return error;
  const hint = `a key that may only run flows takes the process id of a published one: wfx run ${processId}`;
  return new CliError(EXIT.notAllowed, `The file can't be published: ${plain(error.message)}`, hint);
}

interface StartWith {
  readonly data: JsonObject;
  readonly environment: Environment | undefined;
  readonly correlationKey: string | undefined;
}

/** The idempotency key lets a lost answer be asked for again without a second run. */
function start(
  { client, processId, versionNumber }: Runnable,
  { data, environment, correlationKey }: StartWith,
): Promise<Started> {
  const query = {
    ...(environment === undefined ? {} : { environment }),
    ...(versionNumber === undefined ? {} : { versionNumber }),
  };
  const body = { processId, data, ...(correlationKey === undefined ? {} : { correlationKey }) };
  return client.call('execProcess', { query, body }, { idempotencyKey: randomUUID() });
}

function detached(wfx: Wfx, started: Started): void {
  if (wfx.json) wfx.io.json(started);
  else {
    wfx.io.note(`Watch it: wfx instance logs ${started.processInstanceId} --follow`);
    wfx.io.print(started.processInstanceId);
  }
}

const EXIT_OF_STATE: Readonly<Record<1 | 2 | 3, Exit>> = { 1: EXIT.ok, 2: EXIT.failed, 3: EXIT.cancelled };

async function finish(wfx: Wfx, client: Client, id: string, outcome: Outcome, answers: Answers): Promise<void> {
  const instance = await client.call('getInstance', { params: { processInstanceId: id } });
  if (wfx.json) wfx.io.json(instance);
  if (outcome.kind === 'ended' && instance.stateCd !== 0) {
    process.exitCode = EXIT_OF_STATE[instance.stateCd];
    for (const nodeId of answers.unused)
      wfx.io.warn(`no task of the run was called ${plain(nodeId)}, so its answer was not used`);
    ended(wfx, instance);
    return;
  }
  if (outcome.kind === 'waiting') throw waitingMessage(outcome.task);
  const hint = `watch it: wfx instance logs ${id} --follow\n        cancel it: wfx instance cancel ${id}`;
  if (outcome.kind === 'timedOut')
    throw new CliError(EXIT.timedOut, 'The time of --timeout is over; the run goes on.', hint);
  throw new CliError(EXIT.interrupted, 'Left the run; it goes on.', hint);
}

function ended(wfx: Wfx, instance: Instance): void {
  const { io } = wfx;
  const took = shownDuration(between(instance.startTime, instance.endTime));
  if (instance.stateCd === 1) io.note(io.paintNote('green', `✓ Completed in ${took}`));
  if (instance.stateCd === 3) io.note(io.paintNote('yellow', `Cancelled after ${took}`));
  if (instance.stateCd === 2) {
    const { code, message, nodeId } = instance.error ?? {
      code: 'UNKNOWN',
      message: 'no reason was given',
      nodeId: '?',
    };
    io.note(io.paintNote('red', `✗ Failed at ${plain(nodeId)} after ${took}: ${plain(code)}: ${plain(message)}`));
    io.note(`  try again from there: wfx instance retry ${instance.processInstanceId}`);
  }
  if (!wfx.json) showVariables(wfx, instance.data);
}

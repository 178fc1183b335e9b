import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, UnreachableError } from '../../src/client/index.ts';
import { type Daemon, insist, isAbsence } from './daemon.ts';
import { ASK, flowFile, HOOK, ORDER, PAID } from './flows.ts';
import { randomFrom } from './random.ts';
import type { Sink } from './sink.ts';
import type { Run, View } from './view.ts';

const CLIENTS = 8;
/** Starts between two new versions of a flow. */
const STARTS_A_VERSION = 60;

/** What the clients share. */
export interface Setting {
  readonly daemon: Daemon;
  readonly sink: Sink;
  readonly view: View;
  readonly seed: number;
  /** Aborts: the clients finish what they have begun and go; readers of what still runs go at once. */
  readonly leaving: AbortSignal;
}

/** Publishes the flows and makes the webhook; gives the path of its address. */
export async function prepare({ daemon: { client }, view }: Pick<Setting, 'daemon' | 'view'>): Promise<string> {
  const webhook = await client.call('createWebhook', {
    body: { name: 'crash', provider: 'CUSTOM', auth: 'NONE', eventIdPath: 'id' },
  });
  for (const flow of [ORDER, ASK, PAID, HOOK]) {
    view.asked.set(flow, 1);
    view.acknowledged.set(flow, 1);
    await client.call('publishFlow', { body: flowFile(flow, 1) });
  }
  return webhook.endpoints[0]?.path as string;
}

/** Eight clients and a webhook sender at work, and readers of their streams; resolves when all have gone. */
export async function work(setting: Setting, webhook: string): Promise<void> {
  const readers: Promise<void>[] = [readLifecycle(setting)];
  const clients = Array.from({ length: CLIENTS }, (_, at) => client(setting, at, readers));
  await Promise.all([...clients, deliver(setting, webhook)]);
  await Promise.all(readers);
}

async function client(setting: Setting, at: number, readers: Promise<void>[]): Promise<void> {
  const { view, leaving, seed } = setting;
  const random = randomFrom(seed + at);
  for (let turn = 0; !leaving.aborted; turn += 1) {
    const chance = random();
    const flow = chance < 0.4 ? ORDER : chance < 0.7 ? ASK : PAID;
    const run = begun(view, flow, `${at}-${turn}`, random() < 0.15);
    if (at === 0 && turn % (STARTS_A_VERSION / CLIENTS) < 1) await publish(setting, flow);
    if (flow === PAID) await runPaid(setting, run, random);
    else await start(setting, run);
    if (flow === ASK && run.id !== undefined) await answerTask(setting, run, random);
    if (flow === ORDER && random() < 0.1) await cancel(setting, run);
    if (run.id !== undefined && random() < 0.15)
      for (let reader = 0; reader < 2; reader += 1) readers.push(readLog(setting, run.id));
    await look(setting, random);
    await delay(random() * 15);
  }
}

function begun(view: View, flow: string, number: string, once: boolean): Run {
  const leastVersion = view.acknowledged.get(flow) ?? 0;
  const run: Run = {
    number,
    flow,
    once,
    id: undefined,
    leastVersion,
    mostVersion: leastVersion,
    leftAt: undefined,
    cancelled: 'no',
  };
  view.runs.push(run);
  return run;
}

async function start(setting: Setting, run: Run): Promise<void> {
  const { daemon, view } = setting;
  const ask = () =>
    daemon.client.call('execProcess', startOf(setting, run), run.once ? {} : { idempotencyKey: run.number });
  try {
    run.id = (run.once ? await daemon.up.then(ask) : await insist(daemon, ask)).processInstanceId;
  } catch (error) {
    if (!isAbsence(error)) throw error;
  }
  run.mostVersion = view.asked.get(run.flow) ?? 0;
}

/** The request that starts a run, the same each time. */
export function startOf({ sink }: Pick<Setting, 'sink'>, { flow, number }: Run) {
  return { body: { processId: flow, correlationKey: number, data: { number, sink: sink.url } } };
}

/** Submits a waiting task; some are left waiting. */
async function answerTask(setting: Setting, run: Run, random: () => number): Promise<void> {
  if (random() < 0.1) {
    run.leftAt = 'ask';
    return;
  }
  const task = {
    processInstanceId: run.id as string,
    nodeId: 'ask',
    action: 'COMPLETE',
    data: { inputValue: run.number },
  } as const;
  const result = await onceOnly(setting, 'TASK_NOT_WAITING', (client) => client.call('submitTask', { body: task }));
  if (result === 'refused') setting.view.problems.push(`the task of ${run.id} was taken already`);
}

async function cancel(setting: Setting, run: Run): Promise<void> {
  if (run.id === undefined) return;
  const params = { processInstanceId: run.id };
  const result = await onceOnly(setting, 'INSTANCE_FINISHED', (client) => client.call('cancelInstance', { params }));
  if (result === 'done') run.cancelled = 'yes';
  if (result === 'unsure') run.cancelled = 'maybe';
}

/**
 * Asks for what works only once. `unsure`: it is refused now, and may have happened when it went unanswered; `refused`:
 * it is refused, and every time before nothing had reached the daemon.
 */
async function onceOnly(
  { daemon }: Setting,
  code: ApiError['code'],
  ask: (client: Daemon['client']) => Promise<unknown>,
): Promise<'done' | 'unsure' | 'refused'> {
  let unsure = false;
  const wonder = () => {
    unsure = true;
  };
  try {
    await insist(daemon, () => ask(daemon.client), wonder);
    return 'done';
  } catch (error) {
    if (error instanceof ApiError && error.code === code) return unsure ? 'unsure' : 'refused';
    throw error;
  }
}

/** Two messages, the first one before or after the run that waits for it; some runs are left waiting for it. */
async function runPaid(setting: Setting, run: Run, random: () => number): Promise<void> {
  const first = random();
  if (first < 0.4) await send(setting, run.number, 1);
  await start(setting, run);
  if (run.id === undefined) return;
  if (first > 0.9) {
    run.leftAt = 'one';
    return;
  }
  if (first >= 0.4) await send(setting, run.number, 1);
  await send(setting, run.number, 2);
}

async function send({ daemon, view }: Setting, number: string, amount: number): Promise<void> {
  const answer = await insist(daemon, () => daemon.client.call('sendEvent', eventOf(number, amount)));
  view.sent.set(`${number}:${amount}`, JSON.stringify(answer));
}

/** The request that sends a message of a run, the same each time. */
export function eventOf(number: string, amount: number) {
  const message = { eventType: 'paid', correlationKey: number, data: { amount }, timeToLive: 'PT1H' };
  return { body: { ...message, messageId: `${number}:${amount}` } };
}

/** A new version; only the first client makes any, so that their numbers are known. */
async function publish({ daemon, view }: Setting, flow: string): Promise<void> {
  const edition = (view.asked.get(flow) ?? 0) + 1;
  view.asked.set(flow, edition);
  const { version } = await insist(daemon, () => daemon.client.call('publishFlow', { body: flowFile(flow, edition) }));
  view.acknowledged.set(flow, edition);
  if (version !== String(edition)) view.problems.push(`edition ${edition} of ${flow} became version ${version}`);
}

/** Reads an instance that is known, some again and again. */
async function look({ daemon, view }: Setting, random: () => number): Promise<void> {
  const { id } = view.runs[Math.floor(random() ** 2 * view.runs.length)] ?? {};
  if (id === undefined) return;
  view.observe(await insist(daemon, () => daemon.client.call('getInstance', { params: { processInstanceId: id } })));
}

/** Follows a log to its end, each time from where the connection was cut. */
async function readLog({ daemon, view, leaving }: Setting, id: string): Promise<void> {
  const reading = { id, items: [] as View['readings'][number]['items'] };
  view.readings.push(reading);
  let after: string | undefined;
  await untilLeaving(daemon, leaving, async (signal, onReconnecting) => {
    for await (const item of daemon.client.log(id, { after, signal, onReconnecting })) {
      reading.items.push(item);
      if (item.kind === 'entry') after = item.id;
    }
    return true;
  });
}

/** Follows the lifecycle events, each time from where the connection was cut. */
async function readLifecycle({ daemon, view, leaving }: Setting): Promise<void> {
  await untilLeaving(daemon, leaving, async (signal, onReconnecting) => {
    const after = view.lifecycle.at(-1)?.[0];
    for await (const { id, event } of daemon.client.events({ after, signal, onReconnecting }))
      view.lifecycle.push([id as string, JSON.stringify(event)]);
    return false;
  });
}

/** Reads again, whenever the connection is lost and the daemon is up, until `read` has all or the clients leave. */
async function untilLeaving(
  daemon: Daemon,
  leaving: AbortSignal,
  read: (signal: AbortSignal, cut: () => void) => Promise<boolean>,
): Promise<void> {
  while (!leaving.aborted) {
    const connection = new AbortController();
    const cut = () => connection.abort();
    leaving.addEventListener('abort', cut);
    try {
      await daemon.up;
      if (await read(connection.signal, cut)) return;
    } catch (error) {
      if (!isAbsence(error) && !connection.signal.aborted) throw error;
      await delay(20);
    } finally {
      leaving.removeEventListener('abort', cut);
    }
  }
}

/** Deliveries of one sender, who repeats some of them with the same event id. */
async function deliver({ daemon, view, leaving, seed }: Setting, path: string): Promise<void> {
  const random = randomFrom(seed + CLIENTS);
  for (let number = 0; !leaving.aborted; number += 1) {
    const id = `event-${random() < 0.1 && number > 0 ? Math.floor(random() * number) : number}`;
    const acknowledged = await daemon.up.then(() => received(daemon, path, id));
    view.deliveries.set(id, acknowledged || view.deliveries.get(id) === true);
    await delay(random() * 30);
  }
}

async function received(daemon: Daemon, path: string, id: string): Promise<boolean> {
  try {
    const body = JSON.stringify({ id });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const { status } = await fetch(daemon.target.url + path, init);
    return status === 200;
  } catch (error) {
    if (error instanceof TypeError || error instanceof UnreachableError) return false;
    throw error;
  }
}

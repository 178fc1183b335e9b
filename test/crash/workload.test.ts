import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { eventOf, prepare, type Setting, startOf, work } from './clients.ts';
import { codeOf, Daemon, settled } from './daemon.ts';
import { ORDER } from './flows.ts';
import {
  checkDeliveries,
  checkEnds,
  checkLifecycle,
  checkReading,
  checkStarts,
  checkWork,
  each,
  exported,
  idsOf,
  instanceOf,
  lifecycleOf,
  logOf,
  placeOf,
} from './oracle.ts';
import { randomFrom, seedOf } from './random.ts';
import { openSink } from './sink.ts';
import { type Run, View } from './view.ts';

const SEED = seedOf('WFX_CRASH_SEED');
/** Kills; WFX_CRASH_ROUNDS=200 is a night's work. */
const ROUNDS = Number(process.env['WFX_CRASH_ROUNDS'] ?? 4);
const SHORTEST_MS = 50;
const LONGEST_MS = 1500;

t.setTimeout(240_000 + ROUNDS * 5000);

t.test(`kill -9 at ${ROUNDS} random times under load (WFX_CRASH_SEED=${SEED})`, async (t) => {
  const daemon = new Daemon(t);
  const sink = await openSink(t);
  const view = new View();
  const leaving = new AbortController();
  setMaxListeners(0, leaving.signal);
  const setting: Setting = { daemon, sink, view, seed: SEED, leaving: leaving.signal };
  await daemon.start();
  const webhook = await prepare(setting);

  const working = work(setting, webhook);
  working.catch(() => undefined);
  const random = randomFrom(SEED - 1);
  const watchDone = watched(setting);
  for (let round = 0; round < ROUNDS; round += 1) {
    await Promise.race([working, delay(SHORTEST_MS + random() * (LONGEST_MS - SHORTEST_MS))]);
    await kill(setting);
    await daemon.start();
  }
  await delay(LONGEST_MS / 2);
  leaving.abort();
  await working;
  t.comment(`${view.runs.length} runs, ${view.deliveries.size} deliveries, ${view.readings.length} readers`);

  const client = daemon.client;
  const ids = await idsOf(client);
  const left = new Set(view.runs.filter(({ leftAt }) => leftAt !== undefined).map(({ id }) => id));
  const known = view.runs.filter(({ id }) => id !== undefined && !left.has(id));
  const logs = new Map(await each(known, async ({ id }) => [id as string, await logOf(client, id as string)] as const));
  none(t, 'what the clients saw on their way agrees', view.problems);
  const instances = await each(ids, (id) => instanceOf(client, id));
  for (const instance of instances) view.observe(instance);
  none(t, 'what was read once is never taken back', view.problems);
  none(t, 'acknowledged starts are there, others whole or not at all', checkStarts(view, instances));
  none(t, 'all that had what they need ended as they must', checkEnds({ ...view, runs: known } as View, instances));
  none(
    t,
    'no outside work was begun twice in a life, nor after it was seen done',
    checkWork(sink, instances, watchDone()),
  );
  none(t, 'a delivery starts one run', checkDeliveries(view, instances));
  none(
    t,
    'readers of logs got everything once and in order, over all restarts',
    view.readings.flatMap(({ id, items }) => checkReading(items, logs.get(id) ?? items) ?? []),
  );
  const all = await lifecycleOf(client, view.lifecycle.at(-1)?.[0] as string);
  none(t, 'lifecycle events came once, in order and without a gap', checkLifecycle(view.lifecycle, all));

  t.test('two more restarts change nothing', async (t) => {
    await ended(setting, left);
    const before = await exported(client);
    for (const time of ['first', 'second']) {
      await kill(setting);
      await daemon.start();
      t.ok((await exported(client)) === before, `the ${time}`);
    }
  });

  t.test('repeated requests get their first answers', async (t) => {
    const repeated = known.filter(({ once }) => !once).slice(0, 100);
    for (const run of repeated) {
      const again = await client.call('execProcess', startOf(setting, run), { idempotencyKey: run.number });
      if (again.processInstanceId !== run.id) t.fail(`run ${run.number} began again`);
    }
    for (const [messageId, answer] of [...view.sent].slice(0, 100)) {
      const [number = '', amount] = messageId.split(':');
      const again = await client.call('sendEvent', eventOf(number, Number(amount)));
      if (JSON.stringify(again) !== answer) t.fail(`message ${messageId} was taken again`);
    }
    t.ok(repeated.length > 0 && view.sent.size > 0, 'there was something to repeat');
  });

  t.test('everything that waits answers once', async (t) => {
    const waiting = view.runs.filter(({ leftAt }) => leftAt !== undefined);
    t.ok(waiting.length > 0, `${waiting.length} wait`);
    await each(waiting, (run) => answerOnce(t, setting, run));
    const answered = await each(waiting, async ({ id }) => {
      await logOf(client, id as string);
      return instanceOf(client, id as string);
    });
    none(t, 'and ends as it must', checkEnds({ ...view, runs: waiting } as View, answered));
  });

  t.test('nothing is left that neither waits nor works', async (t) => {
    const corpses = await each(await idsOf(client, 0), (id) => instanceOf(client, id));
    const unknown = new Set(view.runs.filter(({ id }) => id === undefined).map(({ number }) => number));
    const idle = corpses.filter(({ correlationKey = '', nodes }) => {
      return !unknown.has(correlationKey) || !nodes.some(({ statusCd }) => statusCd === 1);
    });
    none(
      t,
      'no corpse',
      idle.map(({ processInstanceId }) => processInstanceId),
    );
  });
});

/** Kills the daemon; what it had sent before is read before the next life begins. */
async function kill({ daemon, sink }: Setting): Promise<void> {
  await daemon.kill();
  await settled();
  sink.life = daemon.lives + 1;
}

/** How often each piece of work was called for that the clients saw done, as of when they saw it. */
function watched({ view, sink }: Setting): () => ReadonlyMap<string, number> {
  const done = new Map<string, number>();
  const observe = view.observe.bind(view);
  view.observe = (instance) => {
    const { processInstanceId: id, nodes } = instance;
    for (const { nodeId, statusCd } of nodes) if (statusCd === 2) seenDone.add(`${id}:${nodeId}`);
    observe(instance);
    for (const [key, lives] of sink.calls)
      if (seenDone.has(placeOf(key)) && !done.has(key)) done.set(key, lives.length);
  };
  const seenDone = new Set<string>();
  return () => done;
}

/** Waits until all runs but `left` have ended: the children, and those whose start went unanswered, too. */
async function ended({ daemon: { client }, view }: Setting, left: ReadonlySet<string | undefined>): Promise<void> {
  const unknown = new Set(view.runs.filter(({ id }) => id === undefined).map(({ number }) => number));
  for (const id of await idsOf(client, 0)) {
    if (left.has(id)) continue;
    const { correlationKey, processId } = await instanceOf(client, id);
    if (unknown.has(correlationKey ?? '') && processId !== ORDER) continue;
    await logOf(client, id);
  }
}

async function answerOnce(t: Test, { daemon: { client } }: Setting, run: Run): Promise<void> {
  if (run.leftAt === 'ask') {
    const data = { inputValue: run.number };
    const body = { processInstanceId: run.id as string, nodeId: 'ask', action: 'COMPLETE', data } as const;
    const codes = [
      await codeOf(client.call('submitTask', { body })),
      await codeOf(client.call('submitTask', { body })),
    ];
    t.same(codes, [undefined, 'TASK_NOT_WAITING']);
    return;
  }
  for (const amount of [1, 2]) {
    const answer = await client.call('sendEvent', eventOf(run.number, amount));
    if (amount === 1) t.same(answer, { status: 'correlated', processInstanceIds: [run.id] });
  }
  const { timeToLive: _, messageId: __, ...again } = eventOf(run.number, 1).body;
  t.equal(
    await codeOf(client.call('sendEvent', { body: { ...again, eventType: 'other' } })),
    'NO_MATCHING_SUBSCRIPTION',
  );
}

function none(t: Test, name: string, problems: readonly string[]): void {
  t.same(problems.slice(0, 5), [], problems.length > 5 ? `${name} (${problems.length} problems)` : name);
}

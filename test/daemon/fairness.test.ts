import t from 'tap';
import { sweep } from '../../src/daemon/runtime/sweep.ts';
import type { Transaction } from '../../src/daemon/runtime/transaction.ts';
import { serviceWith } from '../flows/service.ts';
import { openServer } from './server.ts';

const flow = (id: string, name: string, nodes: string) => `id: ${id}\nname: ${name}\nnodes:\n${nodes}`;

const ENDLESS = flow(
  '1b0f7c2e-4a55-4c0d-9a53-6a6d3c1a2b11',
  'Endless',
  `  start: { type: startEvent, next: a }
  a: { type: task, next: b }
  b: { type: setVariable, set: { x: 1 }, next: a }`,
);
const GROWING = flow(
  '2b0f7c2e-4a55-4c0d-9a53-6a6d3c1a2b12',
  'Growing',
  `  start: { type: startEvent, next: first }
  first: { type: setVariable, set: { x: "0123456789" }, next: double }
  double: { type: setVariable, set: { x: ["{x}", "{x}"] }, next: double }`,
);
const BREEDING = flow(
  '3b0f7c2e-4a55-4c0d-9a53-6a6d3c1a2b13',
  'Breeding',
  `  start: { type: startEvent, next: again }
  again: { type: callProcess, processId: 3b0f7c2e-4a55-4c0d-9a53-6a6d3c1a2b13 }`,
);
const PLAIN = flow(
  '4b0f7c2e-4a55-4c0d-9a53-6a6d3c1a2b14',
  'Plain',
  `  start: { type: startEvent, next: work }
  work: { type: scriptTask, script: "number * 2", result: double, next: end }
  end: { type: endEvent }`,
);

t.test('24: flows that grow without end fail with a clear error, while the others go on', async (t) => {
  const { client } = await serviceWith(t, { limits: { steps: 5_000 } });
  const publish = async (source: string) => (await client.call('publishFlow', { body: source })).processId;
  const start = async (processId: string, data = {}) =>
    (await client.call('execProcess', { body: { processId, data } })).processInstanceId;
  const ended = async (id: string) => {
    for await (const item of client.log(id)) if (item.kind === 'end') break;
    return client.call('getInstance', { params: { processInstanceId: id } });
  };

  const [endless, growing, breeding, plain] = await Promise.all([ENDLESS, GROWING, BREEDING, PLAIN].map(publish));
  const wild = await Promise.all([endless, endless, growing, breeding].map((id) => start(id as string)));
  const others = await Promise.all(Array.from({ length: 50 }, (_, number) => start(plain as string, { number })));

  const results = await Promise.all(others.map(ended));
  t.same(
    results.map(({ stateCd, data }) => [stateCd, data['double']]),
    others.map((_, number) => [1, number * 2]),
    'every other run completes',
  );
  const [first, second, large] = await Promise.all(wild.slice(0, 3).map(ended));
  t.match(first, { stateCd: 2, error: { code: 'STEP_LIMIT', message: /loop without an end/ } });
  t.match(second, { stateCd: 2, error: { code: 'STEP_LIMIT' } });
  t.match(large, { stateCd: 2, error: { code: 'VARIABLES_TOO_LARGE', nodeId: 'double' } });

  t.match(await ended(wild[3] as string), { stateCd: 1 }, 'whoever was called is independent of the caller');
  for await (const { event } of client.events({ after: '0.0' })) {
    if (event.type === 'INSTANCE_ENDED' && event.data.processId === breeding && event.data['stateCd'] === 2) break;
  }
  const query = { state: 2 } as const;
  const { items } = await client.call('listFlowInstances', { params: { processId: breeding as string }, query });
  t.match(items, [{ error: { code: 'CALL_DEPTH' } }], 'the chain ends where it is too deep');
});

t.test('what no frame can hold is refused, and the journal goes on', async (t) => {
  const { runtime } = await openServer(t);
  const put = (value: string) => runtime.facts.put([{ collection: 'notes', key: 'one', value }]);
  await t.rejects(put('x'.repeat(65 * 1024 * 1024)), { code: 'PAYLOAD_TOO_LARGE' });
  await runtime.ready();
  t.equal(await put('small'), true);
  t.equal(runtime.facts.get('notes', 'one'), 'small');
});

const LARGE = flow(
  '5b0f7c2e-4a55-4c0d-9a53-6a6d3c1a2b15',
  'Large',
  `  start: { type: startEvent, next: make }
  make: { type: scriptTask, script: "'\\u0001'.repeat(650000)", result: part, next: grow }
  grow: { type: setVariable, set: { text: "{part}{part}{part}{part}{part}", part: "" }, next: more }
  more: { type: setVariable, set: { text: "{text}." }, next: more }`,
);

t.test('an instance whose step no frame can hold fails, and the others go on', async (t) => {
  const { client } = await serviceWith(t, {});
  const publish = async (source: string) => (await client.call('publishFlow', { body: source })).processId;
  const ended = async (id: string) => {
    for await (const item of client.log(id)) if (item.kind === 'end') break;
    return client.call('getInstance', { params: { processInstanceId: id } });
  };
  const start = async (processId: string, data = {}) =>
    (await client.call('execProcess', { body: { processId, data } })).processInstanceId;
  const [large, plain] = [await publish(LARGE), await publish(PLAIN)];
  const first = await start(large);
  t.match(await ended(first), { stateCd: 2, error: { code: 'INTERNAL_ERROR' } });
  t.match(await ended(await start(plain, { number: 2 })), { stateCd: 1, data: { double: 4 } });
});

const CALLED = flow(
  '6b0f7c2e-4a55-4c0d-9a53-6a6d3c1a2b16',
  'Called',
  `  start: { type: startEvent, next: end }
  end: { type: endEvent }`,
);
const CALLING = flow(
  '7b0f7c2e-4a55-4c0d-9a53-6a6d3c1a2b17',
  'Calling',
  `  start: { type: startEvent, next: make }
  make: { type: scriptTask, script: "'x'.repeat(3000000)", result: text, next: all }
  all:
    type: loopNode
    times: 24
    concurrency: 24
    nodes:
      call: { type: subProcess, processId: 6b0f7c2e-4a55-4c0d-9a53-6a6d3c1a2b16, data: { text: "{text}" } }
    next: end
  end: { type: endEvent }`,
);

t.test('children that are too much for one commit together begin in several', async (t) => {
  const { client } = await serviceWith(t, {});
  await client.call('publishFlow', { body: CALLED });
  const { processId } = await client.call('publishFlow', { body: CALLING });
  const { processInstanceId } = await client.call('execProcess', { body: { processId } });
  for await (const item of client.log(processInstanceId)) if (item.kind === 'end') break;
  const { stateCd, error, children } = await client.call('getInstance', { params: { processInstanceId } });
  t.match({ stateCd, error, children: children.length }, { stateCd: 1, error: undefined, children: 24 });
});

t.test('what is over is forgotten a part at a time', async (t) => {
  const left = new Set(Array.from({ length: 25_000 }, (_, number) => String(number)));
  const commits: number[] = [];
  const durably = async (act: (transaction: Transaction) => void): Promise<void> => {
    const transaction = { at: 1, facts: [] as { key: string }[] };
    act(transaction as unknown as Transaction);
    commits.push(transaction.facts.length);
    for (const { key } of transaction.facts) left.delete(key);
  };
  await sweep(durably, () => [[...left].map((key) => ({ collection: 'once', key, value: null }))]);
  t.same([left.size, commits], [0, [10_000, 10_000, 5000]]);
});

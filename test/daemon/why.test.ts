import assert from 'node:assert/strict';
import t from 'tap';
import { WorkerTasks } from '../../src/daemon/work/worker-tasks.ts';
import { unfolded, WaitFold } from '../../src/engine/index.ts';
import { type Run, World } from '../semantics/engine.ts';
import { openServer, publish, type TestServer } from './server.ts';

const FLOW = '7c9e6679-7425-40de-944b-e07fc1f90a01';
const SENDER = '7c9e6679-7425-40de-944b-e07fc1f90a02';

/** Publishes a flow of these nodes, starts it, and gives the id of the instance. */
async function started(server: TestServer, nodes: string, id = FLOW): Promise<string> {
  const source = `id: ${id}\nname: Flow\nnodes:\n  start: ${nodes.trim().replace(/^/gm, '  ').trim()}\n`;
  assert.equal((await publish(server, source)).status, 200, source);
  return start(server, id);
}

async function start(server: TestServer, processId = FLOW): Promise<string> {
  const { body } = await server.call('POST', '/process/exec', { body: { processId } });
  return body.processInstanceId;
}

const why = async (server: TestServer, id: string) => (await server.call('GET', `/process/instance/${id}/why`)).body;
const send = (server: TestServer, eventType: string, correlationKey: string, more = {}) =>
  server.call('POST', '/process/event', { body: { eventType, correlationKey, ...more } });

t.test('a task: its form, until when, and what was answered and refused', async (t) => {
  const server = await openServer(t);
  const id = await started(
    server,
    `{ type: startEvent, next: ask }
ask: { type: inputNode, name: Ask, formTitle: Sure?, inputType: radio, options: [a, b], timeout: PT1H, next: end, errorFlow: end }
end: { type: endEvent }`,
  );
  const body = { processInstanceId: id, nodeId: 'ask', action: 'COMPLETE', data: { inputValue: 'c' } };
  t.equal((await server.call('POST', '/process/task', { body })).status, 400);
  const explained = await why(server, id);
  const { body: instance } = await server.call('GET', `/process/instance/${id}`);
  t.match(explained, {
    stateCd: 0,
    sentence: '"Ask" waits for an answer: "Sure?".',
    total: 1,
    children: [],
    waits: [
      {
        nodeId: 'ask',
        kind: 'TASK',
        since: instance.nodes[1].startTime,
        form: { inputType: 'radio' },
        releases: [
          { sentence: /^Somebody answers/ },
          { sentence: /^Its timeout passes: it fails with TIMEOUT/, at: /Z$/ },
        ],
        nearMisses: [{ kind: 'ANSWER_REFUSED', sentence: 'An answer was refused: inputValue must be one of a, b.' }],
      },
    ],
  });

  await server.call('POST', `/process/instance/${id}/cancel`);
  const ended = await why(server, id);
  t.match(ended, { stateCd: 3, sentence: 'It was cancelled, while it was at "ask".', waits: [], total: 0 });
  t.match(ended.releases, [{ sentence: /^A retry goes on from a node/ }]);
  t.equal((await server.call('GET', `/process/instance/${SENDER}/why`)).body.error, 'INSTANCE_NOT_FOUND');
  const other = await server.keyWith(['viewer'], 'other');
  t.equal((await server.call('GET', `/process/instance/${id}/why`, { key: other })).status, 404, 'not to others');
});

t.test('a message: events that came near, one that came too early, and who takes it first', async (t) => {
  const server = await openServer(t);
  await send(server, 'paid', 'order-1');
  const id = await started(
    server,
    `{ type: startEvent, next: pay }
pay: { type: intermediateCatchEvent, message: paid, correlationKey: order-1 }
late: { type: boundaryEvent, attachedTo: pay, timer: PT1H, cancelActivity: false }`,
  );
  await send(server, 'paid', 'Order_1');
  await send(server, 'Paid', 'x');
  await send(server, 'refunded', 'order-1');
  await send(server, 'refunded', 'order-2');
  await send(server, 'paid', 'order-3', { timeToLive: 'PT1H' });
  const [wait] = (await why(server, id)).waits;
  t.match(wait, { kind: 'MESSAGE', event: { eventType: 'paid', correlationKey: 'order-1' } });
  t.match(wait.releases, [{ sentence: /"paid" comes with the key "order-1"/ }, { sentence: /"late"/, at: /Z$/ }]);
  t.strictSame(
    wait.nearMisses.map(({ kind }: { kind: string }) => kind),
    ['OTHER_NAME', 'OTHER_NAME', 'OTHER_KEY', 'TOO_EARLY', 'KEPT_WITH_OTHER_KEY'],
    'newest first; an event with another name and another key is none',
  );
  t.match(wait.nearMisses[2].sentence, /"Order_1", and this waits for "order-1" \(they differ in case/);

  const boundary = await started(
    server,
    `{ type: startEvent, next: ask }
ask: { type: userTask, next: end }
stop: { type: boundaryEvent, attachedTo: ask, message: stop-it, correlationKey: k1, next: end }
end: { type: endEvent }`,
    SENDER,
  );
  await send(server, 'stop-it', 'k2');
  t.match((await why(server, boundary)).waits[0].nearMisses, [
    { kind: 'OTHER_KEY', sentence: 'The message "stop-it" came with the key "k2", and this waits for "k1".' },
  ]);

  const second = await start(server);
  const [behind] = (await why(server, second)).waits;
  t.match(behind.nearMisses.at(-1), { kind: 'ANOTHER_WAITS_FIRST', sentence: new RegExp(id) });
  t.equal((await send(server, 'paid', 'order-1')).body.processInstanceIds[0], id, 'as it says');
});

t.test('a message whose sender rests is told of', async (t) => {
  const server = await openServer(t);
  const sender = `id: ${SENDER}
name: Sender
triggers: [{ type: schedule, cron: "0 9 * * *", timezone: UTC }]
nodes:
  start: { type: startEvent, next: tell }
  tell: { type: intermediateThrowEvent, message: paid, correlationKey: k }
`;
  await publish(server, sender);
  const id = await started(
    server,
    `{ type: startEvent, next: pay }
pay: { type: intermediateCatchEvent, message: paid, correlationKey: k }`,
  );
  t.strictSame((await why(server, id)).waits[0].nearMisses, [], 'it is published');
  await server.call('POST', `/process/${SENDER}/unpublish`, { body: {} });
  t.match((await why(server, id)).waits[0].nearMisses, [
    { kind: 'SENDER_NOT_PUBLISHED', sentence: /^The flow "Sender" .* its schedule "0 9 \* \* \*" rests\.$/ },
  ]);
});

t.test('branches, times, children and errors', async (t) => {
  const server = await openServer(t);
  const id = await started(
    server,
    `{ type: startEvent, next: [pause, left, sub] }
pause: { type: intermediateCatchEvent, timer: P1D, next: join }
left: { type: task, next: join }
join: { type: parallelGateway, next: end }
sub: { type: subProcess, next: end, nodes: { s: { type: startEvent, next: inner }, inner: { type: userTask, title: Inner, assignee: ada } } }
end: { type: endEvent }`,
  );
  const explained = await why(server, id);
  t.match(explained, {
    sentence: 'It waits at 3 places: "pause", "sub", "join".',
    waits: [
      { kind: 'TIMER', dueAt: /Z$/ },
      { kind: 'CHILD', childInstanceId: explained.children[0].processInstanceId },
      { kind: 'JOIN', missing: ['pause'], releases: [{ sentence: 'A token that now is at "pause" gets there.' }] },
    ],
    children: [{ sentence: '"inner" waits for an answer by "ada": "Inner".', waits: [{ kind: 'TASK' }] }],
  });

  const failed = await started(
    server,
    `{ type: startEvent, next: oops }
oops: { type: endEvent, error: NO_STOCK }`,
  );
  t.match(await why(server, failed), {
    stateCd: 2,
    sentence: /^Nothing in the flow caught the error at "oops": NO_STOCK: /,
    error: { code: 'NO_STOCK', nodeId: 'oops' },
    releases: [{ sentence: /^A retry goes on from "oops"/ }],
  });
});

function waitsOf(run: Run) {
  const fold = new WaitFold(run.flow);
  for (const event of unfolded(run.events)) fold.next(event, run.state.startTime);
  return fold.waits.map(({ node, awaited, iteration }) => ({ node: node.id, ...awaited, iteration }));
}

t.test('work and retries: which attempt, and the error of the one before', async (t) => {
  const world = new World();
  const run = world.start(`
start: { type: startEvent, next: work }
work: { type: domainTask, handler: it, retry: { attempts: 3, backoff: PT1M } }`);
  t.match(waitsOf(run), [{ kind: 'work', work: 'domain', attempt: 1, attempts: 3, error: undefined }]);
  run.fail('work');
  const error = { code: String, message: String, nodeId: 'work' };
  t.match(waitsOf(run), [{ kind: 'retry', attempt: 2, attempts: 3, due: run.state.startTime + 60_000, error }]);
  world.advance('PT1M');
  t.match(waitsOf(run), [{ kind: 'work', attempt: 2, attempts: 3, error }]);
});

t.test('inside a loop each iteration waits by itself, and the loop for them', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: each }
each: { type: loopNode, items: [a, b, c], concurrency: 2, nodes: { s: { type: startEvent, next: ask }, ask: { type: userTask } } }`);
  t.match(waitsOf(run), [
    { node: 'each', kind: 'loop', begun: 2, running: 2, count: 3 },
    { node: 'ask', kind: 'task', iteration: 0 },
    { node: 'ask', kind: 'task', iteration: 1 },
  ]);
});

t.test('workers that asked are remembered for their organization, the newest first', async (t) => {
  const workers = new WorkerTasks();
  t.teardown(() => workers.close());
  const poll = (handler: string, organizationId: string | undefined) =>
    workers.poll(
      { handlers: [handler], organizationId, environment: undefined, maxWait: 0 },
      new AbortController().signal,
    );
  await poll('a', 'mine');
  await poll('b', undefined);
  await poll('c', 'other');
  await poll('a', 'mine');
  t.strictSame(
    workers.askers('mine').map(({ handlers }) => handlers[0]),
    ['a', 'b'],
  );
  for (let i = 0; i < 300; i += 1) await poll(`h${i}`, 'mine');
  t.equal(workers.askers('mine').length, 200, 'a bounded number of them');
});

t.test('a history: the entries of the log with what each changed, in pages', async (t) => {
  const server = await openServer(t);
  const id = await started(
    server,
    `{ type: startEvent, next: set }
set: { type: setVariable, set: { a: 1, b.c: "{a}", b.d: two }, next: again }
again: { type: setVariable, set: { b: { c: 9 } }, next: end }
end: { type: endEvent, error: BAD }`,
  );
  const history = async (query = '') => (await server.call('GET', `/process/instance/${id}/history${query}`)).body;
  const { items, nextCursor } = await history();
  t.equal(nextCursor, null);
  t.strictSame(
    items.map(({ step }: { step: number }) => step),
    items.map((_: unknown, i: number) => i + 1),
  );
  t.strictSame(items[3].changes, [
    { name: 'a', value: 1 },
    { name: 'b.c', value: 1 },
    { name: 'b.d', value: 'two' },
  ]);
  t.match(items[3], { nodeId: 'set', message: 'set a, b.c, b.d', level: 'INFO', timestamp: /Z$/ });
  t.match(items[6].changes, [{ name: 'b', value: { c: 9 }, before: { c: 1, d: 'two' } }]);
  t.match(items.at(-1), { nodeId: 'end', level: 'ERROR' });
  t.strictSame((await server.call('GET', `/process/instance/${id}?at=4`)).body.data, { a: 1, b: { c: 1, d: 'two' } });

  const paged = [];
  for (let cursor = '0'; cursor !== null; ) {
    const page = await history(`?limit=4&cursor=${cursor}`);
    t.ok(page.items.length <= 4);
    paged.push(...page.items);
    cursor = page.nextCursor;
  }
  t.strictSame(paged, items);
  t.equal((await history('?cursor=x')).error, 'VALIDATION_ERROR');
  const other = await server.keyWith(['viewer'], 'other');
  t.equal((await server.call('GET', `/process/instance/${id}/history`, { key: other })).status, 404);
});

t.test('a history: the start data comes first, large values are left out and end a page', async (t) => {
  const server = await openServer(t);
  const nodes = `{ type: startEvent, next: each }
each: { type: loopNode, times: 80, next: end, nodes: { s: { type: startEvent, next: set }, set: { type: setVariable, set: { some: "{half}{half}", loop.own: 1 } } } }
end: { type: endEvent }`;
  await started(server, nodes);
  const body = { processId: FLOW, data: { half: 'x'.repeat(7500), large: 'x'.repeat(17_000) } };
  const id = (await server.call('POST', '/process/exec', { body })).body.processInstanceId;
  const history = async (cursor: string) =>
    (await server.call('GET', `/process/instance/${id}/history?limit=500&cursor=${cursor}`)).body;
  const first = await history('0');
  t.match(first.items[0].changes, [{ name: 'half' }, { name: 'large', value: undefined, large: true }]);
  const sets = first.items.filter(
    ({ nodeId, changes }: { nodeId: string; changes: [] }) => nodeId === 'set' && changes.length > 0,
  );
  t.match(sets[1].changes, [
    { name: 'some', before: 'x'.repeat(15_000) },
    { name: 'loop.own', iteration: 1 },
  ]);
  t.ok(first.items.length < 500 && first.nextCursor !== null, 'a page of more than 1 MiB ends early');
  t.equal((await history(first.nextCursor)).items[0].step, first.items.length + 1);
});

import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ApiError } from '../../src/client/index.ts';
import { createDomain } from '../../src/daemon/work/domain.ts';
import type { ExecutorContext } from '../../src/daemon/work/executor.ts';
import { type OfferedTask, type TaskEnd, WorkerTasks } from '../../src/daemon/work/worker-tasks.ts';
import type { Json } from '../../src/engine/json.ts';
import { watchHandlers } from '../../src/handlers/folder.ts';
import { live, tempHome } from './live.ts';
import { daemonProcess } from './process.ts';

const nodes = (keys: string) =>
  `  start: { type: startEvent, next: it }\n  it: { type: domainTask, ${keys}, result: out }`;

const withHandlers = (home: string, files: Readonly<Record<string, string>>) => {
  mkdirSync(join(home, 'handlers'), { recursive: true });
  for (const [name, source] of Object.entries(files)) writeFileSync(join(home, 'handlers', name), source);
};

t.test('a handler of the folder does the task: TypeScript, its own imports, and its context', async (t) => {
  const home = tempHome(t);
  mkdirSync(join(home, 'handlers', 'lib'), { recursive: true });
  withHandlers(home, {
    'charge-card.ts': `
      import { createHash } from 'node:crypto';
      import { defineHandler } from 'wfx';
      import { fee } from './lib/fee.ts';
      type Input = { amount: number };
      export default defineHandler<Input>(async ({ amount }, { idempotencyKey, attempt, nodeId, instanceId, log }) => {
        log(\`charging \${amount}\`);
        return { total: amount + fee, attempt, nodeId, same: idempotencyKey === \`\${instanceId}:\${nodeId}:2\`,
                 hash: createHash('sha1').update('x').digest('hex').length };
      });`,
    'lib/fee.ts': 'export const fee: number = 5;',
    'old.js': 'module.exports = (input) => ({ got: input, dir: typeof __dirname });',
    'broken.ts': 'export default (',
    'no-default.mjs': 'export const x = 1;',
    'charge-card.test.ts': 'throw new Error("tests are not handlers")',
  });
  const wfx = await live(t, [], home);
  const charged = await wfx.run(nodes('handler: charge-card, input: { amount: "{amount}" }'), { amount: 37 });
  t.strictSame(charged.data.out, { total: 42, attempt: 1, nodeId: 'it', same: true, hash: 40 });
  t.ok(charged.log.includes('charging 37'), 'what it logs is in the log of the run');
  t.strictSame((await wfx.run(nodes('handler: old, input: [1]'))).data.out, { got: [1], dir: 'string' });
  t.notOk(
    readdirSync(join(home, 'handlers')).some((name) => name.startsWith('.')),
    'nothing is left behind',
  );
});

t.test('what a handler throws is the error of the node', async (t) => {
  const home = tempHome(t);
  const counted = "globalThis.tries = (globalThis.tries ?? 0) + 1; if (globalThis.tries < 3) throw new Error('busy')";
  withHandlers(home, {
    'stolen.mjs':
      "export default () => { throw Object.assign(new Error('card is stolen'), { code: 'CARD_STOLEN', retryable: false }); }",
    'plain.mjs': "export default async () => { throw new Error('no luck'); }",
    'odd.mjs': 'export default () => () => 1',
    'flaky.mjs': `export default (input, { attempt }) => { ${counted}; return attempt; }`,
    'mutating.mjs': 'export default (input) => { input.list.push(1); return input; }',
  });
  const wfx = await live(t, [], home);
  const stolen = await wfx.run(nodes('handler: stolen, retry: { attempts: 5, backoff: PT1H }'));
  t.match(stolen, { stateCd: 2, error: { code: 'CARD_STOLEN', message: 'card is stolen' } }, 'and is final on request');
  t.match(await wfx.run(nodes('handler: plain')), { error: { code: 'HANDLER_FAILED', message: 'no luck' } });
  t.match(await wfx.run(nodes('handler: odd')), { error: { code: 'HANDLER_RESULT' } });
  t.equal((await wfx.run(nodes('handler: flaky, retry: { attempts: 3, backoff: PT0S }'))).data.out, 3);
  const seen = '  seen: { type: setVariable, set: { seen: "{box}" } }';
  const kept = await wfx.run(`${nodes('handler: mutating, input: "{box}", next: seen')}\n${seen}`, {
    box: { list: [] },
  });
  t.strictSame([kept.data.seen, kept.data.out], [{ list: [] }, { list: [1] }], 'its input is a copy');
});

t.test('saving a handler puts it to use; a broken one says so and leaves the old one', async (t) => {
  const folder = join(tempHome(t), 'handlers');
  mkdirSync(join(folder, 'lib'), { recursive: true });
  writeFileSync(join(folder, 'lib/word.js'), "export const word = 'one';");
  writeFileSync(join(folder, 'say.ts'), "import { word } from './lib/word.js'; export default () => word;");
  const said: string[] = [];
  const handlers = watchHandlers(folder, {
    info: (_, message) => said.push(message),
    error: (fields, message) => said.push(`${message}: ${(fields as { reason: string }).reason}`),
  });
  t.teardown(() => handlers.close());
  const changed = () =>
    new Promise<void>((resolve) => {
      const end = handlers.onChange(() => {
        end();
        resolve();
      });
    });
  const say = async () => handlers.get('say')?.(null, {} as never);
  await handlers.ready;
  t.equal(await say(), 'one');
  const after = async (change: () => void) => {
    const seen = changed();
    change();
    await seen;
  };
  await after(() => writeFileSync(join(folder, 'lib/word.js'), "export const word = 'two';"));
  t.equal(await say(), 'two', 'also when a file that it imports is saved');
  await after(() => writeFileSync(join(folder, 'say.ts'), 'export default () => (;'));
  t.equal(await say(), 'two');
  t.match(said.at(-1), /broken; its last good version stays in use: .*say\.ts:1:\d+: /);
  await after(() => writeFileSync(join(folder, 'say.ts'), "export default () => 'three';"));
  t.equal(await say(), 'three');
  await after(() => writeFileSync(join(folder, 'new.mjs'), 'export default () => 1;'));
  t.strictSame(handlers.names, ['new', 'say']);
  await after(() => rmSync(join(folder, 'new.mjs')));
  t.strictSame(handlers.names, ['say']);
});

t.test('without a handler the node waits, and says for what once; saving the file then does it', async (t) => {
  const wfx = await live(t);
  const id = await wfx.start(await wfx.publish(nodes('handler: late')));
  await wfx.logs(id, /waiting for a worker that handles "late"/);
  const again = await wfx.restart();
  withHandlers(wfx.home, { 'late.mjs': "export default () => 'done';" });
  const ran = await again.ended(id);
  t.match(ran, { stateCd: 1, data: { out: 'done' } });
  t.equal(ran.log.filter((line) => /waiting for a worker/.test(line)).length, 1);
});

const task = (changes: Partial<OfferedTask> = {}): OfferedTask => ({
  handler: 'a',
  input: 1,
  idempotencyKey: 'i:n:1',
  organizationId: 'o',
  environment: 'PRODUCTION',
  processInstanceId: 'i',
  processId: 'p',
  nodeId: 'n',
  attempt: 1,
  ...changes,
});
const opened = (t: Test, leaseMs?: number): WorkerTasks => {
  const tasks = new WorkerTasks(leaseMs);
  t.teardown(() => tasks.close());
  return tasks;
};
const END: TaskEnd = { complete: async () => undefined, fail: async () => undefined, lost: () => undefined };
const asked = (changes = {}) => ({
  handlers: ['a'],
  organizationId: 'o' as string | undefined,
  environment: undefined,
  maxWait: 0,
  ...changes,
});
const never = new AbortController().signal;

t.test('tasks are handed out in order, each to one worker, of its organization and environment alone', async (t) => {
  const tasks = opened(t);
  for (const nodeId of ['n1', 'n2']) tasks.offer(task({ nodeId }), END);
  t.equal(await tasks.poll(asked({ handlers: ['b'] }), never), undefined);
  t.equal(await tasks.poll(asked({ organizationId: 'other' }), never), undefined);
  t.equal(await tasks.poll(asked({ environment: 'DEVELOPMENT' }), never), undefined);
  const [one, two] = await Promise.all([
    tasks.poll(asked(), never),
    tasks.poll(asked({ organizationId: undefined }), never),
  ]);
  t.match([one, two], [{ nodeId: 'n1' }, { nodeId: 'n2' }]);
  t.equal(await tasks.poll(asked(), never), undefined);
  t.equal(tasks.heartbeat(one?.taskId ?? '', 'other'), false, "another organization's task is not known");
  t.equal(tasks.heartbeat(one?.taskId ?? '', 'o'), true);
});

t.test('a poll waits; one that was given up gets no task', async (t) => {
  const tasks = opened(t);
  const gone = new AbortController();
  const given = tasks.poll(asked({ maxWait: 60_000 }), gone.signal);
  gone.abort();
  t.equal(await given, undefined);
  const waiting = tasks.poll(asked({ maxWait: 60_000 }), never);
  tasks.offer(task(), END);
  t.match(await waiting, { nodeId: 'n' });
  const released = tasks.poll(asked({ maxWait: 60_000 }), never);
  tasks.close();
  t.equal(await released, undefined, 'a daemon that stops keeps nobody waiting');
});

t.test('a worker without a sign of life loses its task; what it hands in later is refused', async (t) => {
  const tasks = opened(t, 5);
  const completed: unknown[] = [];
  const end = { ...END, complete: async (result: unknown) => void completed.push(result) };
  const lost = new Promise<void>((resolve) => {
    tasks.offer(task(), { ...end, lost: resolve });
  });
  const first = await tasks.poll(asked(), never);
  await lost;
  const second = await tasks.poll(asked(), never);
  t.match([second?.nodeId, second?.idempotencyKey], ['n', first?.idempotencyKey]);
  t.not(first?.taskId, second?.taskId);
  t.equal(await tasks.complete(first?.taskId ?? '', 'o', 'stale'), false);
  t.equal(await tasks.complete(second?.taskId ?? '', 'o', 'fresh'), true);
  t.equal(await tasks.complete(second?.taskId ?? '', 'o', 'twice'), false);
  t.strictSame(completed, ['fresh']);
});

t.test('external workers over HTTP: result, failure, heartbeat, and no second chance for stale ones', async (t) => {
  const wfx = await live(t);
  const { client } = wfx;
  const poll = async (handlers: string[], maxWait = 10) =>
    (await client.call('pollTask', { body: { handlers, maxWait } }))?.task;
  t.equal(await poll(['x'], 0), undefined, '204');

  const waiting = poll(['x']);
  const id = await wfx.start(await wfx.publish(nodes('handler: x, input: { n: "{n}" }')), { n: 7 });
  const given = await waiting;
  t.match(given, { handler: 'x', input: { n: 7 }, processInstanceId: id, attempt: 1, leaseSeconds: 30 });
  const taskId = given?.taskId ?? '';
  t.strictSame(await client.call('keepTask', { params: { taskId } }), { leaseSeconds: 30 });
  await client.call('completeTask', { params: { taskId }, body: { result: { square: 49 } } });
  t.match(await wfx.ended(id), { stateCd: 1, data: { out: { square: 49 } } });
  const stale = client.call('completeTask', { params: { taskId }, body: {} });
  await t.rejects(stale, { code: 'CONFLICT' });
  await t.rejects(client.call('keepTask', { params: { taskId: 'nonsense' } }), { code: 'NOT_FOUND' });

  const failing = await wfx.start(await wfx.publish(nodes('handler: y, retry: { attempts: 5, backoff: PT0S }')));
  const one = await poll(['y']);
  const failure = { code: 'OUT_OF_INK', message: 'no ink' };
  await client.call('failTask', { params: { taskId: one?.taskId ?? '' }, body: failure });
  const two = await poll(['y']);
  t.equal(two?.attempt, 2, 'the retry policy offers it again');
  await client.call('failTask', { params: { taskId: two?.taskId ?? '' }, body: { ...failure, retryable: false } });
  t.match(await wfx.ended(failing), { stateCd: 2, error: { code: 'OUT_OF_INK', message: 'no ink' } });

  const cancelled = await wfx.start(await wfx.publish(nodes('handler: z')));
  const held = await poll(['z']);
  await client.call('cancelInstance', { params: { processInstanceId: cancelled } });
  await t.rejects(
    client.call('keepTask', { params: { taskId: held?.taskId ?? '' } }),
    ApiError,
    'the worker learns of it',
  );
});

t.test('a restart offers the task again; a result that was thanked for is not asked for again', async (t) => {
  const wfx = await live(t);
  const body = { handlers: ['x'], maxWait: 10 };
  const id = await wfx.start(await wfx.publish(nodes('handler: x')));
  const before = await wfx.client.call('pollTask', { body });
  const again = await wfx.restart();
  const params = { taskId: before?.task.taskId ?? '' };
  await t.rejects(again.client.call('completeTask', { params, body: { result: 'stale' } }), { code: 'CONFLICT' });
  const after = await again.client.call('pollTask', { body });
  t.equal(after?.task.idempotencyKey, before?.task.idempotencyKey);
  await again.client.call('completeTask', { params: { taskId: after?.task.taskId ?? '' }, body: { result: 'fresh' } });
  t.match(await again.ended(id), { data: { out: 'fresh' } });
});

t.test('kill -9 right after a worker was thanked loses nothing', async (t) => {
  const home = tempHome(t);
  const before = await daemonProcess(t, home);
  const id = await before.start(await before.publish(nodes('handler: x')));
  const given = await before.client.call('pollTask', { body: { handlers: ['x'] } });
  await before.client.call('completeTask', { params: { taskId: given?.task.taskId ?? '' }, body: { result: 'once' } });
  await before.kill();
  const after = await daemonProcess(t, home);
  t.match(await after.ended(id), { stateCd: 1, data: { out: 'once' } });
});

t.test('an outcome that was recorded before a crash is the outcome', async (t) => {
  const none = { get: () => undefined, ready: Promise.resolve(), onChange: () => () => undefined };
  const domain = createDomain(none, opened(t));
  const after = (progress: readonly Json[]) =>
    domain.execute({ handler: 'x', input: null }, { progress, attempt: 2 } as unknown as ExecutorContext);
  const failed = { code: 'OUT_OF_INK', message: 'no ink', retryable: false };
  t.strictSame(await after([{ waiting: 'x' }, { failed, attempt: 1 }, { completed: { n: 1 } }]), { n: 1 });
  await t.rejects(after([{ failed, attempt: 2 }]), { code: 'OUT_OF_INK', final: true });
});

t.test('many tasks that wait for workers leave room for other work', async (t) => {
  const wfx = await live(t);
  const flow = await wfx.publish(nodes('handler: nobody'));
  for (let i = 0; i < 80; i += 1) await wfx.start(flow);
  const script = await wfx.run(
    '  start: { type: startEvent, next: it }\n  it: { type: scriptTask, script: "1 + 1", result: out }',
  );
  t.equal(script.data.out, 2);
});

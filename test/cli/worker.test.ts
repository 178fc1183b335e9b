import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { machine } from './machine.ts';

const FLOW = `
id: 7c9e6679-7425-40de-944b-e07fc1f90ae7
name: Square
nodes:
  start: { type: startEvent, next: it }
  it: { type: domainTask, handler: square, input: { n: "{n}" }, result: out, errorFlow: failed }
  failed: { type: setVariable, set: { out: "{error.code}" } }
`;
const HANDLER = `
import { defineHandler } from 'wfx';
export default defineHandler<{ n: number }>(({ n }, { log }) => {
  log('squaring ' + n);
  if (n < 0) throw Object.assign(new Error('too cold'), { code: 'COLD' });
  return n * n;
});`;

t.test('a worker does the tasks of its handlers, until it is told to stop', async (t) => {
  const { wfx, begin, dir } = machine(t);
  writeFileSync(join(dir, 'square.yaml'), FLOW);
  writeFileSync(join(dir, 'square.ts'), HANDLER);
  await wfx(['daemon', 'start', '--port', '0']);
  const worker = begin(['worker', 'square.ts']);
  await worker.says(/Working on square/);
  t.match((await wfx(['run', 'square.yaml', '-d', 'n=12', '-o', 'json'])).json(), { stateCd: 1, data: { out: 144 } });
  t.match((await wfx(['run', 'square.yaml', '-d', 'n=-1', '-o', 'json'])).json(), { data: { out: 'COLD' } });
  worker.child.kill('SIGINT');
  const { code, stderr } = await worker.result;
  t.equal(code, 0);
  t.match(stderr, /square {2}\S+\/it {2}squaring 12/);
  t.match(stderr, /failed: COLD: too cold/);
});

t.test('a task that no worker takes says so, and what would take it', async (t) => {
  const { wfx, begin, dir } = machine(t);
  writeFileSync(join(dir, 'square.yaml'), FLOW);
  writeFileSync(join(dir, 'square.ts'), HANDLER);
  const id = (await wfx(['run', 'square.yaml', '-d', 'n=3', '--detach'])).stdout.trim();
  const log = begin(['instance', 'logs', id, '--follow']);
  await log.says(/waiting for a worker that handles "square"/);
  const { stdout } = await wfx(['why', id]);
  t.match(stdout, /^Square {2}Running {2}/);
  t.match(stdout, /"it" waits for a worker that handles "square"\.\n {2}→ The work finishes\.\n {6}wfx worker --dir/);
  t.match(stdout, /! No worker for "square" in PRODUCTION has asked since the daemon began\./);

  const worker = begin(['worker', 'square.ts']);
  t.equal((await log.result).code, 0, 'a worker came');
  t.match((await wfx(['instance', 'history', id])).stdout, /it {2,}set out\n +out: 9\n/);
  const then = (await wfx(['instance', 'show', id, '--at', '1'])).stdout;
  t.match(then, /as of step +1, .*: start started\nstate +Running\n[\s\S]*runs for +0\.0 s/, 'as it was, not since');
  t.match(await wfx(['instance', 'show', id, '--at', '999']), { code: 2, stderr: /has no step 999/ });
  worker.child.kill('SIGINT');
  await worker.result;
});

t.test('a worker of a folder takes up what is saved there', async (t) => {
  const { wfx, begin, dir } = machine(t);
  writeFileSync(join(dir, 'square.yaml'), FLOW);
  mkdirSync(join(dir, 'handlers'));
  await wfx(['daemon', 'start', '--port', '0']);
  const worker = begin(['worker', '--dir', 'handlers']);
  await worker.says(/Working on nothing yet/);
  const run = begin(['run', 'square.yaml', '-d', 'n=3', '-o', 'json']);
  writeFileSync(join(dir, 'handlers', 'square.ts'), HANDLER);
  t.match((await run.result).json(), { data: { out: 9 } });
  worker.child.kill('SIGTERM');
  t.equal((await worker.result).code, 0);
});

t.test('a worker without handlers that can be loaded does not begin', async (t) => {
  const { wfx, dir } = machine(t);
  writeFileSync(join(dir, 'broken.ts'), 'export default (');
  for (const [args, message] of [
    [[], /A worker needs handlers/],
    [['missing.ts'], /There is no file missing\.ts/],
    [['--dir', 'missing'], /There is no folder missing/],
    [['broken.ts'], /broken\.ts:1:\d+: /],
    [['broken.ts', '--concurrency', '0'], /--concurrency takes a whole number/],
  ] as const) {
    const { code, stderr } = await wfx(['worker', ...args]);
    t.equal(code, 2);
    t.match(stderr, message);
  }
});

t.test('memory is set, listed, searched and deleted', async (t) => {
  const { wfx } = machine(t);
  await wfx(['daemon', 'start', '--port', '0']);
  await wfx(['memory', 'set', 'customer/ada', '{"likes": "blue"}']);
  await wfx(['memory', 'set', 'greeting', 'hello']);
  t.equal((await wfx(['memory', 'get', 'greeting'])).stdout, 'hello\n');
  t.match((await wfx(['memory', 'get', 'customer/ada'])).json(), { likes: 'blue' });
  t.match((await wfx(['memory', 'list', '-o', 'json'])).json(), {
    items: [{ key: 'customer/ada' }, { key: 'greeting' }],
  });
  t.match((await wfx(['memory', 'list', '--prefix', 'g'])).stdout, /^KEY.*\ngreeting /);
  t.match((await wfx(['memory', 'search', 'blue', '-o', 'json'])).json(), { items: [{ key: 'customer/ada' }] });
  t.equal((await wfx(['memory', 'delete', 'greeting'])).code, 0);
  const gone = await wfx(['memory', 'get', 'greeting']);
  t.match([gone.code, gone.stderr], [2, /no value in this memory with the key greeting/]);
});

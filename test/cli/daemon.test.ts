import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { FLOWS, machine } from './machine.ts';

t.setTimeout(180_000);

const quick = join(FLOWS, 'reshape-json.yaml');

/** A dead process may stay as a zombie until its parent takes notice; its state tells. */
function alive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

t.test('start, status, stop: told to people and to machines', async (t) => {
  const { wfx, home } = machine(t);
  const started = (await wfx(['daemon', 'start', '--port', '0', '-o', 'json'])).json();
  t.match(started, {
    running: true,
    started: true,
    pid: Number,
    url: /^http:\/\/127\.0\.0\.1:\d+$/,
    version: String,
    dataDir: home,
  });
  t.match((await wfx(['daemon', 'status', '-o', 'json'])).json(), {
    running: true,
    url: started.url,
    pid: started.pid,
    version: started.version,
    dataDir: home,
  });
  t.match(await wfx(['daemon', 'status']), { code: 0, stdout: /is running/ });
  t.match(await wfx(['daemon', 'start']), { code: 0, stderr: /runs already/ });
  t.equal(statSync(home).mode & 0o777, 0o700);
  t.match(await wfx(['daemon', 'logs', '-n', '5']), { code: 0, stdout: /\S/ });
  t.match(await wfx(['daemon', 'stop']), { code: 0, stderr: /Stopped/ });
  t.notOk(alive(started.pid));
  t.notOk(existsSync(join(home, 'daemon.json')));
  t.match((await wfx(['daemon', 'status', '-o', 'json'])).json(), { running: false });
});

t.test('two starts at once: one wins, the other finds it', async (t) => {
  const { wfx } = machine(t);
  const starts = await Promise.all([1, 2, 3].map(() => wfx(['daemon', 'start', '--port', '0', '-o', 'json'])));
  for (const { code, stderr } of starts) t.equal(code, 0, stderr);
  const answers = starts.map((start) => start.json());
  t.equal(new Set(answers.map(({ pid }) => pid)).size, 1);
  t.equal(answers.filter(({ started }) => started).length, 1);
});

t.test('a daemon that was killed is replaced, and its runs go on', async (t) => {
  const own = machine(t);
  const { pid } = (await own.wfx(['daemon', 'start', '--port', '0', '-o', 'json'])).json();
  const { stdout: id } = await own.wfx(['run', join(FLOWS, 'order-approval.yaml'), '--detach']);
  process.kill(pid, 'SIGKILL');
  while (alive(pid)) await delay(5);
  t.ok(existsSync(join(own.home, 'daemon.json')), 'the file stays behind');
  t.match((await own.wfx(['daemon', 'status', '-o', 'json'])).json(), { running: false });
  t.match(await own.wfx(['instance', 'list']), { code: 5, stderr: /No daemon is running/ });
  t.match(await own.wfx(['run', quick]), { code: 0, stderr: /Started the daemon/ });
  t.match(await own.wfx(['task', 'complete', id.trim(), 'review', 'approve']), { code: 0 });
});

t.test('a port in use: refused where it was asked for', async (t) => {
  const { wfx } = machine(t);
  const server = createServer().listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const { code, stderr } = await wfx(['daemon', 'start', '--port', String(port)]);
  t.equal(code, 5);
  t.match(stderr, new RegExp(`did not start: .*${port}`));
  t.equal(stderr.trim().split('\n').length, 2, 'one sentence and a hint');
});

t.test('the usual port in use: wfx run takes a free one', async (t) => {
  const { wfx } = machine(t);
  const server = createServer().listen(7117, '127.0.0.1');
  t.teardown(() => server.close());
  // Where it is taken already, it is in use all the same.
  const isOurs = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  const { code, stderr } = await wfx(['run', quick]);
  t.equal(code, 0, stderr);
  if (!isOurs && stderr.includes(':7117 ')) t.comment('who had the port let it go in the middle of the test');
  else t.match(stderr, /Started the daemon at http:\/\/127\.0\.0\.1:(?!7117\b)\d+/);
});

t.test('a data folder that can’t be one is named in one sentence', async (t) => {
  const { wfx, dir } = machine(t);
  writeFileSync(join(dir, 'file'), '');
  const { code, stderr } = await wfx(['daemon', 'start', '--port', '0', '--data-dir', join(dir, 'file')]);
  t.equal(code, 5);
  t.match(stderr, /data folder .*file can't be written to/);
  // A folder that is there, and answers to `mkdir` that it is not: Node's own recursive mkdir tries for ever.
  if (process.platform === 'linux') {
    t.match(await wfx(['daemon', 'start', '--data-dir', '/proc/wfx/data']), {
      code: 5,
      stderr: /no folder can be made/,
    });
    const added = await wfx(['context', 'add', 'a', 'http://127.0.0.1:1'], { env: { WFX_HOME: '/proc/wfx' } });
    t.match(added, { code: 2, stderr: /^error: \/proc\/wfx can't be used/ });
  }
  const locked = join(dir, 'locked');
  mkdirSync(locked);
  chmodSync(locked, 0o500);
  if (process.getuid?.() === 0) t.comment('root may write anywhere: the read-only folder is not tried');
  else
    t.match(await wfx(['daemon', 'start', '--port', '0', '--data-dir', locked]), { code: 5, stderr: /no permission/ });
});

t.test('--data-dir: a second daemon beside the first, with keys of its own', async (t) => {
  const { wfx, dir } = machine(t);
  const other = ['--data-dir', join(dir, 'other')];
  t.teardown(() => wfx(['daemon', 'stop', ...other]));
  await wfx(['daemon', 'start', '--port', '0']);
  t.match(await wfx(['daemon', 'start', '--port', '0', ...other]), { code: 0, stderr: /The daemon runs at/ });
  t.match(await wfx(['run', quick, ...other]), { code: 0 });
  t.equal((await wfx(['flow', 'list', '-o', 'json'])).json().items.length, 0);
  t.equal((await wfx(['flow', 'list', '-o', 'json', ...other])).json().items.length, 1);
  t.not((await wfx(['token'])).stdout, (await wfx(['token', ...other])).stdout);
});

t.test('a daemon of another version is warned about', async (t) => {
  const { wfx, home } = machine(t);
  await wfx(['daemon', 'start', '--port', '0']);
  const file = join(home, 'daemon.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace(/"version": "[^"]+"/, '"version": "9.9.9"'));
  t.match(await wfx(['flow', 'list']), {
    code: 0,
    stderr: /warning: the daemon is wfx 9\.9\.9.*wfx daemon stop && wfx daemon start/,
  });
});

t.test('a file that a killed daemon left behind is not taken for the daemon that has its port now', async (t) => {
  const { wfx, home } = machine(t);
  await wfx(['daemon', 'start', '--port', '0']);
  const file = join(home, 'daemon.json');
  const about = readFileSync(file, 'utf8');
  writeFileSync(file, about.replace(/"daemonId": "[^"]+"/, '"daemonId": "another"'));
  t.match((await wfx(['daemon', 'status', '-o', 'json'])).json(), { running: false });
  t.match(await wfx(['flow', 'list']), { code: 5, stderr: /No daemon is running/ });
  writeFileSync(file, about);
});

t.test('--foreground runs here until it is told to stop', async (t) => {
  const { begin, wfx } = machine(t);
  const running = begin(['daemon', 'start', '--foreground', '--port', '0']);
  await running.says(/127\.0\.0\.1:\d+/);
  while ((await wfx(['daemon', 'status', '-o', 'json'])).json().running !== true) await delay(20);
  t.match(await wfx(['daemon', 'start', '--foreground']), { code: 2, stderr: /runs already/ });
  running.child.kill('SIGTERM');
  t.equal((await running.result).code, 0);
  t.match((await wfx(['daemon', 'status', '-o', 'json'])).json(), { running: false });
});

t.test('keys: made, listed, suspended, rotated, revoked; what they may not do is exit code 4', async (t) => {
  const { wfx } = machine(t);
  const { url } = (await wfx(['daemon', 'start', '--port', '0', '-o', 'json'])).json();
  const created = await wfx([
    'key',
    'create',
    'ci',
    '--role',
    'viewer',
    '--expires',
    '2099-01-31',
    '--per-minute',
    '600',
  ]);
  t.match(created, { code: 0, stdout: /^apk_\S+\n$/, stderr: /once only/ });
  const key = created.stdout.trim();
  const as = (key: string, ...args: string[]) => wfx(args, { env: { WFX_API_KEY: key } });
  t.match(await as(key, 'flow', 'list'), { code: 0 });
  t.match(await as(key, 'run', quick), { code: 4, stderr: /can't be published/ });
  t.match(await as('apk_wrong_key', 'flow', 'list'), { code: 4, stderr: /WFX_API_KEY/ });
  const listed = (await wfx(['key', 'list', '-o', 'json'])).json().items;
  const mine = listed.find(({ name }: { name: string }) => name === 'ci');
  t.match(mine, { status: 'ACTIVE', roles: ['viewer'], rateLimitPerMinute: 600, expiresAt: /^2099-01-31T23:59:59/ });
  t.notOk('secret' in mine);
  await wfx(['key', 'suspend', mine.keyId]);
  t.match(await as(key, 'flow', 'list'), { code: 4 });
  await wfx(['key', 'activate', mine.keyId]);
  t.match(await as(key, 'whoami'), { code: 0, stdout: /viewer/ });
  const rotated = (await wfx(['key', 'rotate', mine.keyId])).stdout.trim();
  t.match(await as(key, 'flow', 'list'), { code: 4 });
  t.match(await as(rotated, 'flow', 'list'), { code: 0 });
  t.match((await wfx(['key', 'revoke', mine.keyId, '-o', 'json'])).json(), { status: 'REVOKED' });
  t.match(await as(rotated, 'flow', 'list'), { code: 4 });
  t.match(await wfx(['key', 'suspend', 'nosuchkey']), { code: 2 });

  const token = (await wfx(['token'])).stdout.trim();
  const system = (await wfx(['token', '--system'])).stdout.trim();
  t.match(token, /^apk_/);
  t.not(token, system);
  t.match(await as(system, 'whoami'), { code: 0, stdout: /system-level/ });
  t.match(await wfx(['flow', 'list'], { env: { WFX_URL: url } }), { code: 0 }, 'the same daemon by its address');
  t.match(await wfx(['flow', 'list'], { env: { WFX_URL: url.replace('127.0.0.1', 'localhost') } }), { code: 0 });
});

t.test('environment values: set, listed, read by flows, and removed', async (t) => {
  const { wfx, dir } = machine(t);
  await wfx(['daemon', 'start', '--port', '0']);
  const file = join(dir, 'env.yaml');
  writeFileSync(
    file,
    'id: 0d2c7a52-4f5e-4c0e-9a57-7f0a1f0f6b04\nname: env\nnodes:\n  a: { type: startEvent, next: b }\n  b: { type: setVariable, set: { shop: "{env.SHOP}" } }\n',
  );
  t.match(await wfx(['env', 'set', 'SHOP=https://a=b', 'PORT=0080']), { code: 0, stderr: /SHOP is set in PRODUCTION/ });
  await wfx(['env', 'set', '-e', 'dev', 'SHOP=local']);
  t.match(await wfx(['run', file]), { code: 0, stdout: /^shop: https:\/\/a=b$/m });
  t.match(await wfx(['run', file, '-e', 'dev']), { code: 0, stdout: /^shop: local$/m });
  t.match((await wfx(['env', 'list', '-e', 'prod', '-o', 'json'])).json().items, [
    { name: 'PORT', value: '0080', environment: 'PRODUCTION' },
    { name: 'SHOP', value: 'https://a=b' },
  ]);
  t.match(await wfx(['env', 'unset', 'SHOP']), { code: 0 });
  t.match(await wfx(['env', 'unset', 'SHOP']), { code: 2, stderr: /There is no value SHOP/ });
  t.match(await wfx(['env', 'set', 'bad name=1']), { code: 2 });
});

t.test('instances: listed, shown, retried from where they failed', async (t) => {
  const { wfx, dir } = machine(t);
  await wfx(['daemon', 'start', '--port', '0']);
  const file = join(dir, 'retry.yaml');
  writeFileSync(
    file,
    `id: 0d2c7a52-4f5e-4c0e-9a57-7f0a1f0f6b05
name: Mend me
variables: { ok: false }
nodes:
  a: { type: startEvent, next: b }
  b: { type: scriptTask, script: "if (!ok) throw new Error('not yet'); 'done'", result: said, next: c }
  c: { type: endEvent }
`,
  );
  const { json, code } = await wfx(['run', file, '-k', 'order-1', '-o', 'json']);
  t.equal(code, 1);
  const { processInstanceId: id, error } = json();
  t.match(error, { code: 'SCRIPT_ERROR', nodeId: 'b' });
  t.match(await wfx(['instance', 'show', id]), {
    code: 0,
    stdout: /Failed[\s\S]*SCRIPT_ERROR at b[\s\S]*^ok: false$/m,
  });
  t.match(await wfx(['instance', 'list', '-k', 'order-1']), { code: 0, stdout: /Failed.*order-1.*Mend me/ });
  t.equal((await wfx(['instance', 'list', '--state', 'completed', '-o', 'json'])).json().items.length, 0);
  const retried = await wfx(['instance', 'retry', id, '-d', 'ok=true']);
  t.equal(retried.code, 0, retried.stderr);
  const again = retried.stdout.trim();
  await wfx(['instance', 'logs', again, '--follow']);
  t.match((await wfx(['instance', 'show', again, '-o', 'json'])).json(), {
    stateCd: 1,
    retryOf: id,
    data: { said: 'done' },
  });
  const lines = (await wfx(['instance', 'logs', again, '-o', 'json'])).stdout.trim().split('\n');
  for (const line of lines)
    t.match(JSON.parse(line), { nodeId: String, message: String, level: String, timestamp: String });
  t.match(await wfx(['instance', 'cancel', id]), { code: 2 });
  t.match(await wfx(['instance', 'show', 'nosuch']), { code: 2, stderr: /wfx instance list/ });
  t.match(await wfx(['instance', 'list', '--flow', '0d2c7a52-4f5e-4c0e-9a57-7f0a1f0f6b05', '-o', 'json']), {
    code: 0,
    stdout: new RegExp(id),
  });
});

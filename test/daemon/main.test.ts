import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { readConfig, UsageError } from '../../src/daemon/config.ts';
import { readCredential } from '../../src/secrets/index.ts';
import { tempFolder } from '../folder.ts';
import { SHORT, shortFlow, WAITING, waitingFlow } from './server.ts';

process.env['WFX_KEYCHAIN'] = 'off';
t.setTimeout(240_000);
const DAEMON = 'dist/daemon.js';

interface Ready {
  readonly ready: boolean;
  readonly url: string;
  readonly error?: { readonly code: string; readonly message: string };
}
interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  readonly key: string;
  exit(): Promise<number | null>;
}

function spawned(t: Test, home: string, flags: readonly string[]): ChildProcess {
  const child = fork(DAEMON, ['--port', '0', ...flags], {
    execArgv: [],
    env: { ...process.env, WFX_HOME: home },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  child.stdout?.resume();
  t.teardown(() => child.kill('SIGKILL'));
  return child;
}
const message = (child: ChildProcess): Promise<Ready> =>
  new Promise((resolve) => child.once('message', (told) => resolve(told as Ready)));
const exited = (child: ChildProcess): Promise<number | null> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve(child.exitCode)
    : new Promise((resolve) => child.once('exit', (code) => resolve(code)));

async function daemon(t: Test, home: string, ...flags: string[]): Promise<Running> {
  const child = spawned(t, home, flags);
  const { ready, url, error } = await message(child);
  if (!ready) throw new Error(error?.message);
  const key = (await readCredential('admin', home)) ?? '';
  return { child, url, key, exit: () => exited(child) };
}

/** A daemon that does not start: what it says to its starter and on stderr, and its exit code. */
async function refused(t: Test, home: string, ...flags: string[]) {
  const child = spawned(t, home, flags);
  const stderr = text(child.stderr as NodeJS.ReadableStream);
  const { error } = await message(child);
  const code = await exited(child);
  return { code, told: error, stderr: await stderr };
}

const call = async ({ url, key }: Running, path: string, body?: unknown, type = 'application/json') => {
  const sent = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': type }) },
    ...(body === undefined ? {} : { body: sent }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
  return { status: answer.status, body: (await answer.json()) as any };
};

t.test('a daemon that starts', async (t) => {
  const home = tempFolder(t);
  const running = await daemon(t, home);

  t.test('says where it is, to its starter and in daemon.json', async (t) => {
    const about = JSON.parse(readFileSync(join(home, 'daemon.json'), 'utf8'));
    t.match(about, { pid: running.child.pid, url: running.url, version: /^\d/, startedAt: /Z$/, dataDir: home });
    const { version, daemonId } = about;
    t.match((await call(running, '/health/live')).body, { version, daemonId });
  });

  t.test('runs flows, and counts them', async (t) => {
    t.equal((await call(running, '/process/publish', shortFlow(), 'application/yaml')).status, 200);
    t.equal((await call(running, '/process/exec', { processId: SHORT })).status, 200);
    const metrics = await (await fetch(`${running.url}/metrics`, { headers: { 'x-api-key': running.key } })).text();
    for (const line of ['wfx_commands_total', 'wfx_journal_frames_total', 'process_resident_memory_bytes'])
      t.match(metrics, new RegExp(`^# TYPE ${line} (counter|gauge)\n${line} [0-9.e+]+$`, 'm'));
    t.match(metrics, /^wfx_http_requests_total\{method="POST",status="200"\} 2$/m);
  });

  t.test('refuses a second one in the same folder, naming the first', async (t) => {
    const { code, told, stderr } = await refused(t, home);
    t.equal(code, 1);
    t.match(told, { code: 'LOCKED', message: String(running.child.pid) });
    t.match(stderr, told?.message);
    t.equal((await call(running, '/health/live')).status, 200, 'which goes on');
  });

  t.test('stops on SIGTERM: exit 0, daemon.json gone', async (t) => {
    running.child.kill('SIGTERM');
    t.equal(await running.exit(), 0);
    t.notOk(existsSync(join(home, 'daemon.json')));
  });
});

t.test('what was acknowledged is there after kill -9, and the folder is free', async (t) => {
  const home = tempFolder(t);
  const first = await daemon(t, home);
  await call(first, '/process/publish', waitingFlow(), 'application/yaml');
  const { body } = await call(first, '/process/exec', { processId: WAITING });
  const lost = (await call(first, '/admin/keys', { name: 'lost', roles: ['viewer'] })).body;
  const revoked = { method: 'PATCH', headers: { 'x-api-key': first.key, 'content-type': 'application/json' } };
  const { status } = await fetch(`${first.url}/admin/keys/${lost.keyId}`, {
    ...revoked,
    body: '{"status":"REVOKED"}',
  });
  t.equal(status, 200);
  first.child.kill('SIGKILL');
  await first.exit();
  t.ok(existsSync(join(home, 'daemon.json')), 'left behind');
  const second = await daemon(t, home);
  t.equal((await call(second, `/process/instance/${body.processInstanceId}`)).body.stateCd, 0);
  t.equal((await call({ ...second, key: lost.key }, '/process/list')).status, 401, 'what was revoked stays so');
  const task = {
    processInstanceId: body.processInstanceId,
    nodeId: 'ask',
    action: 'COMPLETE',
    data: { inputValue: 'x' },
  };
  t.equal((await call(second, '/process/task', task)).status, 200);
});

/** A request whose body is still to come: the daemon has seen its headers, and said so (100 Continue). */
async function begunRequest(t: Test, running: Running, length: number): Promise<Socket> {
  const socket = connect(Number(new URL(running.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  const headers = ['Host: 127.0.0.1', `X-API-Key: ${running.key}`, 'Connection: close', 'Expect: 100-continue'];
  const content = ['Content-Type: application/json', `Content-Length: ${length}`];
  socket.write(`${['POST /process/exec HTTP/1.1', ...headers, ...content].join('\r\n')}\r\n\r\n`);
  await once(socket, 'readable');
  t.match(String(socket.read()), /^HTTP\/1.1 100 /);
  return socket;
}

t.test('stopping finishes what is under way, ends streams, and takes nothing new', async (t) => {
  const home = tempFolder(t);
  const running = await daemon(t, home);
  await call(running, '/process/publish', waitingFlow(), 'application/yaml');
  const started = (await call(running, '/process/exec', { processId: WAITING })).body.processInstanceId;
  const logs = await fetch(`${running.url}/process/instance/${started}/logs`, {
    headers: { 'x-api-key': running.key },
  });
  const body = JSON.stringify({ processId: WAITING });
  const half = await begunRequest(t, running, body.length);
  const answered = text(half);
  const many = Array.from({ length: 100 }, () =>
    call(running, '/process/exec', { processId: WAITING }).catch(() => undefined),
  );
  await many[0];
  running.child.kill('SIGTERM');
  await text(logs.body as unknown as NodeJS.ReadableStream);
  half.write(body);
  t.match(await answered, /^HTTP\/1.1 200 /, 'a request that had begun');
  const accepted = (await Promise.all(many)).filter((answer) => answer?.status === 200);
  t.equal(await running.exit(), 0);

  const again = await daemon(t, home);
  const ids = new Set<string>();
  for (let cursor = ''; ; ) {
    const page = (await call(again, `/process/instances?limit=500&cursor=${cursor}`.replace(/&cursor=$/, ''))).body;
    for (const item of page.items) ids.add(item.processInstanceId);
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  t.ok(
    accepted.every((answer) => ids.has(answer?.body.processInstanceId)),
    'all that was answered 200 is there',
  );
});

t.test('a second signal ends it at once', async (t) => {
  const running = await daemon(t, tempFolder(t));
  await begunRequest(t, running, 9);
  const stopping = new Promise<void>((resolve) => {
    running.child.stdout?.on('data', (part) => String(part).includes('stopping') && resolve());
  });
  running.child.kill('SIGTERM');
  await stopping;
  running.child.kill('SIGTERM');
  t.equal(await running.exit(), 1);
});

t.test('what keeps a daemon from starting is one sentence', async (t) => {
  const sentence = /^wfx daemon: [^\n]+[.]\n$/;

  t.test('a port in use', async (t) => {
    const other = createServer().listen(0, '127.0.0.1');
    t.teardown(() => other.close());
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as { port: number };
    const { code, told, stderr } = await refused(t, tempFolder(t), '--port', String(port));
    t.equal(code, 1);
    t.match(told, { code: 'EADDRINUSE', message: String(port) });
    t.match(stderr, sentence);
  });

  t.test('a data folder that is none, or damaged', async (t) => {
    const home = tempFolder(t, { file: 'x', bad: {} });
    const blocked = await refused(t, home, '--data-dir', join(home, 'file'));
    t.equal(blocked.code, 1);
    t.match(blocked.stderr, sentence);
    const bad = join(home, 'bad');
    const running = await daemon(t, home, '--data-dir', bad);
    running.child.kill('SIGTERM');
    await running.exit();
    const [segment = ''] = readdirSync(join(bad, 'journal')).filter((name) => name.endsWith('.log'));
    const path = join(bad, 'journal', segment);
    writeFileSync(path, Buffer.alloc(statSync(path).size, 'x'));
    const damaged = await refused(t, home, '--data-dir', bad);
    t.equal(damaged.code, 1);
    t.match(damaged.stderr, path);
  });

  t.test('a data folder that everybody may write to', async (t) => {
    const home = tempFolder(t);
    chmodSync(home, 0o777);
    const { code, told, stderr } = await refused(t, home);
    t.equal(code, 1);
    t.match(told, { code: 'OPEN_TO_ALL', message: `chmod 700 ${home}` });
    t.match(stderr, sentence);
    t.strictSame(readdirSync(home), [], 'nothing was put there');
  });

  t.test('a wrong flag: exit 2', async (t) => {
    const { code, told, stderr } = await refused(t, tempFolder(t), '--host', '0.0.0.0');
    t.equal(code, 2);
    t.equal(told?.code, 'USAGE');
    t.match(stderr, sentence);
  });
});

t.test('--ready-fd gets one line of JSON', async (t) => {
  const home = tempFolder(t);
  const child = spawn(process.execPath, [DAEMON, '--port', '0', '--ready-fd', '3'], {
    env: { ...process.env, WFX_HOME: home },
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const line = await new Promise<string>((resolve) => {
    (child.stdio[3] as NodeJS.ReadableStream).once('data', (part) => resolve(String(part)));
  });
  t.match(line, /^\{.*\}\n$/);
  t.match(JSON.parse(line), { ready: true, url: /^http:/, pid: child.pid });
});

t.test('configuration', async (t) => {
  const home = tempFolder(t);
  const config = (args: readonly string[] = [], env = {}) => readConfig(args, { WFX_HOME: home, ...env });
  const settings = (value: unknown) => {
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'settings.json'), typeof value === 'string' ? value : JSON.stringify(value));
  };

  t.test('what is built in, then the settings file, then variables, then flags', async (t) => {
    t.match(config(), { dataDir: home, host: '127.0.0.1', port: 7117, allowCommands: false, maxBodyBytes: 1_048_576 });
    settings({ port: 1234, allowCommands: true, work: { maxConcurrent: 3 } });
    t.match(config(), { port: 1234, allowCommands: true, work: { maxConcurrent: 3 } });
    t.equal(config([], { WFX_ALLOW_COMMANDS: '0' }).allowCommands, false);
    t.equal(config(['--allow-commands'], { WFX_ALLOW_COMMANDS: '0' }).allowCommands, true);
    t.match(config(['--port', '0', '--data-dir', '/x']), { port: 0, dataDir: '/x' });
  });

  t.test('what is wrong is named', async (t) => {
    const wrong: [unknown, RegExp][] = [
      ['{', /settings\.json is not JSON/],
      [{ prot: 1 }, /prot is not a field here.*settings\.json/],
      [{ port: '7117' }, /port must be an integer/],
      [[], /must be an object/],
      [{ host: '0.0.0.0' }, /--insecure/],
    ];
    for (const [value, expected] of wrong) {
      settings(value);
      t.throws(() => config(), { name: UsageError.name, message: expected });
    }
    settings({});
    t.throws(() => config([], { WFX_ALLOW_COMMANDS: 'maybe' }), UsageError);
    for (const flags of [['--port', 'x'], ['--port', '70000'], ['--what'], ['extra'], ['--host', '0.0.0.0']])
      t.throws(() => config(flags), { name: UsageError.name, message: /[^.]\.$/ }, flags.join(' '));
    t.equal(config(['--host', '0.0.0.0', '--insecure']).host, '0.0.0.0');
  });
});

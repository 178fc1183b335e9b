import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import type { Outcome, Work, WorkItem } from '../../src/daemon/ports.ts';
import { createAddressPolicy } from '../../src/daemon/work/addresses.ts';
import { createWork, type WorkSettings } from '../../src/daemon/work/index.ts';
import { createMask } from '../../src/daemon/work/mask.ts';
import type { Json, JsonObject } from '../../src/engine/json.ts';
import { tempFolder } from '../folder.ts';

interface Bench {
  readonly work: Work;
  readonly errors: unknown[];
  /** Runs one item to its outcome. */
  run(kind: WorkItem['kind'], input: JsonObject, changes?: Partial<WorkItem>): Promise<Outcome>;
  value(kind: WorkItem['kind'], input: JsonObject): Promise<Json>;
  /** The error of an item that has to fail. */
  error(kind: WorkItem['kind'], input: JsonObject): Promise<{ code: string; message: string }>;
}

function bench(test: Test, settings: Partial<WorkSettings> = {}, secrets: readonly string[] = []): Bench {
  const errors: unknown[] = [];
  const work = createWork({
    settings: { allowCommands: true, ...settings },
    environment: () => ({ values: (name) => (name === 'TOKEN' ? secrets[0] : undefined), secrets }),
    log: { error: (fields) => errors.push(fields) },
  });
  test.teardown(() => work.close());
  let count = 0;
  const run: Bench['run'] = (kind, input, changes) =>
    new Promise((resolve) => {
      count += 1;
      work.start(item(kind, input, { activation: count, ...changes }), resolve);
    });
  return {
    work,
    errors,
    run,
    async value(kind, input) {
      const outcome = await run(kind, input);
      if (!outcome.ok) throw new Error(`${outcome.error.code}: ${outcome.error.message}`);
      return outcome.value;
    },
    async error(kind, input) {
      const outcome = await run(kind, input);
      if (outcome.ok) throw new Error(`no error but ${JSON.stringify(outcome.value).slice(0, 200)}`);
      return outcome.error;
    },
  };
}

function item(kind: WorkItem['kind'], input: JsonObject, changes: Partial<WorkItem> = {}): WorkItem {
  return {
    instanceId: 'i1',
    nodeId: 'n1',
    activation: 1,
    attempt: 1,
    idempotencyKey: 'i1:n1:1',
    organizationId: 'default',
    environment: 'DEVELOPMENT',
    processId: 'p1',
    kind,
    prepare: () => ({ input, warnings: [] }),
    progress: [],
    record: async () => undefined,
    ...changes,
  };
}

async function serve(test: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  test.teardown(() => closed(server));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

/** What the echo server makes of a request. */
interface Echoed {
  readonly [key: string]: unknown;
  readonly headers: IncomingMessage['headers'];
}

/** A server that answers with what it was asked. */
const echo: RequestListener = async (request, response) => {
  const answer = { method: request.method, url: request.url, headers: request.headers, body: await bodyOf(request) };
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(answer));
};

/** Resolves when `condition` holds; the test's own time limit ends it otherwise. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}

const node = (code: string): string[] => [process.execPath, '-e', code];
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    // A killed process whose parent is gone may stay as a zombie until the system's first process looks.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

t.test('work runs in order of its start, bounded, and tells its outcome once and later', async (t) => {
  const waiting: (() => void)[] = [];
  const order: string[] = [];
  const url = await serve(t, (request, response) => {
    order.push(request.url ?? '');
    waiting.push(() => response.end());
  });
  const { work } = bench(t, { maxConcurrent: 2 });
  const done: number[] = [];
  for (let n = 1; n <= 4; n += 1)
    work.start(item('http', { url: `${url}/${n}` }, { activation: n }), () => done.push(n));
  t.same(done, [], 'start never calls done itself');
  t.equal(work.queued, 4);
  await until(() => waiting.length === 2);
  t.equal(work.running, 2);
  t.equal(work.queued, 2);
  t.same([...order].sort(), ['/1', '/2']);
  for (let n = 0; n < 4; n += 1) {
    await until(() => waiting.length > n);
    waiting[n]?.();
  }
  await until(() => done.length === 4);
  t.same([...done].sort(), [1, 2, 3, 4]);
  await until(() => work.running === 0);
  t.equal(work.queued, 0);
});

t.test('an aborted activation never tells an outcome, waiting or running', async (t) => {
  const requests: IncomingMessage[] = [];
  const url = await serve(t, (request) => requests.push(request));
  const { work } = bench(t, { maxConcurrent: 1 });
  work.start(item('http', { url }, { activation: 1 }), () => t.fail('told after an abort'));
  work.start(item('http', { url }, { activation: 2 }), () => t.fail('told after an abort'));
  await until(() => requests.length === 1);
  work.abort('i1', 2);
  t.equal(work.queued, 0);
  const gone = once(requests[0]?.socket as NodeJS.EventEmitter, 'close');
  work.abort('i1', 1);
  work.abort('i1', 99);
  await gone;
  await until(() => work.running === 0);
  t.equal(requests.length, 1);
});

t.test('an activation that starts again replaces its older attempt', async (t) => {
  const url = await serve(t, (request, response) => {
    if (request.url !== '/first') response.end();
  });
  const { work } = bench(t);
  work.start(item('http', { url: `${url}/first` }), () => t.fail('the replaced attempt told'));
  await until(() => work.running === 1);
  const outcome = await new Promise<Outcome>((resolve) => work.start(item('http', { url }, { attempt: 2 }), resolve));
  t.equal(outcome.ok, true);
});

t.test('close aborts all work, tells nothing any more and resolves', async (t) => {
  const url = await serve(t, () => undefined);
  const { work } = bench(t, { maxConcurrent: 2 });
  const inputs: [WorkItem['kind'], JsonObject][] = [
    ['http', { url }],
    ['script', { script: 'for (;;) {}', variables: {} }],
    ['http', { url }],
  ];
  for (const [n, [kind, input]] of inputs.entries())
    work.start(item(kind, input, { activation: n }), () => t.fail('told after close'));
  await until(() => work.running === 2);
  await work.close();
  t.equal(work.running, 0);
  work.start(item('http', { url }), () => t.fail('started after close'));
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(work.queued, 0);
});

t.test('templates are resolved when the work begins; their errors and warnings reach the outcome', async (t) => {
  const { run, errors } = bench(t, {}, ['top-secret']);
  const url = await serve(t, echo);
  const prepared = await run(
    'http',
    {},
    {
      prepare: (env) => ({
        input: { url, headers: { 'x-token': env('TOKEN') as string } },
        warnings: ['{a} has no value'],
      }),
    },
  );
  t.match(prepared, { ok: true, logs: [{ level: 'WARN', message: '{a} has no value' }] });
  t.notMatch(JSON.stringify(prepared), 'top-secret', 'what the server echoes is masked');
  t.match(JSON.stringify(prepared), '"x-token":"***"');
  const failing = await run(
    'http',
    {},
    {
      prepare: (env) => {
        throw Object.assign(new Error(`no good: ${String(env('TOKEN'))}`), { code: 'EXPRESSION_ERROR' });
      },
    },
  );
  t.match(failing, { ok: false, error: { code: 'EXPRESSION_ERROR', message: 'no good: ***' } });
  t.same(errors, [], "a flow's own errors are not the daemon's");
  const broken = await run(
    'http',
    {},
    {
      prepare: () => {
        throw new Error('top-secret mistake');
      },
    },
  );
  t.match(broken, { ok: false, error: { code: 'WORK_FAILED' } });
  t.equal(errors.length, 1);
  t.notMatch(JSON.stringify(errors), 'top-secret');
});

t.test('a text that is cut is masked before: half a secret is not recognised any more', async (t) => {
  const secret = 'spring  and-autumn-leaves';
  const { error } = bench(t, { allowCommands: true }, [secret]);
  const said = (before: number): string => `${'x'.repeat(before)}${secret}${'y'.repeat(600)}`;
  const url = await serve(t, (_, response) => {
    response.statusCode = 401;
    response.end(said(190));
  });
  const failures = [
    await error('http', { url }),
    await error('http', { url: `no-url ${said(180)}` }),
    await error('command', {
      command: node(`console.error(${JSON.stringify(said(600).slice(0, 625 + 490))}); process.exit(1)`),
    }),
  ];
  t.match(failures, [{ code: 'HTTP_401' }, { code: 'HTTP_BAD_URL' }, { code: 'COMMAND_FAILED' }]);
  for (const { message } of failures) t.notMatch(message, /spring|leaves|autumn/, message);
});

t.test('a kind of work that is not there is a clear error', async (t) => {
  const { error } = bench(t);
  t.match(await error('unknown' as WorkItem['kind'], {}), { code: 'WORK_NOT_AVAILABLE', message: /'unknown'/ });
});

t.test('secrets are masked in every form that they come back in', (t) => {
  const secret = 'p@ss/w"ord+1 é';
  const mask = createMask([secret, '12345678', 'ab', 'line one is long enough\nline two is long enough']);
  const forms = [
    secret,
    encodeURIComponent(secret),
    encodeURIComponent(secret).toLowerCase(),
    new URLSearchParams({ secret }).toString(),
    JSON.stringify({ secret }),
    Buffer.from(secret).toString('base64'),
    Buffer.from(secret).toString('base64url'),
    ...['a:', 'ab:', 'abc:'].map((user) => `Basic ${Buffer.from(user + secret + user).toString('base64')}`),
    'printed: line two is long enough',
    'https://api.example/p@ss/w%22ord+1%20%C3%A9?x',
    secret.replaceAll('/', '\\/').replaceAll('"', '\\"').replace('é', '\\u00e9'),
    secret.replace('"', '&quot;'),
    secret.replace('"', '&#34;'),
    Buffer.from(secret).toString('hex'),
    secret.toUpperCase(),
  ];
  for (const form of forms) {
    const masked = mask.text(form);
    t.match(masked, '***', form);
    for (const piece of ['ss/w', 'w%22', 'c3Mvd', 'Bzcy93', 'wYXNzL', '70407373', 'SS/W', 'two is'])
      t.notMatch(masked, piece, form);
  }
  t.same(mask.value({ [secret]: [12345678, 5, { a: `x${secret}y` }], short: 'ab', word: 'about' }), {
    '***': ['***', 5, { a: 'x***y' }],
    short: '***',
    word: 'about',
  });
  t.equal(createMask(['']).text('abc'), 'abc', 'an empty secret masks nothing');
  t.same(createMask(['zzzz']).value(JSON.parse('{"__proto__":{"a":1}}')), JSON.parse('{"__proto__":{"a":1}}'));
  t.end();
});

t.test('HTTP: requests', async (t) => {
  const url = await serve(t, echo);
  const { value, error } = bench(t);
  const asked = async (request: JsonObject): Promise<Echoed> => {
    const answer = (await value('http', request)) as unknown as { status: number; body: Echoed };
    t.equal(answer.status, 200);
    return answer.body;
  };

  t.match(await asked({ url: `${url}/a?b=1`, query: { c: ['x', 'y z'], d: 2, e: null, f: true } }), {
    method: 'GET',
    url: '/a?b=1&c=x&c=y+z&d=2&f=true',
    headers: { 'idempotency-key': 'i1:n1:1', 'user-agent': 'wfx' },
    body: '',
  });
  t.match(await asked({ method: 'post', url, body: { a: ['ü'] } }), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': '12' },
    body: '{"a":["ü"]}',
  });
  const form = {
    method: 'PUT',
    url,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: { a: 'b c', d: [1, 2] },
  };
  t.match(await asked(form), { body: 'a=b+c&d=1&d=2' });
  t.match(await asked({ method: 'POST', url, body: 'plain' }), {
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: 'plain',
  });
  t.match(await asked({ method: 'POST', url, headers: { 'content-type': 'application/xml' }, body: '<a/>' }), {
    headers: { 'content-type': 'application/xml' },
  });
  t.match(await asked({ method: 'POST', url }), { headers: { 'content-length': '0' } });
  t.match(await asked({ url, headers: { 'Idempotency-Key': 'mine', 'X-N': 5 } }), {
    headers: { 'idempotency-key': 'mine', 'x-n': '5' },
  });
  t.match(await asked({ url: url.replace('//', '//us%40er:p%3Aw@') }), {
    headers: { authorization: `Basic ${Buffer.from('us@er:p:w').toString('base64')}` },
  });

  for (const bad of ['file:///etc/passwd', 'gopher://127.0.0.1/', 'no url', '', 'javascript:1', 'HTTP:'])
    t.match(await error('http', { url: bad }), { code: 'HTTP_BAD_URL', message: /node 'n1'/ }, bad);
  t.match(await error('http', { method: 'CONNECT', url }), { code: 'HTTP_BAD_METHOD' });
  t.match(await error('http', { method: 'GET /x HTTP/1.1\r\n', url }), { code: 'HTTP_BAD_METHOD' });
  for (const [name, content] of [
    ['X-A', 'a\r\nX-B: c'],
    ['X-A', 'a\nb'],
    ['X-A', 'a\0'],
    ['X-A', '€'],
    ['X A', 'b'],
    ['X-A\n', 'b'],
    ['Transfer-Encoding', 'chunked'],
  ])
    t.match(await error('http', { url, headers: { [name as string]: content as string } }), {
      code: 'HTTP_BAD_HEADER',
      message: JSON.stringify(name),
    });
});

t.test('HTTP: answers', async (t) => {
  const answers: Record<string, [string | undefined, string | Buffer, Record<string, string>?]> = {
    '/json': ['application/json; charset=utf-8', '{"a":1,"__proto__":{"b":2}}'],
    '/problem': ['application/problem+json', '[1]'],
    '/broken': ['application/json', '{"a":'],
    '/empty-json': ['application/json', ''],
    '/text': ['text/html', '<é>'],
    '/latin': ['text/plain; charset=iso-8859-1', Buffer.from('é', 'latin1')],
    '/untyped': [undefined, 'as it is'],
    '/bytes': ['image/png', Buffer.from([0, 255, 1])],
    '/gzip': ['application/json', gzipSync('{"zip":true}'), { 'content-encoding': 'gzip' }],
    '/bomb': ['text/plain', gzipSync(Buffer.alloc(20_000_000)), { 'content-encoding': 'gzip' }],
    '/torn': ['text/plain', gzipSync('hello').subarray(0, 12), { 'content-encoding': 'gzip' }],
    '/max': ['text/plain', 'x'.repeat(4 * 1024 * 1024)],
    '/large': ['text/plain', 'x'.repeat(4 * 1024 * 1024 + 1)],
    '/deep': ['application/json', '['.repeat(20_000) + ']'.repeat(20_000)],
  };
  const url = await serve(t, (request, response) => {
    if (request.url === '/endless') {
      const more = (): void =>
        void (response.write(Buffer.alloc(65536)) ? setImmediate(more) : response.once('drain', more));
      response.on('close', () => endlessClosed());
      return more();
    }
    if (request.url?.startsWith('/status')) {
      response.writeHead(Number(request.url.slice(7, 10)), { 'content-type': 'text/plain' });
      return void response.end('why\nnot? '.repeat(100));
    }
    const [type, body, headers] = answers[request.url ?? ''] ?? [undefined, ''];
    if (type !== undefined) response.setHeader('content-type', type);
    for (const [name, value] of Object.entries(headers ?? {})) response.setHeader(name, value);
    response.setHeader('set-cookie', ['a=1', 'b=2']);
    response.end(body);
  });
  let endlessClosed = (): void => undefined;
  const { value, error, run } = bench(t);
  const body = async (path: string): Promise<Json> =>
    ((await value('http', { url: url + path })) as JsonObject)['body'] as Json;

  const json = (await value('http', { url: `${url}/json` })) as JsonObject;
  t.match(json, {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', 'set-cookie': ['a=1', 'b=2'] },
  });
  t.equal(JSON.stringify(json['body']), '{"a":1,"__proto__":{"b":2}}');
  t.equal(Object.getPrototypeOf(json['headers']), null);
  t.same(await body('/problem'), [1]);
  t.equal(await body('/empty-json'), null);
  t.equal(await body('/text'), '<é>');
  t.equal(await body('/latin'), 'é');
  t.equal(await body('/untyped'), 'as it is');
  t.equal(await body('/bytes'), 'AP8B');
  t.same(await body('/gzip'), { zip: true });
  t.equal(((await body('/max')) as string).length, 4 * 1024 * 1024);
  t.match(await run('http', { url: `${url}/broken` }), {
    ok: true,
    value: { body: '{"a":' },
    logs: [{ level: 'WARN', message: /not the JSON/ }],
  });
  t.match(await value('http', { method: 'HEAD', url: `${url}/gzip` }), { status: 200 });
  t.match(await value('http', { url: `${url}/status304` }), { status: 304, body: '' });
  t.match(await value('http', { url: `${url}/status302` }), { status: 302 }, 'a redirect to nowhere is an answer');

  for (const path of ['/large', '/bomb'])
    t.match(await error('http', { url: url + path }), { code: 'HTTP_RESPONSE_TOO_LARGE' }, path);
  const closedEarly = new Promise<void>((resolve) => {
    endlessClosed = resolve;
  });
  t.match(await error('http', { url: `${url}/endless` }), { code: 'HTTP_RESPONSE_TOO_LARGE' });
  await closedEarly;
  t.match(await error('http', { url: `${url}/torn` }), { code: 'HTTP_BAD_RESPONSE' });
  t.match(await error('http', { url: `${url}/deep` }), { code: 'RESULT_TOO_DEEP' });
  const failed = await error('http', {
    method: 'POST',
    url: `${url.replace('//', '//user:pass@')}/status503?token=abc`,
  });
  t.equal(failed.code, 'HTTP_503');
  t.match(failed.message, `POST ${url}/status503?… answered 503 Service Unavailable: why not? why not?`);
  t.notMatch(failed.message, /token|pass|\n/);
  t.ok(failed.message.length < 300);
});

t.test('HTTP: servers that are not there', async (t) => {
  const rude = createTcpServer((socket) => socket.once('data', () => socket.destroy()));
  const odd = createTcpServer((socket) => socket.on('error', () => undefined).end('SSH-2.0-OpenSSH\r\n'));
  for (const server of [rude, odd]) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => server.close());
  }
  const at = (server: { address(): unknown }): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const unused = createTcpServer().listen(0, '127.0.0.1');
  await once(unused, 'listening');
  const refused = at(unused);
  await new Promise((resolve) => unused.close(resolve));

  const { error } = bench(t);
  t.match(await error('http', { url: refused }), { code: 'HTTP_UNREACHABLE', message: /refused/ });
  t.match(await error('http', { url: 'http://no-such-host.invalid/' }), {
    code: 'HTTP_UNREACHABLE',
    message: /host name/,
  });
  t.match(await error('http', { url: at(rude) }), { code: 'HTTP_UNREACHABLE', message: /broke/ });
  t.match(await error('http', { url: at(odd) }), { code: 'HTTP_BAD_RESPONSE' });
  t.match(await error('http', { url: at(odd).replace('http:', 'https:') }), { code: 'HTTP_UNREACHABLE' });
});

t.test('HTTP: a kept connection that the server closed meanwhile is no error', async (t) => {
  let connections = 0;
  const server = createTcpServer((socket) => {
    connections += 1;
    let requests = 0;
    socket.on('error', () => undefined);
    socket.on('data', () => {
      requests += 1;
      if (requests > 1) socket.resetAndDestroy();
      else socket.write('HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { value } = bench(t);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.match(await value('http', { url }), { body: 'ok' });
  t.match(await value('http', { method: 'POST', url, body: 'x' }), { body: 'ok' });
  t.equal(connections, 2);
});

t.test('HTTP: redirects', async (t) => {
  const other = await serve(t, echo);
  const url = await serve(t, (request, response) => {
    const [, status, target] = /^\/(\d+)(.*)$/.exec(request.url ?? '') ?? [];
    if (status === undefined) return echo(request, response);
    response.writeHead(Number(status), { location: target === '/other' ? `${other}/there` : (target as string) });
    response.end();
  });
  const { value, error } = bench(t);
  const asked = async (path: string, changes: JsonObject = {}): Promise<Echoed> => {
    const headers = { 'X-Api-Key': 'k', Authorization: 'a' };
    const answer = await value('http', { method: 'POST', body: { a: 1 }, headers, ...changes, url: url + path });
    return (answer as unknown as { body: Echoed }).body;
  };

  for (const status of [301, 302, 303]) {
    const got = await asked(`/${status}/here`);
    t.match(
      got,
      { method: 'GET', url: '/here', body: '', headers: { 'x-api-key': 'k', authorization: 'a' } },
      String(status),
    );
    t.notOk('content-type' in got.headers);
  }
  for (const status of [307, 308])
    t.match(await asked(`/${status}/here`), {
      method: 'POST',
      url: '/here',
      body: '{"a":1}',
      headers: { 'content-type': 'application/json' },
    });
  t.match(await asked('/301/here', { method: 'PUT' }), { method: 'PUT', body: '{"a":1}' });
  const away = await asked('/307/other');
  t.match(away, {
    method: 'POST',
    url: '/there',
    headers: { 'idempotency-key': 'i1:n1:1', 'content-type': 'application/json' },
  });
  t.notOk('x-api-key' in away.headers || 'authorization' in away.headers, 'credentials stay at their origin');
  t.match(await asked(`${'/302'.repeat(5)}/here`), { url: '/here' });
  t.match(await error('http', { url: `${url}${'/302'.repeat(6)}/here` }), { code: 'HTTP_TOO_MANY_REDIRECTS' });
  t.match(await error('http', { url: `${url}/302file:///etc/passwd` }), { code: 'HTTP_BAD_URL' });
  t.match(await error('http', { url: `${url}/302http://169.254.169.254/latest/` }), { code: 'HTTP_ADDRESS_REFUSED' });
});

t.test('HTTP: addresses that are refused, however they are written', async (t) => {
  const { error } = bench(t, { httpDeny: ['10.0.0.0/8'] });
  const refused = [
    '169.254.169.254',
    '0xa9fea9fe',
    '2852039166',
    '0251.0376.0251.0376',
    '169.254.43518',
    '[::ffff:169.254.169.254]',
    '[::ffff:a9fe:a9fe]',
    '[64:ff9b::169.254.169.254]',
    '[fe80::1]',
    '[febf::1]',
    '[fd00:ec2::254]',
    '100.100.100.200',
    '10.1.2.3',
    '[::ffff:10.1.2.3]',
  ];
  for (const host of refused)
    t.match(await error('http', { url: `http://${host}:1/` }), { code: 'HTTP_ADDRESS_REFUSED' }, host);

  const policy = createAddressPolicy(['127.0.0.0/8', '::1']);
  const looked = (all: boolean) =>
    new Promise((resolve) => policy.lookup('localhost', { all }, (error, addresses) => resolve(error ?? addresses)));
  t.match(
    await looked(true),
    { code: 'HTTP_ADDRESS_REFUSED', message: /localhost \(/ },
    'a name is judged by its addresses',
  );
  t.match(await looked(false), { code: 'HTTP_ADDRESS_REFUSED' });
  const strict = bench(t, { httpDeny: ['127.0.0.0/8', '::1'] });
  t.match(await strict.error('http', { url: 'http://localhost:1/' }), { code: 'HTTP_ADDRESS_REFUSED' });

  const open = createAddressPolicy([]);
  for (const host of ['127.0.0.1', '[::1]', '192.168.1.1', '10.0.0.1', '169.253.255.255', 'example.com'])
    open.check(host);
  for (const bad of ['10.0.0.0/33', '10.0.0/8', 'example.com', '', '10.0.0.0/', 'fe80::/129'])
    t.throws(() => createAddressPolicy([bad]), /httpDeny/, bad);
});

t.test('commands: arguments, environment and result', async (t) => {
  process.env['WFX_TEST_PARENT_SECRET'] = 'not for commands';
  t.teardown(() => delete process.env['WFX_TEST_PARENT_SECRET']);
  const { value, run } = bench(t, {}, ['hush-hush']);
  const show = 'console.log(JSON.stringify({ args: process.argv.slice(1), env: process.env, cwd: process.cwd() }))';
  const folder = tempFolder(t);
  const result = (await value('command', {
    command: [...node(show), '--', 'a b; $(rm -rf /)', { x: 1 }, 5, ''],
    environment: { TOKEN: 'hush-hush', N: 7, NOTHING: null },
    cwd: folder,
  })) as unknown as { exitCode: number; json: { args: string[]; env: Record<string, string>; cwd: string } };
  const { args, env, cwd } = result.json;
  t.same(args, ['a b; $(rm -rf /)', '{"x":1}', '5', '']);
  t.equal(cwd, folder);
  t.equal(result.exitCode, 0);
  const given = { TOKEN: '***', N: '7', WFX_IDEMPOTENCY_KEY: 'i1:n1:1', WFX_INSTANCE_ID: 'i1', WFX_NODE_ID: 'n1' };
  t.match(env, given);
  const allowed = new Set(['PATH', 'HOME', 'LANG', 'TMPDIR', ...Object.keys(given)]);
  t.same(
    // What tap puts into every process that a test starts is not wfx's doing.
    Object.keys(env).filter((name) => !allowed.has(name) && !/^_TAPJS_|^NODE_OPTIONS$/.test(name)),
    [],
  );

  const cat = node('process.stdin.pipe(process.stdout)');
  t.match(await value('command', { command: cat, stdin: { a: ['\u0000ü'] } }), { json: { a: ['\u0000ü'] } });
  t.same(await value('command', { command: cat, stdin: 'two\nlines\n\n' }), {
    exitCode: 0,
    stdout: 'two\nlines\n',
    stderr: '',
  });
  t.same(
    await value('command', { command: cat }),
    { exitCode: 0, stdout: '', stderr: '' },
    'without stdin it is empty',
  );
  t.match(
    await value('command', { command: node(''), stdin: 'x'.repeat(5_000_000) }),
    { exitCode: 0 },
    'a command need not read',
  );

  const noisy = await run('command', {
    command: node('process.stdout.write("é".repeat(1e6)); process.stderr.write("é".repeat(1e6) + "end\\n")'),
  });
  const { stdout, stderr } = (noisy.ok ? noisy.value : {}) as { stdout: string; stderr: string };
  t.match(stdout, /^é{524288}$/);
  t.match(stderr, /^é{524286}end$/);
  t.match(noisy.logs, [
    { level: 'WARN', message: /951424 bytes of stdout/ },
    { level: 'WARN', message: /bytes of stderr/ },
  ]);
});

t.test('commands: a flood of output hurts nobody', async (t) => {
  const { run } = bench(t);
  const before = process.memoryUsage.rss();
  const outcome = await run('command', { command: ['head', '-c', '1000000000', '/dev/zero'] });
  t.equal(outcome.ok, true);
  t.ok(process.memoryUsage.rss() - before < 300_000_000);
});

t.test('commands: errors', async (t) => {
  const { error } = bench(t);
  const sh = (script: string): JsonObject => ({ command: ['sh', '-c', script] });
  t.match(await error('command', sh('echo one >&2; echo two >&2; exit 7')), {
    code: 'COMMAND_FAILED',
    message: /exit code 7: one\ntwo$/,
  });
  t.match(await error('command', sh('echo said; exit 137')), {
    code: 'COMMAND_FAILED',
    message: /exit code 137: said$/,
  });
  t.match(await error('command', sh('kill -9 $$')), { code: 'COMMAND_FAILED', message: /SIGKILL/ });
  t.match(await error('command', { command: ['wfx-no-such-program'] }), {
    code: 'COMMAND_NOT_FOUND',
    message: /wfx-no-such-program/,
  });
  t.match(await error('command', { command: [tempFolder(t)] }), { code: 'COMMAND_NOT_FOUND' });
  for (const input of [
    { command: [] },
    { command: 'ls' },
    { command: ['ls', 'a\0b'] },
    { command: ['ls'], cwd: '/no/such/folder' },
    { command: ['ls'], environment: { 'A=B': 'c' } },
  ])
    t.match(await error('command', input), { code: 'COMMAND_INVALID', message: /node 'n1'/ }, JSON.stringify(input));
  const closed = bench(t, { allowCommands: false });
  t.match(await closed.error('command', { command: ['ls'] }), {
    code: 'COMMANDS_DISABLED',
    message: /wfx daemon start --allow-commands.*WFX_ALLOW_COMMANDS=1/,
  });
});

t.test('commands: what one leaves running does not hold its node', async (t) => {
  const { value } = bench(t);
  const result = (await value('command', { command: ['sh', '-c', 'sleep 300 & echo $!'] })) as JsonObject;
  const pid = Number(result['stdout']);
  t.teardown(() => process.kill(pid));
  t.ok(isAlive(pid));
});

t.test(
  'commands: an abort ends the whole family',
  { skip: process.platform !== 'linux' && 'reads /proc' },
  async (t) => {
    const folder = tempFolder(t);
    const { work } = bench(t);
    const family = (name: string, child: string): JsonObject => ({
      command: node(`
      const child = require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio: ['ignore', 'pipe', 'inherit'] });
      child.stdout.once('data', () => require('fs').writeFileSync('${name}.tmp', process.pid + ' ' + child.pid));
      child.stdout.once('data', () => require('fs').renameSync('${name}.tmp', '${name}'));
      setInterval(() => {}, 1000);`),
      cwd: folder,
    });
    const polite = 'console.log(1); setInterval(() => {}, 1000)';
    const stubborn = `process.on('SIGTERM', () => {}); ${polite}`;
    const pids: number[] = [];
    for (const [n, child] of [polite, stubborn].entries()) {
      work.start(item('command', family(`f${n}`, child), { activation: n }), () => t.fail('told after an abort'));
      await until(() => existsSync(join(folder, `f${n}`)));
      pids.push(
        ...readFileSync(join(folder, `f${n}`), 'utf8')
          .split(' ')
          .map(Number),
      );
    }
    t.same(pids.map(isAlive), [true, true, true, true]);
    work.abort('i1', 0);
    work.abort('i1', 1);
    await until(() => work.running === 0);
    await until(() => !pids.some(isAlive));
    t.pass('parents and children are gone, also the one that ignores SIGTERM');
  },
);

const js = (script: string, variables: JsonObject = {}): JsonObject => ({ script, variables });

t.test('scripts: the value is what `return` or the last expression gives', async (t) => {
  const { value } = bench(t);
  const rows: [string, JsonObject, Json][] = [
    ['1 + 1', {}, 2],
    ['const a = 2; a * n;', { n: 3 }, 6],
    ['if (n > 1) return "many"; return "one"', { n: 2 }, 'many'],
    ['// first\nreturn 1 // last', {}, 1],
    ['const f = () => { return 5 };\nf() + 1', {}, 6],
    ['', {}, null],
    ['undefined', {}, null],
    ['items.map((item) => ({ ...item, total: item.price * 2 }))', { items: [{ price: 2 }] }, [{ price: 2, total: 4 }]],
    ['({ at: new Date(0), gone: undefined })', {}, { at: '1970-01-01T00:00:00.000Z' }],
    ['Promise.resolve(1).then((n) => n + 1)', {}, 2],
    ['(async () => { await null; return 3 })()', {}, 3],
    ['const x = await Promise.resolve(4); return x', {}, 4],
    ['Date', { Date: 'shadowed', JSON: 1, Object: 2, undefined: 3, 'no-name': 4 }, 'shadowed'],
    ['typeof globalThis["no-name"] + typeof undefined', { 'no-name': 4, undefined: 3 }, 'undefinedundefined'],
    ['Object.keys(v).join() + v.__proto__.x', { v: JSON.parse('{"__proto__":{"x":1}}') as JsonObject }, '__proto__1'],
    ['let order = 3; order', { order: 1 }, 3],
    ['grün + 1', { grün: 1 }, 2],
    [
      '[typeof require, typeof process, typeof fetch, typeof setTimeout, typeof std, typeof os].join()',
      {},
      Array(6).fill('undefined').join(),
    ],
    ['JSON.stringify = () => "{"; JSON.parse = null; Object.keys = null; "own problem"', {}, 'own problem'],
  ];
  for (const [script, variables, wanted] of rows) t.same(await value('script', js(script, variables)), wanted, script);
  const odd = '\u0000 \ud800 \udc00\ud800 😀 \u2028 "\\';
  t.equal(await value('script', js('odd + odd', { odd })), odd + odd, 'text survives both ways');
  t.equal(await value('script', js('"\\u0000\\udfff".length')), 2);
  const variables = { order: { total: 1 } };
  t.equal(await value('script', js('order.total = 2; later = 1; order.total', variables)), 2);
  t.same(variables, { order: { total: 1 } }, 'variables stay what they were');
  t.equal(await value('script', js('typeof later + typeof order')), 'undefinedundefined', 'every script begins anew');
});

t.test('scripts: what they throw is the error of the node', async (t) => {
  const { error } = bench(t);
  const rows: [string, string, string | RegExp][] = [
    ['let a = 1;\n\nfoo.bar()', 'SCRIPT_ERROR', "ReferenceError: 'foo' is not defined (line 3)"],
    ['const f = () => {\n  throw new Error("sold out");\n};\nf()', 'SCRIPT_ERROR', 'sold out (line 2)'],
    ['if (true) {\n  null.x;\n}\nreturn 1', 'SCRIPT_ERROR', /^TypeError: .* \(line 2\)$/],
    ['const e = new Error("sold out");\ne.code = "SOLD_OUT";\nthrow e', 'SOLD_OUT', 'sold out (line 1)'],
    ['throw { code: "SOLD_OUT", message: "none left" }', 'SOLD_OUT', 'none left'],
    ['throw { code: 5, message: "m" }', 'SCRIPT_ERROR', 'm'],
    ['throw Object.create({ code: "INHERITED" })', 'SCRIPT_ERROR', '{}'],
    ['throw "text"', 'SCRIPT_ERROR', 'text'],
    ['throw undefined', 'SCRIPT_ERROR', 'undefined'],
    ['Promise.reject(new TypeError("later"))', 'SCRIPT_ERROR', 'TypeError: later (line 1)'],
    ['new Promise(() => {})', 'SCRIPT_ERROR', /never settles/],
    ['let a;\n a b c', 'SCRIPT_ERROR', /^SyntaxError: .* \(line 2\)$/],
    ['await 1', 'SCRIPT_ERROR', /with return/],
    ['() => 1', 'SCRIPT_ERROR', /the result is a function/],
    ['({ a: { b: Symbol() } })', 'SCRIPT_ERROR', /'b' is a symbol/],
    ['[10n]', 'SCRIPT_ERROR', /a bigint/],
    ['({ total: 0 / 0 })', 'SCRIPT_ERROR', /'total' is NaN/],
    ['1 / 0', 'SCRIPT_ERROR', /is Infinity/],
    ['const a = {}; a.a = a; a', 'SCRIPT_ERROR', /holds itself/],
    ['import("fs")', 'SCRIPT_ERROR', /fs/],
    ['"use strict"; undeclared = 1', 'SCRIPT_ERROR', /undeclared/],
  ];
  for (const [script, code, message] of rows) t.match(await error('script', js(script)), { code, message }, script);
});

t.test('scripts: bounds of time', async (t) => {
  const { error, value } = bench(t, { scriptTimeLimit: 300 });
  const endless = [
    'for (;;) {}',
    'try { for (;;) {} } finally { for (;;) {} }',
    '(function again() { Promise.resolve().then(again) })()',
    '/(a+)+b/.test("a".repeat(40))',
    'throw { get message() { for (;;) {} } }',
    '[].concat(Array(1e9)).length',
  ];
  for (const script of endless) t.match(await error('script', js(script)), { code: 'SCRIPT_TIMEOUT' }, script);
  t.equal(await value('script', js('"still here"')), 'still here');
});

t.test('scripts: bounds of memory and of what comes out', async (t) => {
  const { error, value, run } = bench(t);
  const rows: [string, string][] = [
    ['(function f() { return f() + 1 })()', 'SCRIPT_MEMORY'],
    ['JSON.parse("[".repeat(1e6))', 'SCRIPT_MEMORY'],
    ['"a".repeat(1e9)', 'SCRIPT_MEMORY'],
    ['let s = "a"; for (;;) s += s', 'SCRIPT_MEMORY'],
    ['let a = []; for (let i = 0; i < 200; i += 1) a.push(new ArrayBuffer(1e6)); 1', 'SCRIPT_MEMORY'],
    ['let a = []; for (;;) a.push(new ArrayBuffer(9000))', 'SCRIPT_MEMORY'],
    ['"a".repeat(5e6)', 'SCRIPT_MEMORY'],
    ['let a = []; for (let i = 0; i < 600; i += 1) a = [a]; a', 'RESULT_TOO_DEEP'],
  ];
  for (const [script, code] of rows) t.match(await error('script', js(script)), { code }, script);
  t.equal(await value('script', js('"still here"')), 'still here');

  const logs = await run(
    'script',
    js('console.log("a", { b: 1 }, null, new Error("x")); console.warn("w"); console.error(1n)'),
  );
  t.same(logs.logs, [
    { level: 'INFO', message: 'a {"b":1} null Error: x' },
    { level: 'WARN', message: 'w' },
    { level: 'ERROR', message: '1' },
  ]);
  const many = await run('script', js('for (let i = 0; i < 1000; i += 1) console.log("x".repeat(20000)); throw 1'));
  t.equal(many.logs.length, 201);
  t.match(many.logs.at(-1), { level: 'WARN', message: /dropped/ });
  t.ok(many.logs.every(({ message }) => message.length <= 8192));
});

t.test('scripts: an abort stops them, and the daemon goes on meanwhile', async (t) => {
  const { work, value } = bench(t, { scriptTimeLimit: 60_000 });
  await value('script', js('1'));
  for (const script of ['for (;;) {}', '[].concat(Array(1e9)).length']) {
    for (const activation of [100, 101, 102])
      work.start(item('script', js(script), { activation }), () => t.fail('told after an abort'));
    await until(() => work.running === 3);
    for (let turns = 0; turns < 50; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    for (const activation of [100, 101, 102]) work.abort('i1', activation);
    await until(() => work.running === 0);
  }
  t.equal(await value('script', js('"free again"')), 'free again');
});

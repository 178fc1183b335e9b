import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { ENDPOINTS, type RouteName } from '../../src/contract/endpoints.ts';
import { ERRORS } from '../../src/contract/errors.ts';
import type { RouteSpec } from '../../src/contract/routes/route.ts';
import { ROUTES } from '../../src/contract/routes.ts';
import { ErrorAnswer } from '../../src/contract/schemas/common.ts';
import { StorageError } from '../../src/daemon/ports.ts';
import { checkOf } from '../../src/daemon/validate.ts';
import {
  type Answer,
  openServer,
  publish,
  raw,
  SHORT,
  shortFlow,
  type TestServer,
  WAITING,
  waitingFlow,
} from './server.ts';

const conformance = process.env['WFX_CONFORMANCE_DIR'] ?? join(process.cwd(), '../shared/conformance');
const isErrorBody = checkOf(ErrorAnswer, 'body');

/** The code of an answer whose body has the shape of every error, and the status that belongs to the code. */
function codeOf({ status, body }: Pick<Answer, 'status' | 'body'>): string {
  isErrorBody(body);
  const code = body.error as keyof typeof ERRORS;
  return ERRORS[code] === status ? code : `${code} with status ${status}`;
}

const JSON_TYPE = { 'content-type': 'application/json' };

t.test('bodies', async (t) => {
  const server = await openServer(t);
  await publish(server, shortFlow());
  const exec = (body: string | Uint8Array, headers: Record<string, string> = JSON_TYPE) =>
    server.call('POST', '/process/exec', { body, headers });
  const withData = (data: string) => exec(`{"processId":"${SHORT}","data":${data}}`);
  const dataOf = async (answer: Answer) => {
    t.equal(answer.status, 200, JSON.stringify(answer.body));
    return (await server.call('GET', `/process/instance/${answer.body.processInstanceId}`)).body.data;
  };

  t.test('keys that reach for prototypes are refused at any depth, however they are written', async (t) => {
    for (const data of [
      '{"__proto__":{"x":1}}',
      '{"\\u005f_proto__":{"x":1}}',
      '{"a":[[{"__proto__":1}]]}',
      '{"constructor":{"prototype":{"x":1}}}',
      '{"a":{"constructor":{"prototype":null}}}',
    ])
      t.equal(codeOf(await withData(data)), 'VALIDATION_ERROR', data);
    t.equal(codeOf(await exec(`{"__proto__":{"processId":"${SHORT}"}}`)), 'VALIDATION_ERROR');
  });

  t.test('names of object methods are plain data', async (t) => {
    const data = {
      toString: 1,
      hasOwnProperty: 'x',
      valueOf: null,
      constructor: 'c',
      // biome-ignore lint/suspicious/noThenProperty: a variable may bear any name
      then: [1],
      toJSON: {},
      length: 0,
      __defineGetter__: true,
      nested: { toJSON: 'x' },
    };
    t.match(await dataOf(await withData(JSON.stringify(data))), data);
  });

  t.test('strings survive: lone surrogates, NUL, look-alike keys', async (t) => {
    const seen = await dataOf(await withData('{"s":"\\ud800x","n":"a\\u0000b","\\u0000":1,"é":1,"e\\u0301":2,"É":3}'));
    t.match(seen, { s: '\ud800x', n: 'a\0b', '\0': 1, é: 1, 'e\u0301': 2, É: 3 });
  });

  t.test('numbers that no double holds are refused, not turned into null', async (t) => {
    t.equal(codeOf(await withData('{"a":1e999}')), 'VALIDATION_ERROR');
    t.equal(codeOf(await withData('{"a":[-1e999]}')), 'VALIDATION_ERROR');
    t.equal((await dataOf(await withData('{"a":-0}'))).a, 0);
  });

  t.test('100 levels are taken, more are refused before anything is accepted', async (t) => {
    const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    t.equal((await withData(nested(98))).status, 200);
    for (const depth of [101, 5000, 100_000]) t.equal(codeOf(await withData(nested(depth))), 'VALIDATION_ERROR');
    for (const open of ['[', '[{"":']) t.equal(codeOf(await exec(open.repeat(150_000))), 'VALIDATION_ERROR');
  });

  t.test('what is no object, or no JSON, or nothing', async (t) => {
    for (const body of ['null', '5', '"x"', '[]', '', ' ', '{', '{"processId":', 'undefined', "{'a':1}"])
      t.equal(codeOf(await exec(body)), 'VALIDATION_ERROR', body);
    t.equal(codeOf(await server.call('POST', '/process/task')), 'VALIDATION_ERROR', 'no body, no type');
    const secret = await exec('{"password": "hunter2" oops');
    t.notMatch(secret.body.message, /hunter2/, 'what was sent is not repeated');
  });

  t.test('types are not coerced, and unknown fields not dropped', async (t) => {
    const wrong = [
      { processId: 5 },
      { processId: null },
      { processId: [SHORT] },
      { processId: SHORT, data: [] },
      { processId: SHORT, data: null },
      { processId: SHORT, correlationKey: 5 },
      { processId: SHORT, wrong: 1 },
    ];
    for (const body of wrong) {
      const answer = await server.call('POST', '/process/exec', { body });
      t.equal(codeOf(answer), 'VALIDATION_ERROR', JSON.stringify(body));
      t.ok(answer.body.details.length > 0, 'the field is named');
    }
    t.strictSame((await server.call('POST', '/process/exec', { body: { data: 5, x: 1 } })).body.details, [
      { path: 'processId', message: 'is required' },
      { path: 'x', message: 'is not a field here' },
      { path: 'data', message: 'must be an object' },
    ]);
  });

  t.test('content types', async (t) => {
    const body = `{"processId":"${SHORT}"}`;
    for (const type of ['text/plain', 'application/vnd.api+json', 'application/x-www-form-urlencoded', 'x'])
      t.equal(codeOf(await exec(body, { 'content-type': type })), 'UNSUPPORTED_MEDIA_TYPE', type);
    t.equal(codeOf(await exec(body, { 'content-type': 'application/json; charset=utf-16' })), 'UNSUPPORTED_MEDIA_TYPE');
    t.equal(codeOf(await exec(body, { ...JSON_TYPE, 'content-encoding': 'gzip' })), 'UNSUPPORTED_MEDIA_TYPE');
    t.equal((await exec(body, { 'content-type': 'application/json; charset="UTF-8"' })).status, 200);
    const bare = `POST /process/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${server.admin}\r\nConnection: close\r\n`;
    t.match(
      await raw(server.port, `${bare}Content-Length: ${body.length}\r\n\r\n${body}`),
      /^HTTP\/1.1 415 [\s\S]*UNSUPPORTED_MEDIA_TYPE/,
      'none at all',
    );
  });

  t.test('encoding: a BOM is dropped, bytes that are no UTF-8 are refused', async (t) => {
    const body = `{"processId":"${SHORT}"}`;
    t.equal((await exec(`\ufeff${body}`)).status, 200);
    t.equal(codeOf(await exec(Buffer.from('{"processId":"\xff\xfe"}', 'latin1'))), 'VALIDATION_ERROR');
    t.equal(codeOf(await exec(Buffer.from(body, 'utf16le'))), 'VALIDATION_ERROR');
  });

  t.test('over 1 MiB is refused before it is read', async (t) => {
    t.equal(codeOf(await exec('x'.repeat(1024 * 1024 + 1))), 'PAYLOAD_TOO_LARGE');
  });

  t.test('equal keys: the last one counts', async (t) => {
    t.match(await dataOf(await withData('{"a":1,"a":2}')), { a: 2 });
  });

  const file = join(conformance, 'json-parsing.json');
  t.test('the JSON test suite', { skip: existsSync(file) ? false : `${file} is not there` }, async (t) => {
    for (const row of JSON.parse(readFileSync(file, 'utf8')).rows) {
      // Rows without bytes are the deeply nested ones, which are above.
      if (row.base64 === undefined) continue;
      const answer = await exec(Buffer.from(row.base64, 'base64'));
      // None of the rows is a request to start something: what parses is refused by its shape.
      t.equal(codeOf(answer), 'VALIDATION_ERROR', row.name);
      const parsed = /^The body is not valid: /.test(answer.body.message);
      if (row.expect !== 'either') t.equal(parsed, row.expect === 'accept', `${row.name}: ${answer.body.message}`);
    }
  });
});

t.test('addresses', async (t) => {
  const server = await openServer(t);
  await publish(server, shortFlow());
  const get = (path: string) => server.call('GET', path);

  t.test('ids that can be nothing are unknown, and never a server error', async (t) => {
    const odd = [
      '..%2f..%2fetc%2fpasswd',
      '%00',
      'a%0a',
      '%0d',
      '%20',
      'CON',
      'null',
      '0',
      '-1',
      '1e3',
      '%7B7c9e6679%7D',
    ];
    const more = [`${WAITING}%0a`, 'x'.repeat(101), 'x'.repeat(5000), WAITING.toUpperCase(), 'a%2fb', '%F0%9F%92%A9'];
    for (const id of [...odd, ...more]) {
      t.equal(codeOf(await get(`/process/instance/${id}`)), 'INSTANCE_NOT_FOUND', id.slice(0, 40));
      t.equal(codeOf(await get(`/process/${id}/instances`)), 'PROCESS_NOT_FOUND', id.slice(0, 40));
      t.equal(codeOf(await get(`/process/files/${id}`)), 'NOT_FOUND', id.slice(0, 40));
      t.equal(codeOf(await get(`/admin/keys/${id}`)), 'NOT_FOUND', id.slice(0, 40));
    }
    for (const path of ['/process/instance/', '/process//instances', '/Process/list', '/process/list/', '//'])
      t.match(codeOf(await get(path)), /NOT_FOUND/, path);
  });

  t.test('malformed escapes are refused', async (t) => {
    for (const id of ['%zz', '%c0%ae', '%'])
      t.match(
        await raw(server.port, requestOf(server.admin, `/process/instance/${id}`)),
        /^HTTP\/1.1 400 .*VALIDATION_ERROR/s,
      );
  });

  t.test('a flow id is found in either case, an unknown query is ignored, a doubled one refused', async (t) => {
    t.equal((await get(`/process/${SHORT.toUpperCase()}`)).status, 200);
    t.equal((await get('/process/list?__proto__=x&constructor=2&x=1')).status, 200);
    t.equal(codeOf(await get('/process/list?limit=1&limit=2')), 'VALIDATION_ERROR');
    for (const limit of ['0', '501', 'x', '1.5', '', '1e1', 'null'])
      t.equal(codeOf(await get(`/process/list?limit=${limit}`)), 'VALIDATION_ERROR', limit);
    t.equal(codeOf(await get('/process/list?cursor=%22')), 'VALIDATION_ERROR');
  });

  t.test('unknown paths, and known ones with another method', async (t) => {
    t.equal(codeOf(await get('/nothing')), 'NOT_FOUND');
    const put = await server.call('PUT', '/process/exec', { body: '{', headers: JSON_TYPE });
    t.equal(codeOf(put), 'METHOD_NOT_ALLOWED');
    t.equal(put.headers.get('allow'), 'POST');
    t.equal(codeOf(await server.call('DELETE', '/process/list')), 'METHOD_NOT_ALLOWED');
    for (const line of ['TRACE /process/list', 'OPTIONS *', 'OPTIONS /process/exec'])
      t.match(
        await raw(server.port, `${line} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`),
        /^HTTP\/1.1 40[45] /,
        line,
      );
  });

  t.test('HEAD answers every readable endpoint without a body', async (t) => {
    for (const { method, path } of Object.values(ENDPOINTS).filter((endpoint) => endpoint.method === 'GET')) {
      t.equal(method, 'GET');
      const answer = await server.call('HEAD', path.replace(/\{\w+\}/g, SHORT));
      t.ok(answer.status < 500, `${path} ${answer.status}`);
      t.equal(answer.body, '', path);
    }
  });
});

const requestOf = (key: string, path: string, more = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${key}\r\nConnection: close\r\n${more}\r\n`;

t.test('requests that break HTTP are refused, and their connection closed', async (t) => {
  const server = await openServer(t);
  const post = (headers: string, body: string) =>
    raw(
      server.port,
      `POST /process/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${server.admin}\r\n${headers}\r\n\r\n${body}`,
    );
  const refused = /^HTTP\/1.1 400 [\s\S]*"error":"VALIDATION_ERROR"/;

  t.match(await post('Content-Length: 2\r\nContent-Length: 3', '{}x'), refused, 'two lengths');
  t.match(await post('Transfer-Encoding: chunked\r\nContent-Length: 2', '0\r\n\r\n'), refused, 'length and chunks');
  t.match(
    await post('Content-Type: application/json\r\nTransfer-Encoding: chunked', 'zz\r\n{}\r\n'),
    refused,
    'chunk size',
  );
  t.match(
    await raw(server.port, requestOf(server.admin, '/process/list', 'X-A: a\r\n b: c\r\n')),
    /^HTTP\/1.1 (400|200)/,
  );
  t.match(
    await raw(server.port, requestOf(server.admin, '/process/list', 'X-A: a\0b\r\n')),
    refused,
    'NUL in a header',
  );
  t.match(await raw(server.port, requestOf(server.admin, '/process/list', 'X-A: a\rb\r\n')), refused, 'CR in a header');
  t.match(
    await raw(server.port, 'GET /process/list HTTP/1.1\r\nConnection: close\r\n\r\n'),
    /^HTTP\/1.1 400 [\s\S]*"error":"VALIDATION_ERROR"/,
    'no Host',
  );
  t.match(await raw(server.port, 'nonsense\r\n\r\n'), refused, 'no HTTP');
  const large = await raw(server.port, requestOf(server.admin, '/process/list', `X-A: ${'a'.repeat(20_000)}\r\n`));
  t.match(large, /^HTTP\/1.1 431 [\s\S]*"error":"HEADERS_TOO_LARGE"/);
  t.match(
    await raw(server.port, requestOf(server.admin, 'http://evil/health/live')),
    /^HTTP\/1.1 200 /,
    'absolute form',
  );

  t.test('bounds for slow senders are set', async (t) => {
    const { server: http } = server.app;
    t.ok(http.requestTimeout > 0 && http.requestTimeout <= 30_000);
    t.ok(http.headersTimeout > 0 && http.headersTimeout <= http.requestTimeout);
    t.ok(http.maxConnections > 0);
  });

  t.test('who leaves in the middle of a body starts nothing, and the daemon goes on', async (t) => {
    await publish(server, shortFlow());
    const body = `{"processId":"${SHORT}"}`;
    await new Promise<void>((resolve) => {
      const socket = connect(server.port, '127.0.0.1', () => {
        const head = `POST /process/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${server.admin}\r\n`;
        socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${body.length + 1}\r\n\r\n${body}`, () =>
          socket.destroy(),
        );
      });
      socket.on('close', () => resolve());
    });
    t.strictSame((await server.call('GET', '/process/instances')).body.items, []);
  });

  t.test('1000 idle connections do not keep others from being served', async (t) => {
    const sockets = await Promise.all(
      Array.from({ length: 1000 }, () => {
        const socket = connect(server.port, '127.0.0.1');
        socket.on('error', () => undefined);
        return new Promise<typeof socket>((resolve) => socket.on('connect', () => resolve(socket)));
      }),
    );
    t.equal((await server.call('GET', '/health/live')).status, 200);
    for (const socket of sockets) socket.destroy();
  });
});

t.test('the Host header', async (t) => {
  const server = await openServer(t);
  const withHost = (host: string) =>
    raw(server.port, `GET /health/live HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  for (const host of ['127.0.0.1', 'localhost', `localhost:${server.port}`, '[::1]:7117', 'LOCALHOST'])
    t.match(await withHost(host), /^HTTP\/1.1 200/, host);
  for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.nip.io:7117', '169.254.169.254'])
    t.match(await withHost(host), /^HTTP\/1.1 403 [\s\S]*FORBIDDEN/, host);
});

t.test('pages of other sites', async (t) => {
  const ask = (server: TestServer, origin: string, method = 'GET', more: Record<string, string> = {}) =>
    fetch(`${server.url}/process/list`, { method, headers: { origin, 'x-api-key': server.admin, ...more } });

  t.test('may not call, and are told so by no header', async (t) => {
    const server = await openServer(t);
    for (const origin of ['http://evil.example', 'null', `http://127.0.0.1:${server.port + 1}`])
      t.equal((await ask(server, origin)).status, 403, origin);
    const own = await ask(server, server.url);
    t.equal(own.status, 200, 'its own pages may');
    t.equal(own.headers.get('access-control-allow-origin'), null);
    const preflight = { 'access-control-request-method': 'GET', 'access-control-request-headers': 'x-api-key' };
    t.equal((await ask(server, 'http://evil.example', 'OPTIONS', preflight)).ok, false);
  });

  t.test('may call where they are allowed', async (t) => {
    const server = await openServer(t, { allowedOrigins: ['https://ops.example'] });
    const preflight = { 'access-control-request-method': 'DELETE', 'access-control-request-headers': 'x-api-key' };
    const { status, headers } = await ask(server, 'https://ops.example', 'OPTIONS', preflight);
    t.equal(status, 204);
    t.equal(headers.get('access-control-allow-origin'), 'https://ops.example');
    t.equal(headers.get('access-control-allow-headers'), 'x-api-key');
    t.match(headers.get('access-control-allow-methods'), /DELETE/);
    const answer = await ask(server, 'https://ops.example');
    t.equal(answer.status, 200);
    t.equal(answer.headers.get('access-control-allow-origin'), 'https://ops.example');
    t.equal((await ask(server, 'https://evil.example')).status, 403, 'and others may not');
  });
});

t.test('credentials', async (t) => {
  const server = await openServer(t);
  const status = async (key: string | undefined, headers: Record<string, string> = {}) => {
    const answer = await server.call('GET', '/process/list', { key, headers });
    return answer.status === 200 ? 200 : codeOf(answer);
  };

  t.test('none, malformed, unknown and wrong ones all get the same 401', async (t) => {
    const [, id] = server.admin.split('_');
    const odd = [
      '',
      'x',
      'apk__',
      'apk_x',
      'apk_a_b_c',
      'apk_KEY_SECRET',
      `apk_${'x'.repeat(10_000)}`,
      `apk_${id}_`,
      `apk_${id}`,
    ];
    const more = [
      `${server.admin}x`,
      server.admin.slice(0, -1),
      server.admin.toUpperCase(),
      `Bearer ${server.admin}`,
      'apk_é_ü',
    ];
    const texts = new Set<string>();
    for (const key of [undefined, ...odd, ...more]) {
      const answer = await server.call('GET', '/process/list', { key });
      t.equal(codeOf(answer), 'UNAUTHORIZED', key?.slice(0, 30) ?? 'none');
      texts.add(answer.body.message);
    }
    t.equal(texts.size, 1, 'the text never says why');
  });

  t.test('exactly one credential: no second key, no Authorization beside it or instead', async (t) => {
    t.equal(await status(server.admin), 200);
    for (const authorization of [
      `Bearer ${server.admin}`,
      'Bearer',
      'Bearer  ',
      'Basic eDp4',
      'Bearer eyJhbGciOiJub25lIn0.e30.',
    ]) {
      t.equal(await status(server.admin, { authorization }), 'UNAUTHORIZED');
      t.equal(await status(undefined, { authorization }), 'UNAUTHORIZED');
    }
    const twice = requestOf(server.admin, '/process/list', `X-API-Key: ${server.admin}\r\n`);
    t.match(await raw(server.port, twice), /^HTTP\/1.1 401 /);
  });

  t.test('every endpoint but the open ones asks for a key, before it reads the body', async (t) => {
    for (const [name, { method, path }] of Object.entries(ENDPOINTS)) {
      const spec: RouteSpec = ROUTES[name as RouteName];
      const body = method === 'GET' || method === 'DELETE' ? {} : { body: '{broken', headers: JSON_TYPE };
      const answer = await server.call(method, path.replace(/\{\w+\}/g, SHORT), { key: undefined, ...body });
      // Whoever knows no token of a webhook finds nothing there, and nobody signs in at this daemon.
      if (['receiveWebhook', 'signIn', 'signInCallback', 'signInSettings'].includes(name))
        t.equal(answer.status, 404, name);
      else if (spec.permission === 'none') t.equal(answer.status, 200, name);
      else t.equal(codeOf(answer), 'UNAUTHORIZED', name);
    }
  });

  t.test('suspended, revoked and expired keys are no credentials', async (t) => {
    for (const changes of [{ status: 'SUSPENDED' }, { status: 'REVOKED' }, { expiresAt: '2020-01-01T00:00:00.000Z' }])
      t.equal(await status(await server.keyWith(['admin'], 'default', changes)), 'UNAUTHORIZED');
    t.equal(await status(await server.keyWith(['viewer'], 'default', { expiresAt: '2120-01-01T00:00:00.000Z' })), 200);
  });
});

t.test('permissions', async (t) => {
  const server = await openServer(t);
  await publish(server, shortFlow());
  await server.call('POST', '/admin/organizations', { key: server.system, body: { name: 'Other' } });

  t.test('each role may call what its permissions say, and nothing else', async (t) => {
    for (const role of ['viewer', 'runner', 'developer', 'admin'] as const) {
      const key = await server.keyWith([role]);
      const { permissions } = (await server.call('GET', '/auth/whoami', { key })).body;
      for (const [name, { method, path }] of Object.entries(ENDPOINTS)) {
        const { permission, scope, answer }: RouteSpec = ROUTES[name as RouteName];
        if (answer.kind === 'stream') continue;
        const { status, body } = await server.call(method, path.replace(/\{\w+\}/g, WAITING), { key });
        const open = permission === 'none' || permission === 'key' || permissions.includes(permission);
        if (open && scope !== 'system') t.not(status, 403, `${role} ${name}`);
        else t.equal(codeOf({ status, body }), 'FORBIDDEN', `${role} ${name}`);
      }
    }
  });

  t.test('exec is for keys of an organization, start for system-level ones', async (t) => {
    const body = { processId: SHORT };
    const exec = await server.call('POST', '/process/exec', { key: server.system, body });
    const start = await server.call('POST', '/process/start', { body });
    t.strictSame([codeOf(exec), codeOf(start)], ['FORBIDDEN', 'FORBIDDEN']);
    t.match(exec.body.message, '/process/start');
    t.match(start.body.message, '/process/exec');
    const started = await server.call('POST', '/process/start', { key: server.system, body });
    t.match(started.body, { processInstanceId: String, processId: SHORT, status: 'started', startTime: /Z$/ });
    const { body: seen } = await server.call('GET', `/process/instance/${started.body.processInstanceId}`);
    t.equal(seen.organizationId, 'default', 'the owner of the flow is the owner of the execution');
  });

  t.test("what belongs to another organization is as unknown as what isn't there", async (t) => {
    const key = await server.keyWith(['admin'], 'other');
    await publish(server, waitingFlow());
    const { body } = await server.call('POST', '/process/exec', { body: { processId: WAITING } });
    const id = body.processInstanceId;
    const submit = { processInstanceId: id, nodeId: 'ask', action: 'COMPLETE', data: {} };
    const file = await server.call('POST', '/process/files', {
      body: 'text',
      headers: { 'content-type': 'text/plain' },
    });
    const value = await server.call('POST', '/admin/environment', { body: { name: 'A', value: 1 } });
    const [keyId] = (await server.call('GET', '/admin/keys')).body.items.map((item: { keyId: string }) => item.keyId);
    const asked: [string, string, unknown?][] = [
      ['GET', `/process/${SHORT}`],
      ['GET', `/process/${SHORT}/versions`],
      ['GET', `/process/${SHORT}/instances`],
      ['POST', `/process/${SHORT}/activate`, { version: '1' }],
      ['POST', `/process/${SHORT}/unpublish`, {}],
      ['POST', '/process/exec', { processId: SHORT }],
      ['GET', `/process/instance/${id}`],
      ['POST', `/process/instance/${id}/cancel`],
      ['POST', `/process/instance/${id}/retry`],
      ['POST', '/process/task', submit],
      ['GET', `/process/files/${file.body.fileId}`],
      ['GET', `/admin/environment/${value.body.id}`],
      ['DELETE', `/admin/environment/${value.body.id}`],
      ['GET', `/admin/keys/${keyId}`],
      ['DELETE', `/admin/keys/${keyId}`],
      ['POST', `/admin/keys/${keyId}/rotate`],
    ];
    for (const [method, path, sent] of asked) {
      const { status } = await server.call(method, path, { key, ...(sent === undefined ? {} : { body: sent }) });
      t.equal(status, 404, `${method} ${path}`);
    }
    for (const list of ['/process/list', '/process/instances', '/process/tasks', '/admin/environment'])
      t.strictSame((await server.call('GET', list, { key })).body.items, [], list);
    t.equal((await server.call('GET', `/process/instance/${id}`)).body.stateCd, 0, 'and nothing happened to it');
    const taken = await publish(server, shortFlow(), { key });
    t.equal(codeOf(taken), 'FORBIDDEN');
    t.equal(codeOf(await server.call('GET', '/admin/keys?organizationId=default', { key })), 'FORBIDDEN');
  });
});

t.test('running flows', async (t) => {
  const server = await openServer(t);
  await publish(server, shortFlow());
  await publish(server, waitingFlow());
  const exec = (body: object, headers = {}, query = '') =>
    server.call('POST', `/process/exec${query}`, { body, headers });

  t.test('answers have the shapes of the contract', async (t) => {
    const shapes: [RouteName, Answer][] = [];
    const waiting = await exec({ processId: WAITING, correlationKey: 'c1' });
    const id = waiting.body.processInstanceId;
    shapes.push(['execProcess', waiting]);
    shapes.push(['listTasks', await server.call('GET', `/process/tasks?processInstanceId=${id}`)]);
    const data = { inputValue: 'x' };
    const task = { processInstanceId: id, nodeId: 'ask', action: 'COMPLETE', data };
    shapes.push(['submitTask', await server.call('POST', '/process/task', { body: task })]);
    shapes.push(['getInstance', await server.call('GET', `/process/instance/${id}`)]);
    shapes.push(['listInstances', await server.call('GET', '/process/instances?correlationKey=c1&state=1')]);
    shapes.push(['listFlows', await server.call('GET', '/process/list')]);
    shapes.push(['getFlow', await server.call('GET', `/process/${WAITING}`)]);
    shapes.push(['listVersions', await server.call('GET', `/process/${WAITING}/versions`)]);
    shapes.push(['healthReady', await server.call('GET', '/health/ready')]);
    shapes.push(['openapi', await server.call('GET', '/openapi.json', { key: undefined })]);
    const next = await exec({ processId: WAITING });
    const { processInstanceId } = next.body;
    shapes.push(['cancelInstance', await server.call('POST', `/process/instance/${processInstanceId}/cancel`)]);
    shapes.push([
      'retryInstance',
      await server.call('POST', `/process/instance/${processInstanceId}/retry`, { body: { from: 'ask' } }),
    ]);
    for (const [name, answer] of shapes) {
      const { answer: spec }: RouteSpec = ROUTES[name];
      t.equal(answer.status, spec.status, `${name} ${JSON.stringify(answer.body).slice(0, 200)}`);
      if (spec.kind === 'json') t.doesNotThrow(() => checkOf(spec.schema, 'body')(answer.body), name);
    }
    const found = shapes.find(([name]) => name === 'listInstances')?.[1].body;
    t.strictSame(
      found.items.map((item: { processInstanceId: string }) => item.processInstanceId),
      [id],
    );
    t.notOk('data' in found.items[0], 'lists leave the variables out');
  });

  t.test('a task that does not wait, an instance that ended, ids that are unknown', async (t) => {
    const { body } = await exec({ processId: WAITING });
    const id = body.processInstanceId;
    const submit = (changes: object) =>
      server.call('POST', '/process/task', {
        body: { processInstanceId: id, nodeId: 'ask', action: 'COMPLETE', data: { inputValue: 'x' }, ...changes },
      });
    t.equal(codeOf(await submit({ nodeId: 'nothing' })), 'NODE_NOT_FOUND');
    t.equal(codeOf(await submit({ nodeId: 'done' })), 'TASK_NOT_WAITING');
    t.equal(codeOf(await submit({ action: 'complete' })), 'VALIDATION_ERROR');
    t.equal(codeOf(await submit({ data: { inputValue: 5 } })), 'VALIDATION_ERROR');
    t.equal(codeOf(await submit({ processInstanceId: '../x' })), 'INSTANCE_NOT_FOUND');
    t.equal(codeOf(await submit({ processInstanceId: '01a1fc73-bb64-7000-9fec-e6705c104686' })), 'INSTANCE_NOT_FOUND');
    const all = await Promise.all(Array.from({ length: 50 }, () => submit({})));
    t.equal(all.filter((answer) => answer.status === 200).length, 1, 'of many submissions one wins');
    t.ok(all.every((answer) => answer.status === 200 || codeOf(answer) === 'TASK_NOT_WAITING'));
    t.equal(codeOf(await server.call('POST', `/process/instance/${id}/cancel`)), 'INSTANCE_FINISHED');
  });

  t.test('flows that are unknown, not published, or in no such version', async (t) => {
    t.equal(codeOf(await exec({ processId: '99999999-2222-4333-8444-555555555555' })), 'PROCESS_NOT_FOUND');
    t.equal(codeOf(await exec({ processId: '../../etc/passwd' })), 'PROCESS_NOT_FOUND');
    for (const version of ['2', '0', '1.0', 'x', '../1'])
      t.equal(codeOf(await exec({ processId: SHORT }, {}, `?versionNumber=${version}`)), 'VERSION_NOT_FOUND', version);
    t.equal(codeOf(await exec({ processId: SHORT }, {}, '?environment=TEST')), 'VALIDATION_ERROR');
    t.equal((await exec({ processId: SHORT.toUpperCase() })).body.processId, SHORT);
    await server.call('POST', `/process/${SHORT}/unpublish`, { body: { environment: 'DEVELOPMENT' } });
    t.equal(codeOf(await exec({ processId: SHORT }, {}, '?environment=DEVELOPMENT')), 'NOT_PUBLISHED');
    t.equal((await exec({ processId: SHORT })).status, 200, 'production is left as it was');
  });

  t.test('Idempotency-Key: the same request starts once, another one is a conflict', async (t) => {
    const headers = { 'idempotency-key': 'k1' };
    const body = { processId: SHORT, data: { who: 'a' } };
    const answers = await Promise.all(Array.from({ length: 20 }, () => exec(body, headers)));
    t.equal(new Set(answers.map((answer) => answer.body.processInstanceId)).size, 1);
    t.ok(answers.every((answer) => answer.status === 200));
    t.equal(codeOf(await exec({ ...body, data: {} }, headers)), 'CONFLICT');
    t.equal(codeOf(await exec(body, headers, '?versionNumber=1')), 'CONFLICT', 'the query counts');
    t.not((await exec(body, { 'idempotency-key': 'k2' })).body.processInstanceId, answers[0]?.body.processInstanceId);
    const ordered = { processId: SHORT, data: { a: 1, b: [{ c: 2, d: 3 }] } };
    const turned = { data: { b: [{ d: 3, c: 2 }], a: 1 }, processId: SHORT };
    const first = (await exec(ordered, { 'idempotency-key': 'k3' })).body.processInstanceId;
    t.equal((await exec(turned, { 'idempotency-key': 'k3' })).body.processInstanceId, first, 'in whatever order');
    t.equal(codeOf(await exec(body, { 'idempotency-key': 'x'.repeat(256) })), 'VALIDATION_ERROR');
    const other = await server.keyWith(['admin']);
    const again = await server.call('POST', '/process/exec', { key: other, body, headers });
    t.equal(again.body.processInstanceId, answers[0]?.body.processInstanceId, 'a key of the same organization');
  });

  t.test('events', async (t) => {
    const send = (body: object, key = server.admin) => server.call('POST', '/process/event', { key, body });
    t.equal(codeOf(await send({ eventType: 'x', correlationKey: 'y' })), 'NO_MATCHING_SUBSCRIPTION');
    const later = { eventType: 'x', correlationKey: 'y', timeToLive: 'PT1H' };
    t.match((await send(later)).body, { status: 'buffered', processInstanceIds: [] });
    for (const timeToLive of ['1h', '-PT5S', ''])
      t.equal(codeOf(await send({ ...later, timeToLive })), 'VALIDATION_ERROR');
    t.equal(codeOf(await send(later, server.system)), 'VALIDATION_ERROR', 'a system-level key names the organization');
    t.equal((await send({ ...later, organizationId: 'default' }, server.system)).status, 200);
    t.equal(codeOf(await send({ ...later, organizationId: 'none' }, server.system)), 'VALIDATION_ERROR');
  });

  t.test('pages follow each other without gap or double', async (t) => {
    for (let count = 0; count < 5; count += 1) await exec({ processId: SHORT });
    for (const list of ['/process/instances', `/process/${SHORT}/instances`, '/admin/keys', '/process/list']) {
      const whole = (await server.call('GET', `${list}?limit=500`)).body.items;
      const paged = [];
      let cursor = '';
      do {
        const { body } = await server.call('GET', `${list}?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
        paged.push(...body.items);
        cursor = body.nextCursor ?? '';
      } while (cursor !== '');
      const ids = (items: Record<string, string>[]) =>
        items.map((item) => item['processInstanceId'] ?? item['keyId'] ?? item['processId']);
      t.strictSame(ids(paged), ids(whole), list);
    }
    for (const list of ['/process/instances', `/process/${SHORT}/instances`, '/process/list', '/process/tasks'])
      t.equal(codeOf(await server.call('GET', `${list}?cursor=n%20o`)), 'VALIDATION_ERROR', list);
  });

  t.test('a page of tasks follows the one before, also when the last one shown there was answered', async (t) => {
    const ids: string[] = [];
    for (let count = 0; count < 4; count += 1) ids.push((await exec({ processId: WAITING })).body.processInstanceId);
    const page = async (query: string) => {
      const { body } = await server.call('GET', `/process/tasks?limit=500${query}`);
      const shown = body.items.map((item: { processInstanceId: string }) => item.processInstanceId);
      return { ...body, shown: shown.filter((id: string) => ids.includes(id)) };
    };
    t.strictSame((await page('')).shown, ids, 'oldest first');
    const all = (await server.call('GET', '/process/tasks?limit=500')).body.items;
    const before = all.findIndex((item: { processInstanceId: string }) => item.processInstanceId === ids[1]);
    const { nextCursor } = (await server.call('GET', `/process/tasks?limit=${before + 1}`)).body;
    const answer = { nodeId: 'ask', action: 'COMPLETE', data: { inputValue: 'x' } };
    await server.call('POST', '/process/task', { body: { ...answer, processInstanceId: ids[1] } });
    t.strictSame((await page(`&cursor=${nextCursor}`)).shown, ids.slice(2));
  });
});

t.test('files', async (t) => {
  const server = await openServer(t, { maxFileBytes: 100_000 });
  const upload = (body: string | Buffer, type: string, name?: string) =>
    server.call('POST', `/process/files${name === undefined ? '' : `?name=${encodeURIComponent(name)}`}`, {
      body,
      headers: { 'content-type': type },
    });

  t.test('any bytes of any type come back as they were, and only as a download', async (t) => {
    const bytes = Buffer.from(Array.from({ length: 50_000 }, (_, index) => index % 256));
    for (const type of ['application/json', 'text/html', 'image/png', 'text/plain; charset=utf-16']) {
      const { status, body } = await upload(bytes, type, 'a.bin');
      t.equal(status, 201);
      t.match(body, { fileId: /^[0-9a-f]{32}$/, name: 'a.bin', contentType: type, size: bytes.length });
      const answer = await fetch(`${server.url}/process/files/${body.fileId}`, {
        headers: { 'x-api-key': server.admin },
      });
      t.equal(answer.headers.get('content-type'), type);
      t.equal(answer.headers.get('x-content-type-options'), 'nosniff');
      t.match(answer.headers.get('content-disposition'), /^attachment; /);
      t.ok(bytes.equals(Buffer.from(await answer.arrayBuffer())));
    }
  });

  t.test('a name can neither leave the header nor choose a path', async (t) => {
    for (const name of [
      'a"; x="b',
      'a\r\nSet-Cookie: x',
      '../../etc/passwd',
      'für “euch”.txt',
      '\ud83d\ude00',
      "a'b%41",
    ]) {
      const { body } = await upload('text', 'text/plain', name);
      const answer = await server.call('GET', `/process/files/${body.fileId}`);
      t.equal(answer.status, 200, name);
      t.equal(answer.headers.get('set-cookie'), null);
      const shown = answer.headers.get('content-disposition') ?? '';
      t.match(shown, /^attachment; filename="[ -!#-~]*"; filename\*=UTF-8''[\w.!~%&+^`|#$-]*$/);
      t.equal(decodeURIComponent(shown.split("''")[1] ?? ''), name);
    }
  });

  t.test('too large a file is refused, and nothing of it stays', async (t) => {
    const answer = await upload(Buffer.alloc(100_001), 'application/octet-stream');
    t.equal(codeOf(answer), 'PAYLOAD_TOO_LARGE');
    t.equal((await upload('', 'text/plain')).body.size, 0, 'an empty one is a file too');
  });
});

t.test('administration', async (t) => {
  const server = await openServer(t);

  t.test('environment values: set, list, change, remove', async (t) => {
    const set = (body: object) => server.call('POST', '/admin/environment', { body });
    const first = await set({ name: 'SHOP_URL', value: 'http://a', environment: 'DEVELOPMENT' });
    t.match(first.body, { name: 'SHOP_URL', value: 'http://a', environment: 'DEVELOPMENT', secret: false });
    const again = await set({ name: 'SHOP_URL', value: { deep: [1] }, environment: 'DEVELOPMENT' });
    t.equal(again.body.id, first.body.id, 'in place of the old one');
    await set({ name: 'SHOP_URL', value: 'http://b' });
    t.equal(server.stores.environment.value('default', 'PRODUCTION', 'SHOP_URL'), 'http://b');
    t.strictSame(server.stores.environment.value('default', 'DEVELOPMENT', 'SHOP_URL'), { deep: [1] });
    t.equal((await server.call('GET', '/admin/environment?environment=DEVELOPMENT')).body.items.length, 1);
    const path = `/admin/environment/${first.body.id}`;
    t.equal((await server.call('PATCH', path, { body: { value: 'http://c' } })).body.value, 'http://c');
    t.equal((await server.call('DELETE', path)).status, 204);
    t.equal(codeOf(await server.call('GET', path)), 'NOT_FOUND');
    for (const name of ['', 'a-b', '1a', 'a b', '__proto__ ', 'x'.repeat(200)])
      t.equal(codeOf(await set({ name, value: 1 })), 'VALIDATION_ERROR', name);
    for (const name of ['__proto__', 'constructor', 'toString']) {
      t.equal((await set({ name, value: 'v' })).status, 200);
      t.equal(server.stores.environment.value('default', 'PRODUCTION', name), 'v');
    }
    t.equal(server.stores.environment.value('default', 'PRODUCTION', 'valueOf'), undefined);
  });

  t.test('a secret is never told again, and on disk it is sealed', async (t) => {
    const set = (body: object) => server.call('POST', '/admin/environment', { body });
    const made = await set({ name: 'TOKEN', value: 'hunter2-hunter2', secret: true });
    t.match(made.body, { value: '***', secret: true });
    const path = `/admin/environment/${made.body.id}`;
    t.equal((await server.call('GET', path)).body.value, '***');
    const { environment } = server.stores;
    t.equal(environment.shown('default', 'PRODUCTION', 'TOKEN'), '***');
    t.equal(environment.value('default', 'PRODUCTION', 'TOKEN'), 'hunter2-hunter2');
    t.equal(
      (await server.call('PATCH', path, { body: { value: 'other-secret' } })).body.secret,
      true,
      'stays a secret',
    );
    t.strictSame(environment.secrets('default', 'PRODUCTION'), ['other-secret']);
    t.strictSame(environment.secrets('default', 'DEVELOPMENT'), []);
    await server.stores.collections.close();
    for (const name of readdirSync(server.dataDir, { recursive: true }) as string[]) {
      const file = join(server.dataDir, name);
      if (statSync(file).isFile()) t.notMatch(readFileSync(file, 'latin1'), /hunter2|other-secret/, name);
    }
    const moved = { ...environment.get(made.body.id), name: 'OTHER' };
    const key = 'default/PRODUCTION/OTHER';
    await server.stores.collections.put([{ collection: 'environment', key, value: moved as never }]);
    t.throws(
      () => environment.value('default', 'PRODUCTION', 'OTHER'),
      StorageError,
      'it opens under its own name alone',
    );
    for (const value of ['', 5, null, {}])
      t.equal(codeOf(await set({ name: 'S', value, secret: true })), 'VALIDATION_ERROR');
    t.match((await server.call('PATCH', path, { body: { value: 'plain', secret: false } })).body, { value: 'plain' });
  });

  t.test('organizations are ruled by system-level keys', async (t) => {
    const { system: key } = server;
    const make = (body: object) => server.call('POST', '/admin/organizations', { key, body });
    const made = await make({ name: 'Ärzte & Co' });
    t.equal(made.status, 201);
    t.match(made.body.organizationId, /^[a-z0-9][a-z0-9-]*$/);
    t.equal(codeOf(await make({ name: 'x', organizationId: made.body.organizationId })), 'CONFLICT');
    t.equal(codeOf(await make({ name: 'x', organizationId: 'Not/An Id' })), 'VALIDATION_ERROR');
    const path = `/admin/organizations/${made.body.organizationId}`;
    t.equal((await server.call('PATCH', path, { key, body: { name: 'New' } })).body.name, 'New');
    const value = { organizationId: made.body.organizationId, name: 'TOKEN', value: 'left behind', secret: true };
    await server.call('POST', '/admin/environment', { key, body: value });
    t.equal((await server.call('DELETE', path, { key })).status, 204);
    t.equal(codeOf(await make({ name: 'x', organizationId: made.body.organizationId })), 'CONFLICT', 'nobody inherits');
    t.not((await make({ name: 'Ärzte & Co' })).body.organizationId, made.body.organizationId);
    t.notMatch(
      JSON.stringify((await server.call('GET', '/admin/environment', { key })).body),
      made.body.organizationId,
    );
    t.equal(codeOf(await server.call('DELETE', '/admin/organizations/default', { key })), 'CONFLICT', 'it has keys');
  });
});

t.test('when the disk takes no writes, requests get 503 and nothing is told of the inside otherwise', async (t) => {
  const server = await openServer(t);
  await publish(server, shortFlow());
  const exec = () => server.call('POST', '/process/exec', { body: { processId: SHORT } });
  const runtime = server.runtime as { start: unknown; ready: unknown };
  runtime.start = () => Promise.reject(new StorageError('The disk is full.'));
  runtime.ready = runtime.start;
  const answer = await exec();
  t.equal(codeOf(answer), 'STORAGE_UNAVAILABLE');
  t.match(answer.body.message, /The disk is full\./);
  t.equal(codeOf(await server.call('GET', '/health/ready')), 'STORAGE_UNAVAILABLE');
  t.equal((await server.call('GET', '/process/list')).status, 200, 'what needs no writing goes on');
  runtime.start = () => Promise.reject(new TypeError('secret inside'));
  const broken = await exec();
  t.equal(codeOf(broken), 'INTERNAL_ERROR');
  t.notMatch(JSON.stringify(broken.body), 'secret inside');
});

t.test('while the daemon stops, nothing more is taken', async (t) => {
  const server = await openServer(t);
  server.refuse();
  t.equal(codeOf(await server.call('GET', '/process/list')), 'SHUTTING_DOWN');
});

t.test('the OpenAPI document describes every route', async (t) => {
  const server = await openServer(t);
  const { body } = await server.call('GET', '/openapi.json', { key: undefined });
  t.equal(body.openapi, '3.1.0');
  for (const [name, { method, path }] of Object.entries(ENDPOINTS)) {
    const operation = body.paths[path][method.toLowerCase()];
    t.equal(operation.operationId, name);
    const spec: RouteSpec = ROUTES[name as RouteName];
    t.ok(operation.responses[spec.answer.status], name);
    t.equal(operation.security !== undefined, spec.permission !== 'none', name);
    for (const code of spec.errors) t.match(operation.responses[ERRORS[code]].description, code, `${name} ${code}`);
    for (const [, parameter] of path.matchAll(/\{(\w+)\}/g))
      t.ok(
        operation.parameters.some(
          (item: { name: string; in: string }) => item.name === parameter && item.in === 'path',
        ),
      );
  }
  const asked = (path: string, name: string) =>
    body.paths[path].get.parameters.find((parameter: { name: string }) => parameter.name === name).required;
  t.equal(asked('/memory/search', 'query'), true, 'a query parameter that is needed');
  t.equal(asked('/memory/search', 'limit'), false);
});

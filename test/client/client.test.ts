import { existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import {
  ApiError,
  Client,
  closeConnections,
  plain,
  plainJson,
  plainLines,
  UnreachableError,
} from '../../src/client/index.ts';
import { EventStreamParser } from '../../src/client/sse.ts';

const conformance = process.env['WFX_CONFORMANCE_DIR'] ?? '../shared/conformance';

interface Expected {
  readonly data: string;
  readonly event?: string;
  readonly id?: string;
  readonly retry?: number;
}
interface Vector {
  readonly id: string;
  readonly what: string;
  readonly stream: string;
  readonly events: readonly Expected[];
}

/** Reads a whole stream as bytes cut into pieces of `size`. */
function readInPieces(stream: string, size: number): { events: object[]; reconnectMs: number | undefined } {
  const parser = new EventStreamParser();
  const decoder = new TextDecoder();
  const bytes = Buffer.from(stream);
  const events = [];
  for (let at = 0; at < bytes.length; at += size)
    events.push(...parser.push(decoder.decode(bytes.subarray(at, at + size), { stream: true })));
  return { events, reconnectMs: parser.reconnectMs };
}

const vectors = join(conformance, 'sse.json');
const skip = existsSync(vectors) ? false : `there is no ${vectors}`;

t.test('the stream parser reads every vector as the standard says, however the bytes are cut', { skip }, async (t) => {
  const { parsing } = JSON.parse(readFileSync(vectors, 'utf8')) as { parsing: readonly Vector[] };
  t.ok(parsing.length >= 35);
  for (const { id, what, stream, events } of parsing)
    for (const size of [1, 2, 3, 7, 100_000]) {
      const read = readInPieces(stream, size);
      const wanted = events.map((e) => ({ event: e.event ?? 'message', data: e.data, id: e.id }));
      t.strictSame(read.events, wanted, `${id} ${what}, ${size} bytes at a time`);
      const retry = events.find((e) => e.retry !== undefined)?.retry;
      if (retry !== undefined) t.equal(read.reconnectMs, retry);
    }
});

t.test('the stream parser takes an entry of 4 MiB in small pieces, and refuses what no daemon sends', async (t) => {
  const { events } = readInPieces(`data: ${'x'.repeat(4 << 20)}\n\n`, 65_536);
  t.equal((events[0] as { data: string }).data.length, 4 << 20);
  t.throws(() => new EventStreamParser().push('x'.repeat(33 << 20)), /sent an event over/);
});

async function served(t: Test, answer: (ask: IncomingMessage, reply: ServerResponse, count: number) => void) {
  let count = 0;
  const server = createServer((ask, reply) => answer(ask, reply, ++count));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    closeConnections();
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, client: new Client(() => ({ url, apiKey: 'apk_a_b' })), count: () => count };
}

function say(reply: ServerResponse, status: number, body: unknown): void {
  reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
const failure = (error: string) => ({ error, message: `it is ${error}`, timestamp: '2026-01-01T00:00:00Z' });

t.test('a call carries path, query, key and body as the contract says', async (t) => {
  const seen: object[] = [];
  const { client } = await served(t, async (ask, reply) => {
    let body = '';
    for await (const part of ask) body += part;
    const { 'x-api-key': key, 'content-type': type, 'idempotency-key': once } = ask.headers;
    seen.push({ method: ask.method, url: ask.url, key, type, once, body });
    say(reply, 200, { processInstanceId: 'i' });
  });
  await client.call('getInstance', { params: { processInstanceId: 'a/b?ü' } });
  await client.call(
    'execProcess',
    { query: { environment: 'DEVELOPMENT' }, body: { processId: 'p', data: { a: 1 } } },
    { idempotencyKey: 'k' },
  );
  await client.call('publishFlow', { body: 'id: x\n' });
  await client.call('uploadFile', { query: { name: 'ä b' }, body: Buffer.from([1]) }, { contentType: 'image/png' });
  const key = 'apk_a_b';
  const json = 'application/json';
  t.strictSame(seen, [
    { method: 'GET', url: '/process/instance/a%2Fb%3F%C3%BC', key, type: undefined, once: undefined, body: '' },
    {
      method: 'POST',
      url: '/process/exec?environment=DEVELOPMENT',
      key,
      type: json,
      once: 'k',
      body: '{"processId":"p","data":{"a":1}}',
    },
    { method: 'POST', url: '/process/publish', key, type: 'application/yaml', once: undefined, body: 'id: x\n' },
    { method: 'POST', url: '/process/files?name=%C3%A4+b', key, type: 'image/png', once: undefined, body: '\u0001' },
  ]);
});

t.test('503 is tried again where repeating is safe, and only there', async (t) => {
  const { client, count } = await served(t, (_, reply, count) =>
    count % 2 === 1 ? say(reply, 503, failure('OVERLOADED')) : say(reply, 200, { items: [] }),
  );
  await client.call('listFlows');
  t.equal(count(), 2);
  await client.call('execProcess', { body: { processId: 'p' } }, { idempotencyKey: 'k' });
  t.equal(count(), 4);
  await t.rejects(client.call('cancelInstance', { params: { processInstanceId: 'i' } }), {
    status: 503,
    code: 'OVERLOADED',
  });
  t.equal(count(), 5);
});

t.test('an error answer becomes an ApiError with all that the daemon said', async (t) => {
  const details = [{ path: 'data.x', message: 'is no number' }];
  const { client } = await served(t, (_, reply) => say(reply, 400, { ...failure('VALIDATION_ERROR'), details }));
  const error = await client.call('listKeys').catch((error) => error);
  t.type(error, ApiError);
  t.match(error, { status: 400, code: 'VALIDATION_ERROR', message: 'it is VALIDATION_ERROR', details });
});

t.test('what is no daemon is said to be none', async (t) => {
  const { client } = await served(t, (_, reply, count) => {
    reply.writeHead(count === 1 ? 404 : 200, { 'content-type': 'text/html' }).end('<h1>It works</h1>');
  });
  await t.rejects(client.call('listFlows'), { code: 'UNEXPECTED_ANSWER', message: /no wfx daemon.*404/ });
  await t.rejects(client.call('listFlows'), { code: 'UNEXPECTED_ANSWER', message: /not JSON/ });
});

t.test('nobody listening is an UnreachableError that says so', async (t) => {
  const client = new Client(() => ({ url: 'http://127.0.0.1:1' }));
  await t.rejects(client.call('listFlows'), {
    refused: true,
    message: 'nothing answers at http://127.0.0.1:1 (connection refused)',
  });
  t.type(await client.call('listFlows').catch((e) => e), UnreachableError);
});

const entry = (id: number) => `id: ${id}\nevent: log\ndata: {"nodeId":"n","message":"${id}"}\n\n`;

t.test('a log goes on after lost connections and a restart, with nothing lost and nothing twice', async (t) => {
  const resumes: (string | undefined)[] = [];
  const { client } = await served(t, (ask, reply, count) => {
    resumes.push(ask.headers['last-event-id'] as string | undefined);
    if (count === 3) return say(reply, 503, failure('SHUTTING_DOWN'));
    reply.writeHead(200, { 'content-type': 'text/event-stream' });
    if (count === 1)
      return void reply.write(`retry: 10\n\n${entry(1)}${entry(2)}id: 3\nevent: log\nda`, () => reply.destroy());
    if (count === 2) return void reply.end(`: ping\n\n${entry(3)}`);
    return void reply.end(`${entry(4)}event: end\ndata: {"stateCd":1}\n\n`);
  });
  const reconnects: number[] = [];
  const seen = [];
  for await (const item of client.log('i', { onReconnecting: ({ attempt }) => reconnects.push(attempt) }))
    seen.push(item.kind === 'entry' ? item.id : item.end);
  t.strictSame(seen, ['1', '2', '3', '4', { stateCd: 1 }]);
  t.strictSame(resumes, [undefined, '2', '3', '3']);
  t.equal(reconnects.length, 3);
});

t.test('a log that is over for good (204) ends, an unknown one is an error at once, an abort ends it', async (t) => {
  const { client } = await served(t, (ask, reply) => {
    if (ask.url?.includes('over')) reply.writeHead(204).end();
    else if (ask.url?.includes('unknown')) say(reply, 404, failure('INSTANCE_NOT_FOUND'));
    else reply.writeHead(200, { 'content-type': 'text/event-stream' }).write(entry(1));
  });
  for await (const item of client.log('over', { after: '9' })) t.fail(`came ${item.kind}`);
  await t.rejects(client.log('unknown').next(), { code: 'INSTANCE_NOT_FOUND' });
  const stop = new AbortController();
  const log = client.log('quiet', { signal: stop.signal });
  t.match(await log.next(), { value: { id: '1' } });
  const next = log.next();
  stop.abort();
  await t.rejects(next, { name: 'AbortError' });
});

t.test('text from elsewhere can neither move the cursor nor lie about its order', async (t) => {
  t.equal(
    plain('a\u001b[31mb\u0007\r\nc\u009b2Jd\u202egpj.exe\u2028\ud800'),
    'a\\x1b[31mb\\x07\\r\\nc\\x9b2Jd\\u202egpj.exe\\u2028\\ud800',
  );
  t.equal(plain('grüße 👩‍👩‍👧 日本'), 'grüße 👩‍👩‍👧 日本', 'what is only text stays');
  t.equal(plainLines('a\r\nb\n\u001b[2J'), 'a\nb\n\\x1b[2J');
  t.equal(plain('x'.repeat(1_000_000), 10), 'xxxxxxxxxx… (999990 more characters)');
  t.equal(plain(`${'x'.repeat(9)}😀!`, 10), 'xxxxxxxxx… (3 more characters)', 'no half character');
  const value = { a: '\u001b\u007f\u009b\u202e', b: [1, null] };
  t.notMatch(plainJson(value, 2), /[\u001b\u007f-\u009f\u202e]/);
  t.strictSame(JSON.parse(plainJson(value, 2)), value, 'still the same JSON');
});

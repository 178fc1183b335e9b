import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import t from 'tap';
import { EventStreamParser, type ServerSentEvent } from '../../src/client/sse.ts';
import { tempFolder } from '../folder.ts';
import { openServer, publish, SHORT, shortFlow, type TestServer, WAITING, waitingFlow } from './server.ts';

/** An open stream: its head, and its events as they come. */
interface Opened {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  /** Events until the server ends the stream. */
  all(): Promise<ServerSentEvent[]>;
  /** The next `count` events. */
  take(count: number): Promise<ServerSentEvent[]>;
  /** Text until it holds `part`. */
  until(part: string): Promise<string>;
  close(): void;
}

function open(server: TestServer, path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const sent = request(
      server.url + path,
      { method, headers: { 'x-api-key': server.admin, ...headers } },
      (answer) => {
        const parser = new EventStreamParser();
        const events: ServerSentEvent[] = [];
        let text = '';
        let ended = false;
        let woken = (): void => undefined;
        answer.setEncoding('utf8');
        answer.on('data', (part: string) => {
          text += part;
          events.push(...parser.push(part));
          woken();
        });
        answer.on('close', () => {
          ended = true;
          woken();
        });
        answer.on('error', () => undefined);
        const when = async (done: () => boolean): Promise<void> => {
          while (!done() && !ended) await new Promise<void>((wake) => (woken = wake));
        };
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          all: () => when(() => false).then(() => events),
          take: (count) => when(() => events.length >= count).then(() => events.splice(0, count)),
          until: (part) => when(() => text.includes(part)).then(() => text),
          close: () => sent.destroy(),
        });
      },
    );
    sent.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? undefined : reject(error)));
    sent.end();
  });
}

async function start(server: TestServer, processId: string, data = {}): Promise<string> {
  const answer = await server.call('POST', '/process/exec', { body: { processId, data } });
  return answer.body.processInstanceId;
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const LONG = '33333333-2222-4333-8444-555555555555';
/** Its log holds `{text}` a thousand times. */
const longFlow = `
id: ${LONG}
name: Long
nodes:
  start: { type: startEvent, next: loop }
  loop:
    type: loopNode
    times: 1000
    nodes: { set: { type: setVariable, set: { n: "{loop.index}" } } }
    next: done
  done: { type: endEvent }
`;
const logs = (id: string): string => `/process/instance/${id}/logs`;
const complete = (server: TestServer, id: string) =>
  server.call('POST', '/process/task', {
    body: { processInstanceId: id, nodeId: 'ask', action: 'COMPLETE', data: { inputValue: 'yes' } },
  });

t.test('the log of an execution', async (t) => {
  const server = await openServer(t);
  await publish(server, shortFlow());
  await publish(server, waitingFlow());

  t.test('a finished one is told from its beginning to its end, then the stream closes', async (t) => {
    const id = await start(server, SHORT, { who: 'a\nevent: forged\nid: 99\r\n\r\ndata: x' });
    const stream = await open(server, logs(id));
    t.equal(stream.status, 200);
    t.match(stream.headers, {
      'content-type': /^text\/event-stream/,
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'content-length': undefined,
    });
    const events = await stream.all();
    const end = events.at(-1);
    t.strictSame([end?.event, end?.data], ['end', '{"stateCd":1}']);
    t.strictSame(
      events.map((event) => event.id),
      events.map((_, index) => String(index + 1)),
      'ids count without gaps, and no text in the log forges one',
    );
    for (const event of events.slice(0, -1)) {
      t.equal(event.event, 'log');
      t.match(JSON.parse(event.data), { nodeId: String, nodeType: String, level: /INFO|WARN|ERROR/, timestamp: /Z$/ });
    }
  });

  t.test('Last-Event-ID resumes strictly after it; after the end there is nothing more (204)', async (t) => {
    const id = await start(server, SHORT);
    const events = await (await open(server, logs(id))).all();
    const last = events.length;
    for (let seen = 1; seen < last; seen += 1) {
      const rest = await (await open(server, logs(id), { 'last-event-id': String(seen) })).all();
      t.strictSame(
        rest.map((event) => event.id),
        events.slice(seen).map((event) => event.id),
        `after ${seen}`,
      );
    }
    t.equal((await open(server, logs(id), { 'last-event-id': String(last) })).status, 204);
  });

  t.test('an instance can be read as it was at each entry', async (t) => {
    const id = await start(server, SHORT, { who: 'Ada' });
    const entries = (await (await open(server, logs(id))).all()).filter(({ event }) => event === 'log');
    const now = (await server.call('GET', `/process/instance/${id}`)).body;
    for (const [i, { data }] of entries.entries()) {
      const { nodeId, message, variables } = JSON.parse(data);
      const then = (await server.call('GET', `/process/instance/${id}?at=${i + 1}`)).body;
      if (i + 1 === entries.length) t.strictSame(then, now, 'at the last entry it is as it is');
      else t.match(then, { processInstanceId: id, stateCd: 0, endTime: undefined });
      if (variables !== undefined) t.strictSame(then.data, variables);
      const { statusCd } = then.nodes.find((node: { nodeId: string }) => node.nodeId === nodeId);
      if (message === 'completed') t.equal(statusCd, 2);
      if (message === 'started') t.equal(statusCd, 0);
    }
    t.strictSame((await server.call('GET', `/process/instance/${id}?at=999`)).body, now);
    for (const odd of ['0', '-1', 'x', '1.5'])
      t.equal((await server.call('GET', `/process/instance/${id}?at=${odd}`)).status, 400, odd);
  });

  t.test('an id that the log never gave starts from the beginning', async (t) => {
    const ended = await start(server, SHORT);
    const events = await (await open(server, logs(ended))).all();
    for (const odd of ['999999', 'abc', '-1', '1.5', '', '9'.repeat(400), '…']) {
      const header = Buffer.from(odd, 'utf8').toString('latin1');
      const again = await open(server, logs(ended), { 'last-event-id': header });
      t.equal(again.status, 200);
      t.equal((await again.all()).length, events.length, `id ${odd.slice(0, 10)}`);
    }
    const running = await start(server, WAITING);
    const stream = await open(server, logs(running), { 'last-event-id': '999999' });
    t.equal((await stream.take(1))[0]?.id, '1');
    stream.close();
  });

  t.test('a running one opens at once, and goes on live without gap or double', async (t) => {
    const id = await start(server, WAITING);
    const stream = await open(server, logs(id));
    const history = await stream.take(2);
    await complete(server, id);
    const events = [...history, ...(await stream.all())];
    t.strictSame(
      events.map((event) => Number(event.id)),
      events.map((_, index) => index + 1),
    );
    t.equal(events.at(-1)?.event, 'end');
  });

  t.test('the headers of a quiet stream come before any event, with the reconnect time', async (t) => {
    const id = await start(server, WAITING);
    const all = await (await open(server, logs(id))).take(2);
    const stream = await open(server, logs(id), { 'last-event-id': all.at(-1)?.id ?? '' });
    t.equal(stream.status, 200);
    t.match(await stream.until('retry'), /^retry: \d+\n\n/);
    stream.close();
  });

  t.test('HEAD answers the headers and ends', async (t) => {
    const id = await start(server, WAITING);
    const stream = await open(server, logs(id), {}, 'HEAD');
    t.equal(stream.status, 200);
    t.match(stream.headers['content-type'], /^text\/event-stream/);
    t.strictSame(await stream.all(), []);
  });

  t.test('unknown, and of another organization: 404 with an error body', async (t) => {
    const id = await start(server, WAITING);
    await server.call('POST', '/admin/organizations', { key: server.system, body: { name: 'Other' } });
    const foreign = await server.keyWith(['viewer'], 'other');
    const answers = [
      await server.call('GET', logs(id), { key: foreign }),
      await server.call('GET', logs(id), { key: foreign, headers: { 'last-event-id': '1' } }),
      await server.call('GET', logs('01a1fc73-bb64-7000-9fec-e6705c104686')),
    ];
    for (const { status, body } of answers) t.strictSame([status, body.error], [404, 'INSTANCE_NOT_FOUND']);
  });
});

t.test('readers that leave, stall or wait', async (t) => {
  const server = await openServer(t, { heartbeatMs: 20 });
  await publish(server, shortFlow());
  await publish(server, waitingFlow());
  const id = await start(server, WAITING);

  t.test('a quiet stream says something, which is no event', async (t) => {
    const stream = await open(server, logs(id));
    t.match(await stream.until('heartbeat\n\n: heartbeat'), /\n: heartbeat\n\n/);
    t.notOk((await stream.take(2)).some((event) => event.data.includes('heartbeat')));
    stream.close();
  });

  t.test('who leaves is forgotten: 200 times open and gone leaves no stream open', async (t) => {
    for (let round = 0; round < 20; round += 1) {
      const streams = await Promise.all(Array.from({ length: 10 }, () => open(server, logs(id))));
      for (const stream of streams) stream.close();
    }
    while (server.streams.open > 0) await turn();
    t.equal(server.streams.open, 0);
  });

  t.test('who never reads is let go, while others are served', async (t) => {
    await publish(server, longFlow);
    const long = await start(server, LONG, { text: 'x'.repeat(15_000) });
    const socket = connect(server.port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    socket.pause();
    socket.write(`GET ${logs(long)} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${server.admin}\r\n\r\n`);
    while (server.streams.open === 0) await turn();
    t.equal((await (await open(server, logs(long))).all()).at(-1)?.event, 'end', 'another reader gets all of it');
    while (server.streams.open > 0) await turn();
    t.equal(server.streams.open, 0);
  });

  t.test('streams end when the daemon stops', async (t) => {
    const stream = await open(server, logs(id));
    const events = await open(server, '/process/events');
    await stream.take(1);
    server.streams.close();
    await stream.all();
    await events.all();
    t.equal(server.streams.open, 0);
  });
});

t.test('lifecycle events', async (t) => {
  const server = await openServer(t);
  await publish(server, shortFlow());
  await server.call('POST', '/admin/organizations', { key: server.system, body: { name: 'Other' } });
  const foreign = await server.keyWith(['admin'], 'other');
  const [mine, all, others] = [
    await open(server, '/process/events'),
    await open(server, '/process/events', { 'x-api-key': server.system }),
    await open(server, '/process/events', { 'x-api-key': foreign }),
  ];
  const id = await start(server, SHORT);
  const events = await mine.take(8);
  t.equal(events[0]?.event, 'INSTANCE_STARTED');
  t.equal(events.at(-1)?.event, 'INSTANCE_ENDED');
  t.match(JSON.parse(events[1]?.data ?? ''), { type: 'NODE_STARTED', processInstanceId: id, nodeId: 'start' });
  t.strictSame(await all.take(8), events);

  const resumed = await open(server, '/process/events', { 'last-event-id': events[2]?.id ?? '' });
  t.strictSame(await resumed.take(5), events.slice(3));

  await publish(server, shortFlow('22222222-2222-4333-8444-555555555555'), { key: foreign });
  const other = await server.call('POST', '/process/exec', {
    key: foreign,
    body: { processId: '22222222-2222-4333-8444-555555555555' },
  });
  const seen = await others.take(1);
  t.equal(JSON.parse(seen[0]?.data ?? '').processInstanceId, other.body.processInstanceId, 'nothing of the others');
  for (const stream of [mine, all, others, resumed]) stream.close();
});

t.test('lifecycle events resume from the journal, over restarts', async (t) => {
  const dataDir = tempFolder(t);
  const seen: ServerSentEvent[] = [];
  let id = '';
  await t.test('before', async (t) => {
    const server = await openServer(t, { dataDir });
    await publish(server, waitingFlow());
    const stream = await open(server, '/process/events');
    id = await start(server, WAITING);
    seen.push(...(await stream.take(4)));
    stream.close();
  });
  const server = await openServer(t, { dataDir });
  const from = (position: string) => open(server, '/process/events', { 'last-event-id': position });
  const [first, third, beyond] = [await from('0.0'), await from(seen[2]?.id ?? ''), await from('999999.0')];
  t.strictSame(await first.take(4), seen, 'told again as it was told first');
  t.strictSame(await third.take(1), seen.slice(3));
  await complete(server, id);
  const next = await first.take(4);
  t.match(JSON.parse(next[0]?.data ?? ''), { type: 'NODE_COMPLETED', processInstanceId: id, nodeId: 'ask' });
  t.strictSame(await third.take(4), next, 'and on');
  t.strictSame(await beyond.take(4), next, 'a position that the journal never had is now');
  for (const stream of [first, third, beyond]) stream.close();
});

t.test('a stream ends with the credential that opened it', async (t) => {
  const server = await openServer(t, { heartbeatMs: 20 });
  await publish(server, waitingFlow());
  const id = await start(server, WAITING);
  const paths = [`/process/instance/${id}/logs`, '/process/events', '/admin/webhooks/deliveries'];
  const keyIdOf = (key: string): string => key.split('_')[1] as string;
  const change = (key: string, method: string, path: string, body?: object) =>
    server.call(method, `/admin/keys/${keyIdOf(key)}${path}`, { body });
  const ends: readonly [string, (key: string) => Promise<unknown>, object?][] = [
    ['revoked', (key) => change(key, 'PATCH', '', { status: 'REVOKED' })],
    ['suspended', (key) => change(key, 'PATCH', '', { status: 'SUSPENDED' })],
    ['rotated', (key) => change(key, 'POST', '/rotate')],
    ['deleted', (key) => change(key, 'DELETE', '')],
    ['expired', async () => undefined, { expiresAt: new Date(Date.now() + 1500).toISOString() }],
  ];
  for (const [name, end, changes] of ends) {
    const key = await server.keyWith(['admin'], 'default', changes);
    const others = await open(server, paths[0] as string);
    const streams = await Promise.all(paths.map((path) => open(server, path, { 'x-api-key': key })));
    for (const stream of streams) t.equal(stream.status, 200, name);
    const poll = server.call('POST', '/worker/poll', { key, body: { handlers: ['any'] } });
    const late = await begun(
      server.port,
      '/process/event',
      key,
      '{"eventType":"e","correlationKey":"k","timeToLive":"PT1H"}',
    );
    await end(key);
    t.ok([204, 401].includes((await poll).status), `${name}: nobody waits for tasks with it any more`);
    await Promise.all(streams.map((stream) => stream.all()));
    for (const path of paths) t.equal((await server.call('GET', path, { key })).status, 401, `${name}: ${path}`);
    t.match(await others.until('waiting for input'), /waiting for input/, 'streams of other keys go on');
    t.match(await late.finish(), /^HTTP\/1\.1 401 /, `${name}: a request that was admitted before does nothing`);
    others.close();
  }
});

/** A request that the server has admitted, and whose body comes when it is told to. */
async function begun(port: number, path: string, key: string, body: string) {
  const socket = connect(port, '127.0.0.1');
  const head = [`POST ${path} HTTP/1.1`, 'Host: localhost', `X-API-Key: ${key}`, 'Content-Type: application/json'];
  const more = [`Content-Length: ${body.length}`, 'Expect: 100-continue', 'Connection: close'];
  socket.write(`${[...head, ...more].join('\r\n')}\r\n\r\n`);
  let text = '';
  socket.setEncoding('latin1').on('data', (part) => {
    text += part;
  });
  await once(socket, 'data');
  return {
    async finish(): Promise<string> {
      socket.write(body);
      await once(socket, 'close');
      return text.replace('HTTP/1.1 100 Continue\r\n\r\n', '');
    },
  };
}

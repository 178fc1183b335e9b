import { createHmac, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import type { Client } from '../../src/client/client.ts';
import type { Webhook } from '../../src/contract/types.ts';
import { readEvent } from '../../src/daemon/triggers/event.ts';
import { live, newFlowId, tempHome } from './live.ts';
import { daemonProcess } from './process.ts';
import { openServer } from './server.ts';

t.setTimeout(240_000);

interface Sent {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
  readonly body: any;
}

/** Posts bytes as they are, with these headers alone. */
function post(url: string, path: string, body: string | Buffer, headers: Record<string, string> = {}): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url + path, { method: 'POST', headers, agent: false }, (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('end', () => {
        resolve({ status: answer.statusCode ?? 0, body: JSON.parse(Buffer.concat(parts).toString() || 'null') });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const JSON_TYPE = { 'content-type': 'application/json' };
const github = (secret: string, body: string, id: string, event = 'push', more = {}) => ({
  ...JSON_TYPE,
  'x-github-event': event,
  'x-github-delivery': id,
  'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  ...more,
});

/** A flow that ends at once, linked to a registration. */
function linked(
  registration: string,
  { id = newFlowId(), name = 'Linked', eventType = '', set = 'seen: yes' } = {},
): string {
  const filter = eventType === '' ? '' : `, eventType: ${eventType}`;
  return `id: ${id}
name: ${name}
triggers:
  - { type: webhook, registration: ${registration}${filter} }
nodes:
  start: { type: startEvent, next: set }
  set: { type: setVariable, set: { ${set} }, next: done }
  done: { type: endEvent }
`;
}

const publish = (client: Client, body: string, environment?: 'DEVELOPMENT' | 'PRODUCTION') =>
  client.call('publishFlow', { body, query: environment === undefined ? {} : { environment } });
const create = (client: Client, body: Parameters<typeof createOf>[1]) => createOf(client, body);
const createOf = (
  client: Client,
  body: { name: string; provider: Webhook['provider'] } & Partial<Record<string, unknown>>,
) => client.call('createWebhook', { body: body as never });
const deliveries = async (client: Client, webhookId: string) =>
  (await client.call('listDeliveries', { params: { webhookId }, query: { limit: 500 } })).items;
const runsOf = async (client: Client, processId: string) =>
  (await client.call('listFlowInstances', { params: { processId }, query: { limit: 500 } })).items;
const only = (webhook: Webhook) => webhook.endpoints[0] as Webhook['endpoints'][number] & { secret: string };

t.test('a signed delivery', async (t) => {
  const daemon = await live(t);
  const { client, url } = daemon;
  const hook = await create(client, { name: 'repo', provider: 'GITHUB' });
  const { path, secret } = only(hook);
  const id = newFlowId();
  await publish(client, linked('repo', { id, set: 'who: "{webhookPayload.pusher.name}"' }));
  const body = '{ "pusher": {"name": "ada"}, "size": 1.0 }';

  t.test('starts the linked flow with all eight variables', async (t) => {
    const headers = github(secret, body, 'guid-1', 'push', { 'x-request-id': 'trace-9', authorization: 'Bearer tok' });
    t.same(await post(url, path, body, headers), { status: 200, body: { received: true } });
    const [run] = await runsOf(client, id);
    const ran = await daemon.ended(run?.processInstanceId ?? '');
    t.match(ran.data, {
      who: 'ada',
      webhookPayload: { pusher: { name: 'ada' }, size: 1 },
      webhookEventType: 'push',
      webhookProvider: 'GITHUB',
      webhookEventId: 'guid-1',
      webhookTraceId: 'trace-9',
      webhookRawBody: Buffer.from(body).toString('base64'),
      webhookEventTimestamp: null,
      webhookHeaders: { 'x-github-event': 'push', 'content-type': 'application/json' },
    });
    const [delivery] = await deliveries(client, hook.id);
    t.match(run?.trigger, { type: 'webhook', webhookId: hook.id, deliveryId: delivery?.deliveryId, eventType: 'push' });
    t.match(delivery, {
      verdict: 'STARTED',
      eventType: 'push',
      eventId: 'guid-1',
      environment: null,
      processInstanceIds: [run?.processInstanceId],
      body,
      headers: { 'x-github-delivery': 'guid-1', authorization: '***' },
    });
    t.equal(run?.environment, 'PRODUCTION', 'a shared address runs in PRODUCTION');
  });

  t.test('with a wrong, an old or no signature starts nothing, and is answered the same', async (t) => {
    const stripe = await create(client, { name: 'pay', provider: 'STRIPE', secret: 'whsec_mine' });
    t.equal(only(stripe).secret, 'whsec_mine', 'a given secret is taken as it is');
    await publish(client, linked('pay', { name: 'Pay' }));
    const old = Math.floor(Date.now() / 1000) - 301;
    const stale = `t=${old},v1=${createHmac('sha256', 'whsec_mine').update(`${old}.${body}`).digest('hex')}`;
    for (const [headers, verdict] of [
      [{}, 'BAD_SIGNATURE'],
      [{ 'stripe-signature': `t=${old + 301},v1=00` }, 'BAD_SIGNATURE'],
      [{ 'stripe-signature': stale }, 'STALE'],
    ] as const) {
      t.same(await post(url, only(stripe).path, body, { ...JSON_TYPE, ...headers }), {
        status: 200,
        body: { received: true },
      });
      const [delivery] = await deliveries(client, stripe.id);
      t.match(delivery, { verdict, processInstanceIds: [], reason: /\w/ });
    }
  });

  t.test('with an id that came before starts nothing, and its body is kept all the same', async (t) => {
    const before = (await runsOf(client, id)).length;
    await post(url, path, body, github(secret, body, 'guid-1'));
    t.equal((await runsOf(client, id)).length, before);
    const [repeat, ...others] = await deliveries(client, hook.id);
    const first = others.find((one) => one.verdict === 'STARTED');
    t.match(repeat, { verdict: 'DUPLICATE', reason: new RegExp(first?.deliveryId ?? 'none'), body });
  });

  t.test('comes 100 times at once and starts once', async (t) => {
    const headers = github(secret, body, 'guid-100');
    const answers = await Promise.all(Array.from({ length: 100 }, () => post(url, path, body, headers)));
    t.ok(answers.every(({ status }) => status === 200));
    const all = (await deliveries(client, hook.id)).filter(({ eventId }) => eventId === 'guid-100');
    t.equal(all.length, 100);
    t.equal(all.filter(({ verdict }) => verdict === 'STARTED').length, 1);
    t.equal(all.filter(({ verdict }) => verdict === 'DUPLICATE').length, 99);
  });

  t.test('of a forged sender does not use up the event id of the true one', async (t) => {
    await post(url, path, body, github('not the secret', body, 'guid-2'));
    await post(url, path, body, github(secret, body, 'guid-2'));
    t.same(
      (await deliveries(client, hook.id)).slice(0, 2).map(({ verdict }) => verdict),
      ['STARTED', 'BAD_SIGNATURE'],
    );
  });

  t.test('to an unknown address is 404, whatever the address', async (t) => {
    for (const token of ['a'.repeat(32), 'short', '%00', 'x'.repeat(300), '..%2fadmin'])
      t.match(await post(url, `/webhook/receive/${token}`, body), { status: 404, body: { error: 'NOT_FOUND' } });
  });

  t.test('comes in under any Host, since senders call the public name', async (t) => {
    const headers = { ...github(secret, body, 'guid-host'), host: 'hooks.example.org' };
    t.equal((await post(url, path, body, headers)).status, 200);
    t.equal((await post(url, '/process/exec', '{}', { host: 'hooks.example.org' })).status, 403);
  });

  t.test('larger than the limit is refused, and nothing is kept of it', async (t) => {
    const before = (await deliveries(client, hook.id)).length;
    t.match(await post(url, path, 'x'.repeat(1024 * 1024 + 1)), { status: 413, body: { error: 'PAYLOAD_TOO_LARGE' } });
    t.equal((await deliveries(client, hook.id)).length, before);
  });
});

t.test('a body of any type becomes a payload, and its bytes stay as they are', async (t) => {
  const daemon = await live(t);
  const { client, url } = daemon;
  const hook = await create(client, { name: 'any', provider: 'CUSTOM', auth: 'NONE' });
  t.equal(only(hook).secret, undefined, 'without signatures there is no secret');
  const id = newFlowId();
  await publish(client, linked('any', { id }));
  const binary = Buffer.from([0x7b, 0xff, 0xfe, 0x7d]);
  for (const [type, body, payload] of [
    ['application/json', '{"a":[1,2]}', { a: [1, 2] }],
    ['application/vnd.acme+json; charset=utf-8', '{"a":1}', { a: 1 }],
    ['application/x-www-form-urlencoded', 'a=1&b=x+y&b=z', { a: '1', b: ['x y', 'z'] }],
    ['application/x-www-form-urlencoded', `payload=${encodeURIComponent('{"zen":"é"}')}`, { zen: 'é' }],
    ['text/plain', 'hello', 'hello'],
    ['application/xml', '<a/>', '<a/>'],
    ['text/plain; charset=iso-8859-1', Buffer.from([0xe9]), 'é'],
    ['application/octet-stream', binary, null],
    ['image/png', binary, null],
    ['', '{"a":1}', { a: 1 }],
    ['', '', null],
    ['json', '{"a":1}', null],
    ['text/', '{"a":1}', '{"a":1}'],
  ] as const) {
    await post(url, only(hook).path, body as string | Buffer, type === '' ? {} : { 'content-type': type });
    const [run] = await runsOf(client, id);
    const { data } = await daemon.ended(run?.processInstanceId ?? '');
    t.same(data.webhookPayload, payload, type);
    t.equal(data.webhookRawBody, Buffer.from(body).toString('base64'), type);
  }
  t.match((await deliveries(client, hook.id))[2], { size: 0, body: '', bodyEncoding: 'utf8' });
  t.match((await deliveries(client, hook.id))[5], { body: binary.toString('base64'), bodyEncoding: 'base64' });

  t.test('but JSON that no flow could hold matches nothing', async (t) => {
    const before = (await runsOf(client, id)).length;
    for (const body of ['{"a":', binary, '{"__proto__":{"x":1}}', `${'['.repeat(200)}${']'.repeat(200)}`, '1e999']) {
      t.equal((await post(url, only(hook).path, body, JSON_TYPE)).status, 200);
      t.match((await deliveries(client, hook.id))[0], { verdict: 'NO_MATCH', reason: /sent as JSON/ });
    }
    t.equal((await runsOf(client, id)).length, before);
  });
});

t.test('which flows start', async (t) => {
  const { client, url } = await live(t);
  const send = async (webhook: Webhook, body: object, at = 0, headers = {}) => {
    const text = JSON.stringify(body);
    await post(url, webhook.endpoints[at]?.path ?? '', text, { ...JSON_TYPE, ...headers });
    return (await deliveries(client, webhook.id))[0];
  };
  const custom = (name: string, more = {}) => create(client, { name, provider: 'CUSTOM', auth: 'NONE', ...more });

  t.test('only those whose filter means the event', async (t) => {
    const hook = await custom('filtered', { eventTypePath: 'meta.kind' });
    const orders = newFlowId();
    await publish(client, linked('filtered', { id: orders, eventType: 'order.created' }));
    await publish(client, linked(hook.id, { name: 'By id', eventType: 'order.*' }));
    t.equal((await send(hook, { meta: { kind: 'order.created' } }))?.processInstanceIds.length, 2);
    t.equal((await send(hook, { meta: { kind: 'order.paid' } }))?.processInstanceIds.length, 1);
    const other = await send(hook, { meta: { kind: 'user.created' } });
    t.match(other, { verdict: 'NO_MATCH', eventType: 'user.created', reason: /order\.created/ });
    t.match(await send(hook, {}), { verdict: 'NO_MATCH', eventType: '' });
    const shown = await client.call('getWebhook', { params: { webhookId: hook.id } });
    t.match(
      shown.flows.find((flow) => flow.processId === orders),
      { version: '1', eventType: 'order.created' },
    );
  });

  t.test('a filter also means what a provider calls it more precisely', async (t) => {
    const hook = await create(client, { name: 'pulls', provider: 'GITHUB', auth: 'NONE' });
    await publish(client, linked('pulls', { eventType: 'pull_request.opened' }));
    const headers = { 'x-github-event': 'pull_request' };
    t.match(await send(hook, { action: 'opened' }, 0, headers), { verdict: 'STARTED', eventType: 'pull_request' });
    t.match(await send(hook, { action: 'closed' }, 0, headers), { verdict: 'NO_MATCH' });
  });

  t.test('only published ones, in the environment of the address', async (t) => {
    const hook = await custom('both', { mode: 'PER_ENVIRONMENT' });
    t.same(
      hook.endpoints.map(({ environment }) => environment),
      ['DEVELOPMENT', 'PRODUCTION'],
    );
    const id = newFlowId();
    t.match(await send(hook, {}), { verdict: 'NO_MATCH', reason: /no published flow/ });
    await publish(client, linked('both', { id, name: 'Both' }), 'DEVELOPMENT');
    t.match(await send(hook, {}, 1), { verdict: 'NO_MATCH', reason: /published in PRODUCTION: Both/ });
    t.match(await send(hook, {}), { verdict: 'STARTED', environment: 'DEVELOPMENT' });
    t.match((await runsOf(client, id))[0], { environment: 'DEVELOPMENT', processVersion: '1' });
    await client.call('activateFlow', { params: { processId: id }, body: { version: '1', environment: 'PRODUCTION' } });
    t.match(await send(hook, {}, 1), { verdict: 'STARTED', environment: 'PRODUCTION' });
    await client.call('unpublishFlow', { params: { processId: id } });
    t.match(await send(hook, {}), { verdict: 'NO_MATCH' });
  });

  t.test('by the triggers of the active version, not of the newest', async (t) => {
    const hook = await custom('versions');
    const id = newFlowId();
    await publish(client, linked('versions', { id, eventType: 'a' }));
    await publish(client, linked('versions', { id, eventType: 'b' }));
    t.match(await send(hook, { type: 'a' }), { verdict: 'NO_MATCH' });
    await client.call('activateFlow', { params: { processId: id }, body: { version: '1' } });
    t.match(await send(hook, { type: 'a' }), { verdict: 'STARTED' });
    t.match(await send(hook, { type: 'b' }), { verdict: 'NO_MATCH' });
  });

  t.test('an event id counts for one address alone, and an event without one is never a repeat', async (t) => {
    const hook = await custom('ids', { mode: 'PER_ENVIRONMENT', eventIdPath: 'header:X-Id' });
    await publish(client, linked('ids'));
    const verdicts = [];
    for (const [at, headers] of [
      [0, { 'x-id': '7' }],
      [1, { 'x-id': '7' }],
      [1, { 'x-id': '7' }],
      [1, {}],
      [1, {}],
    ] as const)
      verdicts.push((await send(hook, {}, at, headers))?.verdict);
    t.same(verdicts, ['STARTED', 'STARTED', 'DUPLICATE', 'STARTED', 'STARTED']);
  });

  t.test('ids that differ only beyond what a number or a name holds are different', async (t) => {
    const hook = await custom('long ids', { eventIdPath: 'data.id' });
    await publish(client, linked('long ids'));
    const path = hook.endpoints[0]?.path ?? '';
    const long = 'x'.repeat(250);
    const body = (id: string) => `{"note":"5\\" 12345678901234567890","data":{"id": ${id} }}`;
    for (const id of ['820982911946154508', '820982911946154509', '-9007199254740993', `"${long}1"`, `"${long}2"`]) {
      for (const verdict of ['STARTED', 'DUPLICATE']) {
        await post(url, path, body(id), JSON_TYPE);
        const [delivery] = await deliveries(client, hook.id);
        t.match(delivery, { verdict, eventId: id.startsWith('"') ? /^sha256:/ : id }, id);
      }
    }
  });

  t.test('a repeat of what no flow wanted says how to start it all the same', async (t) => {
    const hook = await custom('early', { eventIdPath: 'id' });
    t.match(await send(hook, { id: 1 }), { verdict: 'NO_MATCH' });
    await publish(client, linked('early'));
    t.match(await send(hook, { id: 1 }), { verdict: 'DUPLICATE', reason: /started nothing: replay it/ });
  });
});

t.test('Slack', async (t) => {
  const { client, url } = await live(t);
  const hook = await create(client, { name: 'chat', provider: 'SLACK', secret: 'signing secret' });
  await publish(client, linked('chat', { eventType: 'app_mention' }));
  const send = (body: string, secret: string, type = 'application/json') => {
    const time = String(Math.floor(Date.now() / 1000));
    const digest = createHmac('sha256', secret).update(`v0:${time}:${body}`).digest('hex');
    const headers = { 'x-slack-request-timestamp': time, 'x-slack-signature': `v0=${digest}`, 'content-type': type };
    return post(url, only(hook).path, body, headers);
  };
  const challenge = JSON.stringify({ type: 'url_verification', challenge: 'abc' });
  t.same((await send(challenge, 'signing secret')).body, { challenge: 'abc' });
  t.same((await send(challenge, 'another')).body, { received: true }, 'a forged challenge gets no echo');
  await send(
    JSON.stringify({ type: 'event_callback', event_id: 'Ev1', event: { type: 'app_mention' } }),
    'signing secret',
  );
  t.match((await deliveries(client, hook.id))[0], { verdict: 'STARTED', eventType: 'app_mention', eventId: 'Ev1' });
  const button = `payload=${encodeURIComponent('{"type":"block_actions","trigger_id":"t1"}')}`;
  await send(button, 'signing secret', 'application/x-www-form-urlencoded');
  t.match((await deliveries(client, hook.id))[0], { verdict: 'NO_MATCH', eventType: 'block_actions', eventId: 't1' });
});

t.test('registrations', async (t) => {
  const home = tempHome(t);
  const daemon = await live(t, [], home);
  const { client, url } = daemon;
  const refused = (body: object) =>
    t.rejects(create(client, body as never), { code: 'VALIDATION_ERROR' }, JSON.stringify(body));

  t.test('are refused when they could not work', async () => {
    await refused({ name: 'x', provider: 'GITHUB', secret: '' });
    await refused({ name: 'x', provider: 'GITHUB', secret: '  ' });
    await refused({ name: 'x', provider: 'STANDARD', secret: 'not base64!' });
    await refused({ name: 'x', provider: 'GITLAB', secret: 'two\nlines' });
    await refused({ name: 'x', provider: 'GITHUB', auth: 'NONE', secret: 's' });
    await refused({ name: 'x', provider: 'GITHUB', secrets: { PRODUCTION: 's' } });
    await refused({ name: 'x', provider: 'BITKEEPER' });
    await refused({ name: ' ', provider: 'GITHUB' });
    await refused({ name: 'x', provider: 'CUSTOM', signatureHeader: 'a b' });
    await refused({ name: 'x', provider: 'CUSTOM', colour: 'red' });
  });

  t.test('show their secrets once, and keep none in the clear', async (t) => {
    const secret = `plain-${randomBytes(12).toString('hex')}`;
    const hook = await create(client, { name: 'kept', provider: 'GITHUB', secret });
    t.notMatch(JSON.stringify(await client.call('getWebhook', { params: { webhookId: hook.id } })), secret);
    t.notMatch(JSON.stringify(await client.call('listWebhooks', {})), secret);
    await post(url, only(hook).path, '{}', github(secret, '{}', 'k'));
    const files = (folder: string): string[] =>
      readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
        entry.isDirectory() ? files(join(folder, entry.name)) : [join(folder, entry.name)],
      );
    for (const file of files(home)) t.notOk(readFileSync(file).includes(secret), file);
    await t.rejects(create(client, { name: 'kept', provider: 'SLACK' }), { code: 'CONFLICT' });
  });

  t.test('take the secrets before while one is rotated', async (t) => {
    const hook = await create(client, { name: 'rotated', provider: 'GITHUB', secret: 'first' });
    const { path } = only(hook);
    const params = { webhookId: hook.id };
    const verdict = async (secret: string, id: string, at = path) => {
      await post(url, at, '{}', github(secret, '{}', id));
      return (await deliveries(client, hook.id))[0]?.verdict;
    };
    const rotated = await client.call('rotateWebhook', { params, body: { secret: 'second' } });
    t.match(rotated.endpoints[0], { secret: 'second', previousSecretUntil: /Z$/, path });
    t.equal(await verdict('first', '1'), 'NO_MATCH');
    t.equal(await verdict('second', '2'), 'NO_MATCH');
    await client.call('rotateWebhook', { params, body: { secret: 'third', overlap: 'PT1H' } });
    t.equal(await verdict('first', '2a'), 'NO_MATCH', 'the sender may never have learnt of the second');
    t.equal(await verdict('second', '2b'), 'NO_MATCH');
    t.equal(await verdict('third', '2c'), 'NO_MATCH');
    const { endpoints } = await client.call('rotateWebhook', { params, body: { overlap: 'PT0S', token: true } });
    const moved = endpoints[0];
    t.not(moved?.path, path);
    t.equal((await post(url, path, '{}')).status, 404, 'the old address is unknown at once');
    t.equal(moved?.previousSecretUntil, null);
    for (const old of ['first', 'second', 'third'])
      t.equal(await verdict(old, `3-${old}`, moved?.path), 'BAD_SIGNATURE');
    t.equal(await verdict(moved?.secret ?? '', '4', moved?.path), 'NO_MATCH');
    await t.rejects(client.call('rotateWebhook', { params, body: { environment: 'PRODUCTION' } }), {
      code: 'VALIDATION_ERROR',
    });
  });

  t.test('are changed and removed', async (t) => {
    const hook = await create(client, { name: 'passing', provider: 'CUSTOM', auth: 'NONE' });
    const params = { webhookId: hook.id };
    await t.rejects(client.call('rotateWebhook', { params }), { code: 'CONFLICT', message: /no secret to change/ });
    await post(url, only(hook).path, '{"kind":"a"}', JSON_TYPE);
    const changed = await client.call('updateWebhook', { params, body: { name: 'passed', eventTypePath: 'kind' } });
    t.match(changed, { name: 'passed', eventTypePath: 'kind', provider: 'CUSTOM' });
    await post(url, only(hook).path, '{"kind":"a"}', JSON_TYPE);
    t.match((await deliveries(client, hook.id))[0], { eventType: 'a' });
    await client.call('deleteWebhook', { params });
    t.equal((await post(url, only(hook).path, '{}')).status, 404);
    await t.rejects(client.call('getWebhook', { params }), { code: 'NOT_FOUND' });
    await t.rejects(client.call('listDeliveries', { params }), { code: 'NOT_FOUND' });
  });

  t.test('outlast a restart, with secrets and what was seen', async (t) => {
    const hook = await create(client, { name: 'lasting', provider: 'GITHUB', secret: 'stays' });
    await publish(client, linked('lasting'));
    await post(url, only(hook).path, '{}', github('stays', '{}', 'once'));
    const again = await daemon.restart();
    await post(again.url, only(hook).path, '{}', github('stays', '{}', 'once'));
    await post(again.url, only(hook).path, '{}', github('stays', '{}', 'twice'));
    const verdicts = (await deliveries(again.client, hook.id)).map(({ verdict, body }) => [verdict, body]);
    t.same(verdicts, [
      ['STARTED', '{}'],
      ['DUPLICATE', '{}'],
      ['STARTED', '{}'],
    ]);
  });
});

t.test('webhooks of another organization are unknown, and need WEBHOOK_MANAGE', async (t) => {
  const server = await openServer(t);
  const made = await server.call('POST', '/admin/webhooks', { body: { name: 'ours', provider: 'GITHUB' } });
  t.equal(made.status, 201);
  await server.call('POST', '/admin/organizations', { key: server.system, body: { organizationId: 'b', name: 'B' } });
  const others = await server.keyWith(['admin'], 'b');
  const path = `/admin/webhooks/${made.body.id}`;
  for (const [method, at] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/rotate'],
    ['POST', '/sign'],
    ['GET', '/deliveries'],
  ] as const)
    t.match(
      await server.call(method, path + at, {
        key: others,
        ...(method === 'GET' ? {} : { body: at === '/sign' ? { body: '' } : {} }),
      }),
      { status: 404 },
      method + at,
    );
  t.match(await server.call('GET', `/admin/webhooks/deliveries?webhookId=${made.body.id}`, { key: others }), {
    status: 404,
  });
  t.same((await server.call('GET', '/admin/webhooks', { key: others })).body.items, []);
  t.equal(
    (await server.call('POST', '/admin/webhooks', { key: others, body: { name: 'ours', provider: 'SLACK' } })).status,
    201,
  );
  t.equal((await server.call('GET', '/admin/webhooks', { key: await server.keyWith(['runner']) })).status, 403);
});

t.test('the flight recorder', async (t) => {
  const { client, url } = await live(t);
  const hook = await create(client, { name: 'seen', provider: 'GITHUB' });
  const params = { webhookId: hook.id };
  const { path, secret } = only(hook);
  const id = newFlowId();
  await publish(client, linked('seen', { id, eventType: 'push' }));

  t.test('is followed live, and taken up again where one left off', async (t) => {
    const stop = new AbortController();
    const stream = client.deliveries(hook.id, { signal: stop.signal });
    const first = stream.next();
    // The stream is open when what comes after this is answered is seen by it; nothing tells when, so it is tried.
    let seen: Awaited<typeof first> | undefined;
    void first.then((value) => (seen = value));
    for (let n = 0; seen === undefined; n += 1) await post(url, path, '{}', github(secret, '{}', `live-${n}`));
    t.match(seen.value, { webhookId: hook.id, verdict: 'STARTED' });
    stop.abort();
    await t.rejects(stream.next());
    await post(url, path, '{}', github(secret, '{}', 'missed', 'issues'));
    const resumed = client.deliveries(hook.id, {
      after: seen.value?.deliveryId ?? '',
      signal: AbortSignal.timeout(20_000),
    });
    for await (const delivery of resumed) {
      if (delivery.eventId !== 'missed') continue;
      t.match(delivery, { verdict: 'NO_MATCH' });
      break;
    }
  });

  t.test('is listed page by page, newest first, also by verdict', async (t) => {
    const all = await deliveries(client, hook.id);
    const page = await client.call('listDeliveries', { params, query: { limit: 1 } });
    t.equal(page.items[0]?.deliveryId, all[0]?.deliveryId);
    const next = await client.call('listDeliveries', { params, query: { limit: 500, cursor: page.nextCursor ?? '' } });
    t.same(
      next.items.map(({ deliveryId }) => deliveryId),
      all.slice(1).map(({ deliveryId }) => deliveryId),
    );
    t.equal(next.nextCursor, null);
    const { items } = await client.call('listDeliveries', { params, query: { verdict: 'NO_MATCH' } });
    t.ok(items.length > 0 && items.every(({ verdict }) => verdict === 'NO_MATCH'));
  });

  t.test('sends again to any version and environment', async (t) => {
    await publish(client, linked('seen', { id, eventType: 'issues' }), 'DEVELOPMENT');
    const body = '{"zen":1}';
    await post(url, path, body, github(secret, body, 'again'));
    const [original] = await deliveries(client, hook.id);
    const deliveryId = original?.deliveryId ?? '';
    const replay = (body: object) => client.call('replayDelivery', { params: { ...params, deliveryId }, body });
    const same = await replay({});
    t.match(same, { verdict: 'STARTED', replayOf: deliveryId, body, eventId: 'again' });
    t.match(await client.call('getInstance', { params: { processInstanceId: same.processInstanceIds[0] ?? '' } }), {
      trigger: { deliveryId: same.deliveryId, replayOf: deliveryId },
      data: { webhookPayload: { zen: 1 } },
    });
    t.match(await replay({ environment: 'DEVELOPMENT' }), { verdict: 'NO_MATCH', reason: /issues/ });
    const older = await replay({ environment: 'DEVELOPMENT', processId: id, versionNumber: '1' });
    const run = await client.call('getInstance', { params: { processInstanceId: older.processInstanceIds[0] ?? '' } });
    t.match(run, { environment: 'DEVELOPMENT', processVersion: '1' });
    await t.rejects(replay({ processId: id, versionNumber: '9' }), { code: 'VERSION_NOT_FOUND' });
    await t.rejects(replay({ processId: newFlowId() }), { code: 'PROCESS_NOT_FOUND' });
    t.match(await replay({ versionNumber: '77' }), {
      verdict: 'NO_MATCH',
      reason: /no version 77 of a flow is linked/,
    });
  });

  t.test('signs again when asked to, so that the whole path is taken', async (t) => {
    const forged = github('wrong', '{}', 'forged');
    await post(url, path, '{}', forged);
    const [rejected] = await deliveries(client, hook.id);
    const at = { ...params, deliveryId: rejected?.deliveryId ?? '' };
    t.match(await client.call('replayDelivery', { params: at, body: { resign: true } }), {
      verdict: 'STARTED',
      replayOf: at.deliveryId,
    });
    await client.call('rotateWebhook', { params, body: { overlap: 'PT0S' } });
    const resigned = await client.call('replayDelivery', { params: at, body: { resign: true } });
    t.match(resigned, { verdict: 'STARTED' });
    t.not(resigned.headers['x-hub-signature-256'], forged['x-hub-signature-256']);
  });
});

t.test('a signed request can be had for every provider, and is taken', async (t) => {
  const { client, url } = await live(t);
  for (const provider of ['GITHUB', 'STRIPE', 'GITLAB', 'SLACK', 'SHOPIFY', 'STANDARD', 'CUSTOM'] as const) {
    const hook = await create(client, { name: provider, provider });
    const params = { webhookId: hook.id };
    const body = Buffer.from('{"id":"1"}');
    const verdicts = [];
    for (const more of [{}, { forged: true }, { age: 3600 }]) {
      const signed = await client.call('signDelivery', { params, body: { body: body.toString('base64'), ...more } });
      await post(url, signed.path, body, { ...JSON_TYPE, ...signed.headers });
      verdicts.push((await deliveries(client, hook.id))[0]?.verdict);
    }
    const isTimed = ['STRIPE', 'SLACK', 'STANDARD'].includes(provider);
    t.same(verdicts, ['NO_MATCH', 'BAD_SIGNATURE', isTimed ? 'STALE' : 'NO_MATCH'], provider);
  }
});

t.test('what was answered is there after kill -9, and nothing started twice', async (t) => {
  const home = tempHome(t);
  const first = await daemonProcess(t, home);
  const hook = await create(first.client, { name: 'crash', provider: 'GITHUB', secret: 's' });
  const id = newFlowId();
  await publish(first.client, linked('crash', { id }));
  const answered: string[] = [];
  let n = 0;
  const sender = async () => {
    for (;;) {
      n += 1;
      const event = `e${n}`;
      const answer = await post(first.url, only(hook).path, '{}', github('s', '{}', event)).catch(() => undefined);
      if (answer?.status !== 200) return;
      answered.push(event);
      if (answered.length === 200) void first.kill();
    }
  };
  await Promise.all(Array.from({ length: 20 }, sender));
  t.ok(answered.length >= 200);
  const second = await daemonProcess(t, home);
  for (const event of answered.slice(0, 50)) await post(second.url, only(hook).path, '{}', github('s', '{}', event));
  const seen = await deliveries(second.client, hook.id);
  const started = new Map<string, number>();
  for (const { eventId, verdict } of seen)
    if (verdict === 'STARTED') started.set(eventId ?? '', (started.get(eventId ?? '') ?? 0) + 1);
  t.same(
    answered.filter((event) => started.get(event) !== 1),
    [],
  );
  t.equal(seen.filter(({ verdict }) => verdict === 'DUPLICATE').length, 50);
  const runs = await runsOf(second.client, id);
  t.equal(runs.length, started.size, 'each run has its delivery and each delivery its run');
});

t.test('a body that is made to be slow to read is read like any other', async (t) => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const many = readEvent({ provider: 'GITHUB' }, headers, Buffer.from('a&'.repeat(300_000)));
  t.equal((many.payload as { a: string[] }).a.length, 300_000);
  const payload = '{"id":12345678901234567890}';
  const unclosed = Buffer.from(`payload=${payload}&x="${'a'.repeat(100_000)}`);
  t.match(readEvent({ provider: 'CUSTOM', eventIdPath: 'id' }, headers, unclosed), { type: '', id: undefined });
});

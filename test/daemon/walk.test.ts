import t from 'tap';
import type { RouteName } from '../../src/contract/endpoints.ts';
import { openApi } from '../../src/contract/openapi.ts';
import {
  type CallOptions,
  openServer,
  publish,
  SHORT,
  shortFlow,
  type TestServer,
  WAITING,
  waitingFlow,
} from './server.ts';

/** Walks every operation of the API's description, so that a new one can't be forgotten. */
interface Operation {
  readonly id: RouteName;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly string[];
  readonly hasBody: boolean;
}
type Paths = Record<string, Record<string, { operationId: RouteName; requestBody?: object }>>;
const operations: readonly Operation[] = Object.entries(openApi('0')['paths'] as unknown as Paths).flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, { operationId: id, requestBody }]) => ({
      id,
      method: method.toUpperCase(),
      path,
      parameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string),
      hasBody: requestBody !== undefined,
    })),
);

const OPEN: ReadonlySet<string> = new Set([
  'receiveWebhook',
  'healthLive',
  'healthReady',
  'openapi',
  'signIn',
  'signInCallback',
  'signInSettings',
]);

const broken = { body: '{broken', headers: { 'content-type': 'application/json' } };
const filled = (path: string, ids: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(ids[name] ?? 'x'));
const UNKNOWN = { taskId: '7c9e6679-7425-40de-944b-e07fc1f90ae9' };

t.test('without a valid credential every operation but the open ones is 401, whatever else is wrong', async (t) => {
  const server = await openServer(t);
  for (const { id, method, path } of operations) {
    if (OPEN.has(id)) continue;
    const url = filled(path, {});
    for (const key of [undefined, 'apk_nobody_secret'])
      t.equal(
        (await server.call(method, url, { key, ...(method !== 'GET' && broken) })).status,
        401,
        `${method} ${path}`,
      );
  }
});

t.test('nothing of one organization is reached with a key of another', async (t) => {
  const server = await openServer(t);
  const theirs = await thingsOf(server);
  const foreign = await server.keyWith(['admin'], 'other');
  const secrets = [
    ...Object.values(theirs.ids).filter((value) => value !== 'place'),
    'Waiting',
    'order-77',
    'treasure',
  ];
  for (const operation of operations) {
    const { id, method, path, parameters } = operation;
    if (OPEN.has(id) || id === 'streamEvents' || id === 'streamDeliveries') continue;
    const name = `${id}: ${method} ${path}`;
    const missing = parameters.filter((parameter) => theirs.ids[parameter] === undefined);
    t.same(missing, [], `${name}: the test has something of each kind`);
    if (operation.hasBody && !Object.hasOwn(theirs.bodies, id)) t.fail(`${name}: the test has no body for it`);
    const ask = (ids: Readonly<Record<string, string>>) =>
      server.call(method, filled(path, ids), { key: foreign, ...theirs.bodies[id] });
    const { status, body } = await ask(theirs.ids);
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    if (id === 'setMemory' || id === 'deleteMemory')
      t.ok(status < 300, `${name}: each organization has names of its own`);
    else if (parameters.length > 0 && status === 409)
      t.equal((await ask(UNKNOWN)).status, 409, `${name} answers as for what isn't there`);
    else if (parameters.length > 0 || theirs.naming.has(id))
      t.ok(status === 404 || status === 403, `${name} answers ${status}`);
    else t.ok(status < 500, `${name} answers ${status}`);
    if (id === 'metrics') t.notMatch(text, 'wfx_http_requests_total', 'counts are of all organizations together');
    if (status < 300) for (const secret of secrets) t.notMatch(text, secret, name);
  }
  t.same(await snapshot(server, theirs.ids), theirs.before, 'and all of it is as it was');
});

t.test('streams tell an organization of its own alone', async (t) => {
  const server = await openServer(t);
  const { ids } = await thingsOf(server);
  const foreign = await server.keyWith(['admin'], 'other');
  for (const path of ['/process/events', '/admin/webhooks/deliveries']) {
    const stop = new AbortController();
    const answer = await fetch(server.url + path, { headers: { 'x-api-key': foreign }, signal: stop.signal });
    t.equal(answer.status, 200);
    await server.call('POST', '/process/exec', { body: { processId: ids['processId'] } });
    await server.call('POST', `/webhook/receive/${ids['token']}`, { body: { a: 1 } });
    await publish(server, shortFlow(SHORT), { key: foreign });
    const hook = await server.call('POST', '/admin/webhooks', {
      key: foreign,
      body: { name: path, provider: 'CUSTOM', mode: 'SHARED', auth: 'NONE' },
    });
    await server.call('POST', '/process/exec', { key: foreign, body: { processId: SHORT } });
    await server.call('POST', `/webhook/receive/${hook.body.endpoints[0].token}`, { body: { mine: 1 } });
    const own = path.startsWith('/admin') ? hook.body.id : SHORT;
    const text = await readUntil(answer, own);
    for (const id of [ids['processId'], ids['webhookId']]) t.notMatch(text, id, path);
    stop.abort();
  }
});

async function readUntil(answer: Response, what: string): Promise<string> {
  let text = '';
  for await (const part of answer.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(part).toString('utf8');
    if (text.includes(what)) return text;
  }
  return text;
}

interface Things {
  /** Real ids of the organization default, by the name of the path parameter. */
  readonly ids: Readonly<Record<string, string>>;
  /** What each operation with a body is sent. */
  readonly bodies: Readonly<Record<string, CallOptions>>;
  /** Operations without a parameter whose body or query names something of the organization default. */
  readonly naming: ReadonlySet<string>;
  readonly before: unknown;
}

/** One of everything there is, in the organization default. */
async function thingsOf(server: TestServer): Promise<Things> {
  const made = async (method: string, path: string, body: unknown, headers = {}) => {
    const answer = await server.call(method, path, { body, headers });
    t.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  await server.call('POST', '/admin/organizations', { key: server.system, body: { name: 'Other' } });
  await publish(server, waitingFlow());
  const run = await made('POST', '/process/exec', { processId: WAITING, correlationKey: 'order-77', data: { a: 1 } });
  const value = await made('POST', '/admin/environment', { name: 'PLACE', value: 'treasure' });
  const file = await made('POST', '/process/files', 'treasure', { 'content-type': 'text/plain' });
  await made('PUT', '/memory/keys/place', { value: 'treasure' });
  const key = await made('POST', '/admin/keys', { name: 'theirs', roles: ['viewer'] });
  const webhook = await made('POST', '/admin/webhooks', {
    name: 'hook',
    provider: 'CUSTOM',
    mode: 'SHARED',
    auth: 'NONE',
  });
  const token = webhook.endpoints[0].token;
  await made('POST', `/webhook/receive/${token}`, { found: 'treasure' });
  const { items } = (await server.call('GET', `/admin/webhooks/${webhook.id}/deliveries`)).body;
  const inbox = { name: 'inbox', host: '127.0.0.1', port: 1, tls: false, user: 'u', password: 'treasure' };
  const connection = await made('POST', '/admin/email-connections', inbox);
  const ids = {
    processId: WAITING,
    processInstanceId: run.processInstanceId,
    fileId: file.fileId,
    keyId: key.keyId,
    valueId: value.id,
    taskId: '7c9e6679-7425-40de-944b-e07fc1f90ae8',
    memoryKey: 'place',
    webhookId: webhook.id,
    deliveryId: items[0].deliveryId,
    connectionId: connection.id,
    organizationId: 'default',
    token,
  };
  const { processInstanceId } = ids;
  const task = { processInstanceId, nodeId: 'ask', action: 'COMPLETE', data: { inputValue: 'x' } };
  const bodies: Record<string, unknown> = {
    validateFlow: shortFlow(),
    publishFlow: waitingFlow(),
    activateFlow: { version: '1' },
    triggerFlow: { type: 'schedule' },
    unpublishFlow: {},
    execProcess: { processId: WAITING },
    startProcess: { processId: WAITING, organizationId: 'default' },
    submitTask: task,
    sendEvent: { eventType: 'x', correlationKey: 'order-77' },
    cancelInstance: {},
    retryInstance: {},
    uploadFile: 'x',
    setMemory: { value: 1 },
    pollTask: { workerId: 'w', handlers: ['h'], waitMs: 0 },
    keepTask: {},
    completeTask: { result: 1 },
    failTask: { code: 'X', message: 'x' },
    createKey: { name: 'x', roles: ['admin'], organizationId: 'default' },
    updateKey: { status: 'REVOKED' },
    rotateKey: {},
    setEnvironment: { name: 'PLACE', value: 'x', organizationId: 'default' },
    updateEnvironment: { value: 'x' },
    createWebhook: { name: 'x', provider: 'CUSTOM', mode: 'SHARED', auth: 'NONE', organizationId: 'default' },
    updateWebhook: { name: 'x' },
    rotateWebhook: {},
    signDelivery: { body: 'e30=' },
    replayDelivery: {},
    createEmailConnection: { ...inbox, organizationId: 'default' },
    updateEmailConnection: { name: 'x' },
    testEmailConnection: {},
    createOrganization: { name: 'x' },
    updateOrganization: { name: 'x' },
  };
  const naming = ['publishFlow', 'execProcess', 'startProcess', 'submitTask', 'createKey', 'setEnvironment'];
  return {
    ids,
    bodies: Object.fromEntries(Object.entries(bodies).map(([id, body]) => [id, optionsOf(id, body)])),
    naming: new Set([...naming, 'createWebhook', 'createEmailConnection', 'createOrganization', 'listOrganizations']),
    before: await snapshot(server, ids),
  };
}

const optionsOf = (id: string, body: unknown): CallOptions =>
  id === 'publishFlow' || id === 'validateFlow' ? { body, headers: { 'content-type': 'application/yaml' } } : { body };

/** All that a foreign key might have changed. */
async function snapshot(server: TestServer, ids: Readonly<Record<string, string>>): Promise<unknown> {
  const paths = [
    `/process/${ids['processId']}`,
    `/process/instance/${ids['processInstanceId']}`,
    '/process/tasks',
    `/process/files/${ids['fileId']}`,
    '/memory?scope=organization',
    `/admin/keys`,
    '/admin/environment',
    '/admin/webhooks',
    `/admin/webhooks/${ids['webhookId']}/deliveries`,
  ];
  const answers = await Promise.all(paths.map((path) => server.call('GET', path)));
  return answers.map(({ status, body }, at) => [
    paths[at],
    status,
    JSON.parse(JSON.stringify(body, (name, value) => (name === 'lastUsedAt' ? undefined : value))),
  ]);
}

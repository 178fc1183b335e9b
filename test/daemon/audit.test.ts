import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { tempFolder } from '../folder.ts';
import { openServer, publish, SHORT, shortFlow, type TestServer } from './server.ts';

const entries = async (server: TestServer, query = '', key = server.admin) =>
  (await server.call('GET', `/admin/audit${query}`, { key })).body.items;
const told = (entry: { action: string; status: number; target: object }) => [entry.action, entry.status, entry.target];

t.test('what changes something is recorded: who, what, to what; newest first', async (t) => {
  const server = await openServer(t);
  await publish(server, shortFlow());
  const runner = await server.keyWith(['runner']);
  const run = await server.call('POST', '/process/exec', { key: runner, body: { processId: SHORT } });
  const made = await server.call('POST', '/admin/keys', { body: { name: 'ci', roles: ['runner'] } });
  await server.call('DELETE', `/admin/keys/${made.body.keyId}`);
  await server.call('GET', '/process/list');
  await server.call('POST', '/process/validate', {
    body: shortFlow(),
    headers: { 'content-type': 'application/yaml' },
  });
  const items = await entries(server);
  const { processInstanceId } = run.body;
  const { keyId } = made.body;
  t.strictSame(items.map(told), [
    ['deleteKey', 204, { keyId }],
    ['createKey', 201, { keyId, name: 'ci', organizationId: 'default' }],
    ['execProcess', 200, { processInstanceId, processId: SHORT }],
    ['publishFlow', 200, { processId: SHORT, version: '1' }],
  ]);
  t.match(items[0], { actor: { name: 'admin' }, organizationId: 'default', address: '127.0.0.1', at: /Z$/ });
  t.match(items[2], { actor: { name: 'runner' } });
  t.same(await entries(server, `?keyId=${items[2].actor.keyId}`), [items[2]]);

  t.test('but never a secret', async (t) => {
    const value = 'sesame-open-4711';
    await server.call('POST', '/admin/environment', { body: { name: 'TOKEN', value, secret: true } });
    const rotated = await server.call('POST', '/admin/keys', { body: { name: 'x', roles: ['viewer'] } });
    await entries(server);
    const folder = join(server.dataDir, 'audit');
    const text = readdirSync(folder)
      .map((name) => readFileSync(join(folder, name), 'utf8'))
      .join('');
    t.match(text, rotated.body.keyId);
    t.notMatch(text, value);
    t.notMatch(text, rotated.body.key.split('_').at(-1));
  });
});

t.test('who was turned away is recorded, once a minute of a kind', async (t) => {
  const server = await openServer(t);
  const viewer = await server.keyWith(['viewer']);
  for (let time = 0; time < 3; time += 1) {
    await server.call('POST', '/process/exec', { key: 'apk_nobody_secret', body: { processId: SHORT } });
    await server.call('POST', '/process/exec', { key: viewer, body: { processId: SHORT } });
    await server.call('GET', '/process/list', { key: 'apk_nobody_secret' });
  }
  const items = await entries(server, '', server.system);
  t.match(items, [
    { action: 'listFlows', status: 401, error: 'UNAUTHORIZED', actor: null },
    { action: 'execProcess', status: 403, error: 'FORBIDDEN', actor: { name: 'viewer' } },
    { action: 'execProcess', status: 401, error: 'UNAUTHORIZED', actor: null, organizationId: null },
  ]);
  t.equal(items.length, 3);
});

t.test('an organization sees its own record, a system-level key all of them', async (t) => {
  const server = await openServer(t);
  await server.call('POST', '/admin/organizations', { key: server.system, body: { name: 'Other' } });
  const other = await server.keyWith(['admin'], 'other');
  await publish(server, shortFlow(), { key: other });
  await publish(server, shortFlow('22222222-2222-4333-8444-555555555555'));
  t.strictSame((await entries(server, '', other)).map(told), [
    ['publishFlow', 200, { processId: SHORT, version: '1' }],
    ['createOrganization', 201, { organizationId: 'other', name: 'Other' }],
  ]);
  t.equal((await entries(server)).length, 1);
  t.equal((await entries(server, '', server.system)).length, 3);
  t.equal((await entries(server, '?organizationId=other', server.system)).length, 2);
  t.equal((await server.call('GET', '/admin/audit', { key: await server.keyWith(['developer']) })).status, 403);
});

t.test('pages go back through all of it, also over restarts and a torn end', async (t) => {
  const dataDir = tempFolder(t);
  let count = 0;
  for (const _ of [1, 2]) {
    await t.test('a start', async (t) => {
      const server = await openServer(t, { dataDir });
      for (let at = 0; at < 7; at += 1) {
        await server.call('POST', '/admin/environment', { body: { name: `N${count}`, value: 1 } });
        count += 1;
      }
    });
    const folder = join(dataDir, 'audit');
    appendFileSync(join(folder, readdirSync(folder).sort().at(-1) as string), '{"at":"20');
  }
  const server = await openServer(t, { dataDir });
  const names: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await server.call('GET', `/admin/audit?limit=4${cursor === '' ? '' : `&cursor=${cursor}`}`);
    t.ok(body.items.length <= 4);
    names.push(...body.items.map((entry: { target: { name: string } }) => entry.target.name));
    cursor = body.nextCursor;
  }
  t.same(
    names,
    Array.from({ length: 14 }, (_, at) => `N${13 - at}`),
  );
  t.equal((await server.call('GET', '/admin/audit?cursor=../x')).status, 400);
});

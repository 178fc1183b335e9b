import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { tempFolder } from '../folder.ts';
import { openServer, publish, SHORT, shortFlow, type TestServer, WAITING, waitingFlow } from './server.ts';

const exec = (server: TestServer, query = '') =>
  server.call('POST', `/process/exec${query}`, { body: { processId: SHORT } });
const versionOf = async (server: TestServer, query = ''): Promise<string> => {
  const { body } = await exec(server, query);
  return (await server.call('GET', `/process/instance/${body.processInstanceId}`)).body.processVersion;
};
const active = async (server: TestServer) => (await server.call('GET', `/process/${SHORT}`)).body.activeVersion;
const changed = shortFlow().replace('hello', 'good day');

t.test('versions', async (t) => {
  const server = await openServer(t);

  t.test('each publish of new content makes the next one; the same content makes none', async (t) => {
    t.match((await publish(server, shortFlow())).body, { version: '1', unchanged: false });
    t.match((await publish(server, shortFlow())).body, { version: '1', unchanged: true });
    t.match((await publish(server, changed)).body, { version: '2', activeIn: ['DEVELOPMENT', 'PRODUCTION'] });
    t.match(
      (await publish(server, shortFlow())).body,
      { version: '3', unchanged: false },
      'version 1 is active no more',
    );
    const { items } = (await server.call('GET', `/process/${SHORT}/versions`)).body;
    t.strictSame(
      items.map((item: { version: string }) => item.version),
      ['3', '2', '1'],
    );
    t.equal((await server.call('GET', `/process/${SHORT}?versionNumber=2`)).body.source, changed);
    t.equal((await server.call('GET', `/process/${SHORT}?versionNumber=4`)).body.error, 'VERSION_NOT_FOUND');
  });

  t.test('each environment has its own active version', async (t) => {
    await server.call('POST', `/process/${SHORT}/activate`, { body: { version: '1', environment: 'PRODUCTION' } });
    t.strictSame(await active(server), { DEVELOPMENT: '3', PRODUCTION: '1' });
    t.equal(await versionOf(server), '1');
    t.equal(await versionOf(server, '?environment=DEVELOPMENT'), '3');
    t.equal(await versionOf(server, '?versionNumber=2'), '2', 'any published version can be asked for');
    const answer = await server.call('POST', `/process/${SHORT}/activate`, { body: { version: '9' } });
    t.equal(answer.body.error, 'VERSION_NOT_FOUND');
  });

  t.test('publishing to one environment leaves the other; promoting the same content makes no version', async (t) => {
    const fresh = shortFlow().replace('hello', 'new');
    t.match((await publishTo(server, fresh, 'DEVELOPMENT')).body, { version: '4', activeIn: ['DEVELOPMENT'] });
    t.strictSame(await active(server), { DEVELOPMENT: '4', PRODUCTION: '1' });
    const promoted = await publishTo(server, fresh, 'PRODUCTION');
    t.match(promoted.body, { version: '4', activeIn: ['DEVELOPMENT', 'PRODUCTION'], unchanged: true });
    t.equal(await versionOf(server), '4');
  });

  t.test('withdrawn, nothing starts it; running instances go on', async (t) => {
    await publish(server, waitingFlow());
    const { body } = await server.call('POST', '/process/exec', { body: { processId: WAITING } });
    t.strictSame((await server.call('POST', `/process/${WAITING}/unpublish`)).body.activeVersion, {
      DEVELOPMENT: null,
      PRODUCTION: null,
    });
    for (const query of ['', '?versionNumber=1'])
      t.equal(
        (await server.call('POST', `/process/exec${query}`, { body: { processId: WAITING } })).body.error,
        'NOT_PUBLISHED',
      );
    const task = {
      processInstanceId: body.processInstanceId,
      nodeId: 'ask',
      action: 'COMPLETE',
      data: { inputValue: 'x' },
    };
    t.equal((await server.call('POST', '/process/task', { body: task })).status, 200);
    t.match((await publish(server, waitingFlow())).body, { version: '2', unchanged: false });
  });

  t.test('publishes at the same time get one version each', async (t) => {
    const id = '44444444-2222-4333-8444-555555555555';
    const sources = Array.from({ length: 20 }, (_, index) => shortFlow(id, `Name ${index}`));
    const answers = await Promise.all(sources.map((source) => publish(server, source)));
    t.strictSame(
      answers.map((answer) => Number(answer.body.version)).sort((a, b) => a - b),
      sources.map((_, index) => index + 1),
    );
    for (const [index, { body }] of answers.entries())
      t.equal((await server.call('GET', `/process/${id}?versionNumber=${body.version}`)).body.source, sources[index]);
  });
});

const publishTo = (server: TestServer, source: string, environment: string) =>
  server.call('POST', `/process/publish?environment=${environment}`, {
    body: source,
    headers: { 'content-type': 'application/yaml' },
  });

t.test('what may be published', async (t) => {
  const server = await openServer(t);

  t.test('YAML under each of its names, and JSON', async (t) => {
    for (const type of ['application/yaml', 'application/x-yaml', 'text/yaml', 'application/yaml; charset=utf-8'])
      t.equal((await publish(server, shortFlow(), { headers: { 'content-type': type } })).status, 200, type);
    const nodes = { start: { type: 'startEvent', next: 'end' }, end: { type: 'endEvent' } };
    const flow = { id: '55555555-2222-4333-8444-555555555555', name: 'JSON', nodes };
    t.match((await server.call('POST', '/process/publish', { body: flow })).body, { processId: flow.id, version: '1' });
    for (const type of ['text/plain', 'application/xml'])
      t.equal((await publish(server, shortFlow(), { headers: { 'content-type': type } })).status, 415, type);
  });

  t.test('a flow with errors is refused, each with its line and column; nothing is kept', async (t) => {
    const wrong =
      'id: 66666666-2222-4333-8444-555555555555\nname: Wrong\nnodes:\n  start: { type: startEvnt }\n  x: 5\n';
    const { status, body } = await publish(server, wrong);
    t.equal(status, 400);
    t.equal(body.error, 'VALIDATION_ERROR');
    t.ok(body.details.length >= 2);
    t.match(body.details[0], { path: /^nodes\.start/, message: /^line 4, column \d+: / });
    t.equal((await server.call('GET', '/process/66666666-2222-4333-8444-555555555555')).status, 404);
    const verdict = await server.call('POST', '/process/validate', {
      body: wrong,
      headers: { 'content-type': 'application/yaml' },
    });
    t.equal(verdict.status, 200);
    t.match(verdict.body, { valid: false, problems: [{ severity: 'error', code: String, line: 4, column: Number }] });
    for (const odd of ['', '{', 'a: [', '\ufeff', '"x"', '[]', '&a [*a]'])
      t.equal((await publish(server, odd)).status, 400, JSON.stringify(odd));
    t.equal((await publish(server, Buffer.from([0xff, 0xfe]) as unknown as string)).status, 400);
  });

  t.test('a system-level key names the organization of a new flow, and needs none for one that is there', async (t) => {
    const key = server.system;
    const source = shortFlow('77777777-2222-4333-8444-555555555555');
    t.equal((await publish(server, source, { key })).status, 400);
    const named = await server.call('POST', '/process/publish?organizationId=default', {
      key,
      body: source,
      headers: { 'content-type': 'application/yaml' },
    });
    t.equal(named.status, 200);
    t.match((await publish(server, `${source}# more`, { key })).body, { version: '2' });
  });
});

t.test('after a restart', async (t) => {
  const dataDir = tempFolder(t);
  const file = join(dataDir, 'flows', SHORT, '1.yaml');
  await t.test('published', async (t) => {
    const server = await openServer(t, { dataDir });
    await publish(server, shortFlow());
    await publishTo(server, changed, 'DEVELOPMENT');
    t.equal(readFileSync(file, 'utf8'), shortFlow());
  });

  await t.test('everything is as it was, and a draft that a crash left is no version', async (t) => {
    writeFileSync(join(dataDir, 'flows', SHORT, '3.yaml'), 'half a file');
    const server = await openServer(t, { dataDir });
    t.strictSame(await active(server), { DEVELOPMENT: '2', PRODUCTION: '1' });
    t.equal(await versionOf(server), '1');
    t.equal((await server.call('GET', `/process/${SHORT}?versionNumber=3`)).status, 404);
    const next = shortFlow().replace('hello', 'third');
    t.match((await publish(server, next)).body, { version: '3' });
    t.equal((await server.call('GET', `/process/${SHORT}`)).body.source, next);
    await server.stores.collections.close();
    t.match(JSON.parse(readFileSync(join(dataDir, 'flows.json'), 'utf8')), { [SHORT]: { latest: 3 } });
  });

  await t.test('a version whose file was changed or lost is refused, and named', async (t) => {
    chmodSync(file, 0o600);
    writeFileSync(file, changed);
    const server = await openServer(t, { dataDir });
    const answer = await exec(server, '?versionNumber=1');
    t.strictSame([answer.status, answer.body.error], [503, 'STORAGE_UNAVAILABLE']);
    t.match(answer.body.message, file);
    rmSync(file);
    t.match((await exec(server, '?versionNumber=1')).body.message, file);
    t.equal(await versionOf(server), '3', 'other versions go on');
  });

  t.test('views are made anew, never read', async (t) => {
    rmSync(join(dataDir, 'flows.json'));
    writeFileSync(join(dataDir, 'keys.json'), 'not JSON');
    const server = await openServer(t, { dataDir });
    t.equal((await active(server)).PRODUCTION, '3');
    t.notOk(readdirSync(dataDir).some((name) => name.endsWith('.tmp')));
    t.notOk(existsSync(join(dataDir, 'flows', SHORT, '4.yaml')));
  });
});

t.test('more flows than the cache holds all run', async (t) => {
  const server = await openServer(t);
  const ids = Array.from({ length: 230 }, (_, index) => `88888888-2222-4333-8444-${String(index).padStart(12, '0')}`);
  for (const id of ids) await publish(server, shortFlow(id, `Flow ${id.slice(-3)}`));
  for (const processId of [ids[0], ids[229], ids[0]]) {
    const { body } = await server.call('POST', '/process/exec', { body: { processId } });
    t.equal((await server.call('GET', `/process/instance/${body.processInstanceId}`)).body.stateCd, 1);
  }
});

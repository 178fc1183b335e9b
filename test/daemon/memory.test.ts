import t from 'tap';
import { ApiError } from '../../src/client/index.ts';
import type { Fact } from '../../src/daemon/ports.ts';
import type { Facts, Once } from '../../src/daemon/runtime/door.ts';
import { MemoryStore } from '../../src/daemon/store/memory.ts';
import { Collections } from '../../src/daemon/store/views.ts';
import type { Json } from '../../src/engine/json.ts';
import { live } from './live.ts';

const FLOW = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const scope = { organizationId: 'o', processId: FLOW };
const one = (keys: string) =>
  `  start: { type: startEvent, next: it }\n  it: { type: memoryAction, ${keys}, result: out }`;

/** Facts that take a turn of the event loop to become durable, as the journal's do. */
function factsInMemory(): Facts {
  const collections = new Map<string, Map<string, Json>>();
  const once = new Set<string>();
  const all = (name: string) => {
    if (!collections.has(name)) collections.set(name, new Map());
    return collections.get(name) as Map<string, Json>;
  };
  return {
    get: (collection, key) => all(collection).get(key),
    all,
    put: async (facts: readonly Fact[], { key: used }: Partial<Once> = {}) => {
      await new Promise((resolve) => setImmediate(resolve));
      if (used !== undefined && once.has(used)) return false;
      if (used !== undefined) once.add(used);
      for (const { collection, key, value } of facts)
        if (value === null) all(collection).delete(key);
        else all(collection).set(key, value);
      return true;
    },
  };
}
const newStore = () => new MemoryStore(new Collections(factsInMemory(), '/nonexistent', { warn: () => undefined }));

t.test('a flow sets, reads, appends and deletes; the next run, and the one after a restart, find it', async (t) => {
  let wfx = await live(t);
  const id = FLOW;
  const run = async (keys: string, data = {}) => (await wfx.run(one(keys), data, { id })).data.out;
  t.equal(await run('action: get, key: visits'), null);
  t.strictSame(await run('action: set, key: "customer/{who}", value: { name: "{who}", at: [1] }', { who: 'Ada' }), {
    name: 'Ada',
    at: [1],
  });
  t.strictSame(await run('action: append, key: visits, value: first'), ['first']);
  wfx = await wfx.restart();
  t.strictSame(await run('action: append, key: visits, value: { n: 2 }'), ['first', { n: 2 }]);
  t.strictSame(await run('action: get, key: customer/Ada'), { name: 'Ada', at: [1] });
  t.equal(await run('action: delete, key: visits'), true);
  t.equal(await run('action: delete, key: visits'), false);
  t.equal(await run('action: get, key: visits'), null);
});

t.test('flows share the memory of scope organization alone', async (t) => {
  const wfx = await live(t);
  await wfx.run(one('action: set, key: k, value: mine'));
  await wfx.run(one('action: set, key: k, value: ours, scope: organization'));
  t.equal((await wfx.run(one('action: get, key: k'))).data.out, null);
  t.equal((await wfx.run(one('action: get, key: k, scope: organization'))).data.out, 'ours');
});

t.test('what memory refuses is an error of the node, and is not tried again', async (t) => {
  const wfx = await live(t);
  await wfx.run(one('action: set, key: k, value: text'), {}, { id: FLOW });
  const refused = await wfx.run(one('action: append, key: k, value: 1, retry: { attempts: 3 }'), {}, { id: FLOW });
  t.match(refused, { stateCd: 2, error: { code: 'MEMORY_NOT_A_LIST', message: /'k' is no list/ } });
  t.notMatch(refused.log.join('\n'), /attempt 1 failed/);
  t.match(await wfx.run(one('action: set, key: "{empty}", value: 1'), { empty: '' }), {
    error: { code: 'MEMORY_KEY_INVALID' },
  });
  t.match(await wfx.run(one('action: set, key: k, value: "{big}"'), { big: 'x'.repeat(1024 * 1024 - 100) }), {
    stateCd: 1,
  });
  t.match(await wfx.run(one('action: append, key: l, value: ["{big}", "{big}"]'), { big: 'x'.repeat(600_000) }), {
    error: { code: 'MEMORY_VALUE_TOO_LARGE' },
  });
});

t.test('search finds words in keys and values, begun and misspelt ones too, best first', async (t) => {
  const wfx = await live(t);
  const search = async (keys: string) => (await wfx.run(one(`action: search, ${keys}`), {}, { id: FLOW })).data.out;
  await wfx.run(one('action: set, key: note/1, value: "the invoice of Ada is late"'), {}, { id: FLOW });
  await wfx.run(one('action: set, key: note/2, value: { customer: Grace, invoice: 17 }'), {}, { id: FLOW });
  await wfx.run(one('action: set, key: other, value: "something else"'), {}, { id: FLOW });
  const keys = (found: { key: string }[]) => found.map(({ key }) => key);
  t.strictSame(keys(await search('query: grace')), ['note/2']);
  t.strictSame(keys(await search('query: invioce')).sort(), ['note/1', 'note/2']);
  t.strictSame(keys(await search('query: "late invoice"')), ['note/1', 'note/2']);
  t.strictSame(keys(await search('query: invoice, limit: 1')).length, 1);
  t.strictSame(keys(await search('key: note/')), ['note/1', 'note/2'], 'no words: all keys that begin so');
  t.strictSame(await search('query: elephant'), []);
  await wfx.run(one('action: set, key: note/1, value: paid'), {}, { id: FLOW });
  await wfx.run(one('action: delete, key: note/2'), {}, { id: FLOW });
  t.strictSame(await search('query: invoice'), [], 'the index follows changes');
});

t.test('work that is tried again after its change was made changes nothing more', async (t) => {
  const store = newStore();
  t.strictSame(await store.append(scope, 'list', 'a', 'instance:it:2'), ['a']);
  t.strictSame(await store.append(scope, 'list', 'a', 'instance:it:2'), ['a']);
  t.strictSame(await store.append(scope, 'list', 'b', 'instance:it:3'), ['a', 'b']);
  await store.set(scope, 'k', 1, 'instance:it:4');
  await store.set(scope, 'k', 2);
  t.equal((await store.set(scope, 'k', 1, 'instance:it:4')).value, 2, 'a late repeat does not undo what came after');
});

t.test('appends that race lose nothing', async (t) => {
  const store = newStore();
  await Promise.all(Array.from({ length: 50 }, (_, i) => store.append(scope, 'list', i)));
  t.strictSame(
    store.get(scope, 'list')?.value,
    Array.from({ length: 50 }, (_, i) => i),
  );
});

t.test('a scope has at most 10,000 keys and 64 MiB', async (t) => {
  const store = newStore();
  await Promise.all(Array.from({ length: 10_000 }, (_, i) => store.set(scope, `k${i}`, i)));
  await t.rejects(store.set(scope, 'one-more', 1), { code: 'MEMORY_FULL' });
  await store.set(scope, 'k1', 'a known key may change');
  await store.set({ ...scope, processId: undefined }, 'one-more', 'another scope has room');
  const large = { ...scope, organizationId: 'large' };
  for (let i = 0; i < 64; i += 1) await store.set(large, `k${i}`, 'x'.repeat(1024 * 1024 - 2));
  await t.rejects(store.set(large, 'more', 'x'), { code: 'MEMORY_FULL' });
  await store.remove(large, 'k0');
  await store.set(large, 'more', 'x');
});

t.test('the API lists, searches, sets and deletes, within the organization of the key', async (t) => {
  const wfx = await live(t);
  const { client } = wfx;
  await wfx.publish(one('action: get, key: k'), { id: FLOW });
  const flow = { processId: FLOW };
  for (const memoryKey of ['a/b c', 'search', '../x', 'ü'])
    await client.call('setMemory', { params: { memoryKey }, query: flow, body: { value: memoryKey } });
  const { items } = await client.call('listMemory', { query: { ...flow, limit: 2 } });
  t.match(items, [{ key: '../x', scope: 'flow', processId: FLOW }, { key: 'a/b c' }]);
  t.match(await client.call('getMemory', { params: { memoryKey: 'search' }, query: flow }), { value: 'search' });
  t.match(await client.call('searchMemory', { query: { ...flow, query: 'search' } }), { items: [{ key: 'search' }] });
  t.strictSame((await client.call('listMemory', {})).items, [], "the organization's own memory is another");
  await client.call('deleteMemory', { params: { memoryKey: 'search' }, query: flow });
  const missing = client.call('getMemory', { params: { memoryKey: 'search' }, query: flow });
  await t.rejects(missing, { status: 404, code: 'NOT_FOUND' });
  await t.rejects(client.call('deleteMemory', { params: { memoryKey: 'search' }, query: flow }), { code: 'NOT_FOUND' });
  const unknown = client.call('listMemory', { query: { processId: FLOW.replace('7c', '8c') } });
  await t.rejects(unknown, { code: 'PROCESS_NOT_FOUND' });
  const large = { params: { memoryKey: 'x' }, body: { value: ['x'.repeat(600_000), 'y'.repeat(500_000)] } };
  await t.rejects(client.call('setMemory', large), ApiError);
  const viewer = await client.call('createKey', { body: { name: 'v', roles: ['viewer'] } });
  const write = await fetch(`${wfx.url}/memory/keys/k`, {
    method: 'PUT',
    headers: { 'x-api-key': viewer.key, 'content-type': 'application/json' },
    body: '{"value":1}',
  });
  t.equal(write.status, 403, 'reading is not writing');
});

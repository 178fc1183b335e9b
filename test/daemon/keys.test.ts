import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { RateLimits } from '../../src/daemon/auth/limits.ts';
import type { Refusal } from '../../src/daemon/refusal.ts';
import { readCredential } from '../../src/secrets/index.ts';
import { tempFolder } from '../folder.ts';
import { openServer } from './server.ts';

t.test('the first start', async (t) => {
  const dataDir = tempFolder(t);
  const server = await openServer(t, { dataDir });

  t.test('makes an organization, an admin key and a system key, which the CLI finds', async (t) => {
    const [admin, system] = [await readCredential('admin', dataDir), await readCredential('system', dataDir)];
    const whoami = (key: string | undefined) => server.call('GET', '/auth/whoami', { key });
    t.match((await whoami(admin)).body, { organizationId: 'default', roles: ['admin'] });
    t.match((await whoami(system)).body, { organizationId: null, roles: ['system'] });
    t.match(admin, /^apk_[0-9A-Za-z]+_[0-9a-f]{64}$/, 'the secret has 256 bits');
    t.equal(statSync(join(dataDir, 'credentials.json')).mode & 0o777, 0o600);
  });

  t.test('what is kept for looking at has hashes, and no secret', async (t) => {
    const admin = (await readCredential('admin', dataDir)) ?? '';
    await server.stores.collections.close();
    const shown = readFileSync(join(dataDir, 'keys.json'), 'utf8');
    t.match(shown, admin.split('_')[1]);
    t.notMatch(shown, admin.split('_')[2]);
    t.equal(statSync(join(dataDir, 'keys.json')).mode & 0o777, 0o600);
  });
});

t.test('keys over HTTP', async (t) => {
  const server = await openServer(t);
  const call = (method: string, path: string, body?: object, key = server.admin) =>
    server.call(method, path, { key, ...(body === undefined ? {} : { body }) });
  const make = (body: object, key?: string) =>
    call('POST', '/admin/keys', { name: 'k', roles: ['viewer'], ...body }, key);
  const works = async (key: string) => (await call('GET', '/process/list', undefined, key)).status === 200;

  t.test('the secret is shown once, at creation', async (t) => {
    const { status, body } = await make({ rateLimitPerMinute: 100 });
    t.equal(status, 201);
    t.equal(body.key, `apk_${body.keyId}_${body.secret}`);
    t.match(body, { status: 'ACTIVE', organizationId: 'default', rateLimitPerMinute: 100, rateLimitPerHour: null });
    t.match(body, { expiresAt: null, lastUsedAt: null, createdAt: /Z$/ });
    t.ok(await works(body.key));
    const seen = (await call('GET', `/admin/keys/${body.keyId}`)).body;
    t.strictSame([seen.secret, seen.key, seen.hash], [undefined, undefined, undefined]);
    t.match(seen.lastUsedAt, /Z$/);
    t.notMatch(JSON.stringify((await call('GET', '/admin/keys')).body), body.secret);
  });

  t.test('suspended it stops, activated it works again, revoked it is gone for good', async (t) => {
    const { body } = await make({});
    const path = `/admin/keys/${body.keyId}`;
    await call('PATCH', path, { status: 'SUSPENDED' });
    t.notOk(await works(body.key));
    await call('PATCH', path, { status: 'ACTIVE' });
    t.ok(await works(body.key));
    t.equal((await call('PATCH', path, { status: 'REVOKED' })).body.status, 'REVOKED');
    t.notOk(await works(body.key));
    t.equal((await call('PATCH', path, { status: 'ACTIVE' })).status, 409);
    t.equal((await call('POST', `${path}/rotate`)).status, 409);
    t.equal((await call('DELETE', path)).status, 204);
    t.equal((await call('GET', path)).status, 404);
  });

  t.test('changes at the same time are all kept, and a removed key does not come back', async (t) => {
    const { body } = await make({});
    const path = `/admin/keys/${body.keyId}`;
    const changes = [{ status: 'SUSPENDED' }, { rateLimitPerMinute: 5 }, { name: 'new' }, { roles: ['runner'] }];
    await Promise.all(changes.map((change) => call('PATCH', path, change)));
    t.match((await call('GET', path)).body, Object.assign({}, ...changes));
    await Promise.all([call('DELETE', path), ...changes.map((change) => call('PATCH', path, change))]);
    t.equal((await call('GET', path)).status, 404);
  });

  t.test('rotated, the old secret stops and the new one works under the same id', async (t) => {
    const { body } = await make({ roles: ['runner'] });
    const rotated = (await call('POST', `/admin/keys/${body.keyId}/rotate`)).body;
    t.equal(rotated.keyId, body.keyId);
    t.strictSame([await works(body.key), await works(rotated.key)], [false, true]);
    t.strictSame(rotated.roles, ['runner']);
  });

  t.test('expiry must be a time to come', async (t) => {
    for (const expiresAt of ['2020-01-01T00:00:00Z', 'tomorrow', '', '2030-02-31'])
      t.equal((await make({ expiresAt })).status, 400, expiresAt);
    t.equal((await make({ expiresAt: '2130-01-31T09:00:00+02:00' })).body.expiresAt, '2130-01-31T07:00:00.000Z');
  });

  t.test('nobody gets more than its own organization: roles, scope, other keys', async (t) => {
    t.equal((await make({ roles: ['system'] })).status, 403);
    t.equal((await make({ organizationId: 'other' })).status, 403);
    t.equal((await make({ roles: ['emperor'] })).status, 400);
    t.equal((await make({ roles: [] })).status, 400);
    t.equal((await make({ roles: Array(90_000).fill('emperor') })).status, 400, 'nor does that take long');
    t.strictSame((await make({ roles: ['viewer', 'viewer'] })).body.roles, ['viewer']);
    t.equal((await make({ organizationId: null })).body.organizationId, 'default', 'null is its own organization too');
    const free = await make({ roles: ['runner'] }, server.system);
    t.equal(free.body.organizationId, null, 'a system-level key makes a system-level key');
    t.equal((await make({ organizationId: 'none' }, server.system)).status, 400);
    t.equal((await make({ organizationId: 'default', roles: ['system'] }, server.system)).status, 403);
    t.equal((await call('GET', `/admin/keys/${free.body.keyId}`)).status, 404, 'unseen by an organization');
    const developer = await server.keyWith(['developer']);
    t.equal((await make({}, developer)).status, 403);
    const unbound = await server.keyWith(['admin'], null);
    const path = `/admin/keys/${server.system.split('_')[1]}`;
    t.equal((await make({ roles: ['system'] }, unbound)).status, 403, 'bound to none is not yet system');
    t.equal((await call('POST', `${path}/rotate`, undefined, unbound)).status, 403, 'nor is taking the place of one');
    t.equal((await call('PATCH', `/admin/keys/${free.body.keyId}`, { roles: ['system'] }, unbound)).status, 403);
  });

  t.test('a key does not shut itself out', async (t) => {
    const own = `/admin/keys/${server.admin.split('_')[1]}`;
    t.equal((await call('DELETE', own)).status, 409);
    t.equal((await call('PATCH', own, { status: 'SUSPENDED' })).status, 409);
    t.equal((await call('PATCH', own, { roles: ['viewer'] })).status, 409);
    t.equal((await call('PATCH', own, { name: 'mine' })).body.name, 'mine');
  });

  t.test('over its limit a key gets 429 with the seconds to wait, and other keys go on', async (t) => {
    const { body } = await make({ rateLimitPerMinute: 3 });
    for (let count = 0; count < 3; count += 1) t.ok(await works(body.key));
    const refused = await call('GET', '/process/list', undefined, body.key);
    t.equal(refused.status, 429);
    t.equal(refused.body.error, 'RATE_LIMIT_EXCEEDED');
    t.ok(Number.isInteger(refused.body.retryAfter) && refused.body.retryAfter >= 1 && refused.body.retryAfter <= 60);
    t.equal(refused.headers.get('retry-after'), String(refused.body.retryAfter));
    t.match(refused.headers.get('content-type'), /^application\/json/);
    t.ok(await works(server.admin));
    await call('PATCH', `/admin/keys/${body.keyId}`, { rateLimitPerMinute: null });
    t.ok(await works(body.key), 'a changed limit holds at once');
  });
});

t.test('keys outlive a restart', async (t) => {
  const dataDir = tempFolder(t);
  let key = '';
  await t.test('made', async (t) => {
    const server = await openServer(t, { dataDir });
    key = (await server.call('POST', '/admin/keys', { body: { name: 'k', roles: ['viewer'] } })).body.key;
    await server.call('GET', '/process/list', { key });
  });
  const server = await openServer(t, { dataDir });
  t.equal((await server.call('GET', '/auth/whoami', { key })).body.name, 'k');
  t.equal(server.stores.organizations.list().length, 1, 'the second start makes nothing new');
  t.match(server.stores.keys.lastUsedAt(key.split('_')[1] ?? ''), /Z$/);
});

t.test('sliding windows', async (t) => {
  const limited = (rateLimitPerMinute: number | null, rateLimitPerHour: number | null) => {
    const limits = new RateLimits();
    const key = { keyId: 'k', rateLimitPerMinute, rateLimitPerHour };
    return (now: number): number => {
      try {
        limits.take(key, now);
        return 0;
      } catch (error) {
        return (error as Refusal).retryAfter ?? Number.NaN;
      }
    };
  };

  t.test('in no span of 60 seconds are there more than the limit', async (t) => {
    const take = limited(2, null);
    t.strictSame([take(0), take(30_000), take(59_999)], [0, 0, 1]);
    t.equal(take(60_000), 0, 'the first left the window');
    t.equal(take(60_001), 30, 'the second leaves it after 90 s');
    t.strictSame([take(89_999), take(90_000)], [1, 0], 'what was refused does not count');
  });

  t.test('the hour counts beside the minute', async (t) => {
    const take = limited(2, 3);
    t.strictSame(
      [take(0), take(1000), take(2000), take(60_000), take(61_000), take(120_000)],
      [0, 0, 58, 0, 3539, 3480],
    );
    t.equal(take(3_600_000), 0);
  });

  t.test('no limit is none, and random traffic never exceeds one', async (t) => {
    const free = limited(null, null);
    for (let now = 0; now < 10_000; now += 1) free(0);
    t.equal(free(0), 0);
    const take = limited(10, 50);
    const taken: number[] = [];
    for (let now = 0, seed = 7; now < 8_000_000; seed = (seed * 48_271) % 2_147_483_647, now += seed % 4000)
      if (take(now) === 0) taken.push(now);
    for (const [index, at] of taken.entries()) {
      t.ok((taken[index + 10] ?? Number.POSITIVE_INFINITY) - at >= 60_000);
      t.ok((taken[index + 50] ?? Number.POSITIVE_INFINITY) - at >= 3_600_000);
    }
    t.ok(taken.length > 90, 'and what is allowed is let through');
  });
});

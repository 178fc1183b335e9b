import { createHmac, createPublicKey } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  exportJWK,
  exportSPKI,
  generateKeyPair,
  importJWK,
  type JWTHeaderParameters,
  SignJWT,
  UnsecuredJWT,
} from 'jose';
import t from 'tap';
import { readConfig } from '../../src/daemon/config.ts';
import { tempFolder } from '../folder.ts';
import { AUDIENCE, identity } from './identity.ts';
import { openServer, publish, SHORT, shortFlow, type TestServer, WAITING, waitingFlow } from './server.ts';

const bearer = (token: string) => ({ key: undefined, headers: { authorization: `Bearer ${token}` } });
const whoami = (server: TestServer, token: string) => server.call('GET', '/auth/whoami', bearer(token));

t.test('bearer tokens', async (t) => {
  const provider = await identity(t);
  const server = await openServer(t, { oidc: { issuer: provider.issuer, clientId: 'wfx', audience: AUDIENCE } });
  const now = Math.floor(Date.now() / 1000);

  t.test('a token that the provider made says who calls, beside keys', async (t) => {
    const { body } = await whoami(server, await provider.machineToken());
    t.match(body, { keyId: null, userId: 'machine', organizationId: 'default', roles: ['developer'] });
    t.match((await whoami(server, await provider.sign())).body, { userId: 'ada', name: 'Ada Lovelace' });
    t.match((await server.call('GET', '/auth/whoami')).body, { userId: null, roles: ['admin'] });
  });

  t.test('a person starts a flow as a key does, and the run says who it was', async (t) => {
    await publish(server, shortFlow(), bearer(await provider.sign()));
    const started = await server.call('POST', '/process/exec', {
      ...bearer(await provider.sign()),
      body: { processId: SHORT },
    });
    t.equal(started.status, 200, JSON.stringify(started.body));
    const { body } = await server.call('GET', `/process/instance/${started.body.processInstanceId}`);
    t.strictSame(body.trigger, { type: 'api', userId: 'ada' });
    const refused = await server.call('GET', '/admin/keys', bearer(await provider.sign()));
    t.equal(refused.status, 403);
    t.match(refused.body.message, /^This account lacks the permission API_KEY_MANAGE/);
    const { items } = (await server.call('GET', '/admin/audit')).body;
    t.match(items.at(-1), { action: 'publishFlow', actor: { userId: 'ada', name: 'Ada Lovelace', keyId: undefined } });
  });

  t.test('exactly one credential', async (t) => {
    const token = await provider.sign();
    const both = await server.call('GET', '/auth/whoami', { key: server.admin, headers: bearer(token).headers });
    t.equal(both.status, 401);
  });

  const other = await generateKeyPair('RS256', { extractable: true });
  const known = provider.publicKey();
  const pem = await exportSPKI((await importJWK(known, 'RS256')) as never);
  const der = createPublicKey(pem).export({ type: 'spki', format: 'der' });
  const forged = async (header: object, claims: object = {}) => {
    const all = { iss: provider.issuer, aud: AUDIENCE, sub: 'ada', exp: now + 600, roles: ['admin'], ...claims };
    const signer = new SignJWT(all).setProtectedHeader({ alg: 'RS256', ...header } as JWTHeaderParameters);
    return signer.sign(other.privateKey);
  };
  const hmac = async (secret: string | Buffer) => {
    const [, claims] = (await provider.sign({ roles: ['admin'] })).split('.');
    const head = Buffer.from(JSON.stringify({ alg: 'HS256', kid: known.kid })).toString('base64url');
    return `${head}.${claims}.${createHmac('sha256', secret).update(`${head}.${claims}`).digest('base64url')}`;
  };
  const changed = async (change: (claims: object) => object) => {
    const [head, claims = '', signature] = (await provider.sign()).split('.');
    const text = JSON.stringify(change(JSON.parse(Buffer.from(claims, 'base64url').toString())));
    return `${head}.${Buffer.from(text).toString('base64url')}.${signature}`;
  };
  const unsigned = (name: string) => {
    const all = { iss: provider.issuer, aud: AUDIENCE, sub: 'ada', exp: now + 600 };
    return new UnsecuredJWT(all).encode().replace(/^[^.]*/, btoa(JSON.stringify({ alg: name })).replaceAll('=', ''));
  };
  const attacks: [string, () => string | Promise<string>][] = [
    ['alg none', () => unsigned('none')],
    ['alg None', () => unsigned('None')],
    [
      'alg none with the signature of another token',
      () => provider.sign().then((it) => `${unsigned('none')}${it.split('.')[2]}`),
    ],
    ['no signature', () => provider.sign().then((it) => it.replace(/[^.]*$/, ''))],
    ['key confusion: HS256 with the public key in PEM', () => hmac(pem)],
    ['key confusion: HS256 with the public key in DER', () => hmac(der)],
    ['key confusion: HS256 with the modulus', () => hmac(known.n ?? '')],
    ['HS256 with an empty secret', () => hmac('')],
    ['HS256 with the client id', () => hmac('wfx')],
    ['another key under the known kid', () => forged({ kid: known.kid })],
    ['an unknown kid', () => forged({ kid: 'unknown' })],
    ['no kid, another key', () => forged({})],
    ['its own key in the header', () => exportJWK(other.publicKey).then((jwk) => forged({ jwk }))],
    [
      'the address of its own keys in the header',
      () => forged({ jku: 'http://127.0.0.1:1/jwks', x5u: 'http://127.0.0.1:1/' }),
    ],
    ['claims changed after signing', () => changed((claims) => ({ ...claims, roles: ['admin'] }))],
    [
      'signed with another algorithm than it says',
      () => provider.sign({}, { alg: 'RS256' }).then((it) => it.replace(/^[^.]*/, btoa('{"alg":"ES256"}'))),
    ],
    ['a critical extension that nobody knows', () => provider.sign({}, { crit: ['x'], x: 1 })],
    ['another issuer', () => provider.sign({ iss: 'https://elsewhere.example' })],
    ['the issuer with a slash', () => provider.sign({ iss: `${provider.issuer}/` })],
    ['no issuer', () => provider.sign({ iss: undefined })],
    ['another audience', () => provider.sign({ aud: 'urn:other' })],
    ['other audiences', () => provider.sign({ aud: ['urn:other', `${AUDIENCE}.evil`] })],
    ['no audience', () => provider.sign({ aud: undefined })],
    ['expired', () => provider.sign({ exp: now - 31 })],
    ['no expiry', () => provider.sign({ exp: undefined })],
    ['an expiry that is text', () => provider.sign({ exp: '9999999999' })],
    ['not yet valid', () => provider.sign({ nbf: now + 120 })],
    ['no subject', () => provider.sign({ sub: undefined })],
    ['a token that tells of a sign-out', () => provider.sign({}, { typ: 'logout+jwt' })],
    ['a token of another kind', () => provider.sign({}, { typ: 'dpop+jwt' })],
    ['an API key', () => server.admin],
    ['not a token', () => 'x.y.z'],
    ['two parts', () => 'eyJhbGciOiJSUzI1NiJ9.e30'],
    ['an encrypted one', () => `${btoa('{"alg":"dir","enc":"A256GCM"}')}..AAAA.AAAA.AAAA`],
    ['empty', () => ''],
  ];
  t.test('forged and unfit ones all get the same 401', async (t) => {
    const texts = new Set<string>();
    for (const [name, made] of attacks) {
      const { status, body, headers } = await whoami(server, await made());
      t.equal(status, 401, name);
      t.match(headers.get('www-authenticate'), /Bearer/);
      texts.add(body.message);
    }
    t.equal(texts.size, 1, 'the text never says why');
  });

  t.test('clocks may differ a little', async (t) => {
    t.equal((await whoami(server, await provider.sign({ exp: now - 5 }))).status, 200);
    t.equal((await whoami(server, await provider.sign({ nbf: now + 10 }))).status, 200);
  });

  t.test('a token of another issuer never makes the daemon call anybody', async (t) => {
    const fresh = await openServer(t, { oidc: { issuer: provider.issuer, clientId: AUDIENCE } });
    provider.asked.clear();
    t.equal((await whoami(fresh, await provider.sign({ iss: 'https://elsewhere.example' }))).status, 401);
    t.equal((await whoami(fresh, 'x.y.z')).status, 401);
    t.equal(provider.asked.size, 0);
    t.equal((await whoami(fresh, await provider.sign())).status, 200);
    t.not(provider.asked.size, 0, 'as one of the issuer does');
  });

  t.test('keys that the provider changes are taken, and the old ones no longer', async (t) => {
    const old = await provider.sign();
    t.equal((await whoami(server, old)).status, 200);
    await provider.rotate();
    t.equal((await whoami(server, await provider.sign())).status, 200);
    t.equal((await whoami(server, old)).status, 401);
  });

  t.test('without WORKFLOW_READ people see public flows, and nothing else', async (t) => {
    const guest = bearer(await provider.sign({ roles: [] }));
    await publish(server, waitingFlow());
    await publish(server, `${shortFlow()}public: true\n`);
    const { body } = await server.call('GET', '/process/list', guest);
    t.strictSame(
      body.items.map((flow: { processId: string }) => flow.processId),
      [SHORT],
    );
    t.equal((await server.call('GET', `/process/${WAITING}`, guest)).status, 403);
    t.equal((await server.call('POST', '/process/exec', { ...guest, body: { processId: SHORT } })).status, 403);
  });
});

t.test('claims', async (t) => {
  const provider = await identity(t);
  const common = { issuer: provider.issuer, clientId: AUDIENCE };

  t.test('organization and roles come from the claims that the settings name', async (t) => {
    const server = await openServer(t, {
      oidc: {
        ...common,
        organizationClaim: 'tenant.id',
        organizations: { 'T-1': 'default', 'T-2': 'gone' },
        rolesClaim: 'https://example.com/groups',
        roles: { 'wfx admins': 'admin', ops: ['runner', 'developer'], root: 'system' },
        defaultRoles: ['viewer'],
      },
    });
    const claim = 'https://example.com/groups';
    const as = async (tenant: unknown, groups: unknown) =>
      (await whoami(server, await provider.sign({ tenant, roles: ['admin'], [claim]: groups }))).body;
    t.match(await as({ id: 'T-1' }, ['wfx admins']), { organizationId: 'default', roles: ['admin', 'viewer'] });
    t.match(await as({ id: ['x', 'T-1'] }, 'ops'), { roles: ['runner', 'developer', 'viewer'] });
    t.match(await as({ id: 'T-1' }, ['admin', '__proto__', 'toString']), { roles: ['viewer'] }, 'only what is mapped');
    t.match(await as({ id: 'T-1' }, ['root']), { organizationId: null, roles: ['system', 'viewer'] });
    for (const tenant of [undefined, {}, 'T-1', { id: 'default' }, { id: 'T-2' }, { id: '__proto__' }, { id: 1 }])
      t.match(await as(tenant, ['ops']), { error: 'FORBIDDEN', message: /belongs to no organization/ });
  });

  t.test('without a mapping, roles are named by themselves, but nobody becomes system-level', async (t) => {
    const server = await openServer(t, { oidc: { ...common, organizationClaim: 'org' } });
    const as = async (claims: object) => (await whoami(server, await provider.sign(claims))).body;
    t.match(await as({ org: 'default', roles: ['system', 'runner', 'x'] }), {
      organizationId: 'default',
      roles: ['runner'],
    });
    t.match(await as({ org: 'other', roles: ['admin'] }), { error: 'FORBIDDEN' });
    t.match(
      await as({ org: 'default', name: 'A\u001b[31mda\u202e' }),
      { name: 'A[31mda' },
      'names command no terminal',
    );
  });
});

t.test('the daemon does not need the provider to start, and finds it when it is back', async (t) => {
  const provider = await identity(t);
  provider.fail(500);
  const server = await openServer(t, { oidc: { issuer: provider.issuer, clientId: AUDIENCE } });
  const down = await whoami(server, await provider.sign());
  t.equal(down.status, 503);
  t.match(down.body, { error: 'ISSUER_UNAVAILABLE', message: /^Nobody can be signed in now: .* API keys work/ });
  t.equal((await server.call('GET', '/auth/whoami')).status, 200, 'keys work meanwhile');
  const asked = provider.asked.get('/.well-known/openid-configuration');
  await whoami(server, await provider.sign());
  t.equal(provider.asked.get('/.well-known/openid-configuration'), asked, 'it is not asked at every request');
  provider.fail(undefined);
  let status = 503;
  while (status === 503) {
    await delay(100);
    status = (await whoami(server, await provider.sign())).status;
  }
  t.equal(status, 200);
  await provider.rotate();
  provider.fail(503);
  t.equal(
    (await whoami(server, await provider.sign())).status,
    503,
    'new keys that cannot be fetched are not a wrong token',
  );
});

t.test('settings that would let anybody in are refused at the start', async (t) => {
  const home = tempFolder(t);
  const read = (oidc: object) => {
    writeFileSync(join(home, 'settings.json'), JSON.stringify({ oidc }));
    return readConfig([], { WFX_HOME: home }).oidc;
  };
  const good = { issuer: 'https://login.example/realms/a', clientId: 'wfx' };
  t.strictSame(read(good), good);
  t.ok(read({ ...good, issuer: 'http://localhost:8080/realms/a' }), 'for trying it out');
  const rows: [object, RegExp][] = [
    [{ ...good, issuer: 'http://login.example' }, /must begin with https/],
    [{ clientId: 'wfx' }, /oidc.issuer is required/],
    [{ ...good, defaultRoles: ['system'] }, /oidc.defaultRoles/],
    [{ ...good, clockSkew: 3600 }, /oidc.clockSkew/],
    [{ ...good, organization: 'a', organizationClaim: 'b' }, /exclude each other/],
    [{ ...good, organizations: { a: 'b' } }, /needs oidc.organizationClaim/],
    [{ ...good, roleClaim: 'x' }, /oidc.roleClaim is not a field/],
  ];
  for (const [oidc, message] of rows) t.throws(() => read(oidc), { name: 'UsageError', message });
});

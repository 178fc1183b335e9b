import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, importJWK, type JWK, type JWTHeaderParameters, SignJWT } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';
import type { Test } from 'tap';

export const AUDIENCE = 'urn:wfx';

/** An identity provider on loopback: a real one, whose keys the test has too. */
export interface Identity {
  readonly issuer: string;
  /** How often each path was asked for. */
  readonly asked: Map<string, number>;
  /** A token as the provider signs it, with what the test changes. A claim that is undefined is left out. */
  sign(claims?: object, header?: Partial<JWTHeaderParameters>): Promise<string>;
  /** A token that the provider itself made, for a program. */
  machineToken(): Promise<string>;
  /** Makes the client `wfx`, which signs in by this address of the daemon. */
  register(redirectUri: string): void;
  /** New keys; the old ones are gone. */
  rotate(): Promise<void>;
  /** The public half of the key in use. */
  publicKey(): JWK;
  /** From now on it answers with this status; undefined: as it should. */
  fail(status: number | undefined): void;
}

const CLIENTS: NonNullable<Configuration['clients']> = [
  {
    client_id: 'machine',
    client_secret: 'of the machine',
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
  },
  {
    client_id: 'cli',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    redirect_uris: ['http://127.0.0.1/callback'],
    grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
  },
];

/** Claims of whoever signs in: the login is the person. */
const claimsOf = (sub: string) => ({ roles: ['developer'], name: sub === 'ada' ? 'Ada Lovelace' : sub });

async function newKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = await exportJWK(privateKey);
  return { ...jwk, kid: randomUUID(), alg: 'RS256', use: 'sig' };
}

function providerWith(issuer: string, key: JWK, redirectUri: string | undefined): Provider {
  const web = { client_id: 'wfx', client_secret: 'of the daemon', redirect_uris: [redirectUri ?? ''] };
  const provider = new Provider(issuer, {
    clients: redirectUri === undefined ? CLIENTS : [...CLIENTS, web],
    jwks: { keys: [key as never] },
    cookies: { keys: ['for this test'] },
    ttl: {
      ClientCredentials: 600,
      AccessToken: 600,
      RefreshToken: 3600,
      Grant: 3600,
      IdToken: 600,
      Interaction: 600,
      Session: 600,
      DeviceCode: 600,
    },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub, ...claimsOf(sub) }) }),
    extraTokenClaims: (_context, token) => claimsOf('accountId' in token ? String(token.accountId) : 'machine'),
    features: {
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ scope: '', audience: AUDIENCE, accessTokenFormat: 'jwt' }),
      },
    },
  });
  provider.on('server_error', (_context, error) => console.error(error));
  return provider;
}

export async function identity(t: Test): Promise<Identity> {
  let listener: RequestListener = (_request, response) => response.writeHead(500).end();
  let failing: number | undefined;
  let redirectUri: string | undefined;
  const asked = new Map<string, number>();
  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0] ?? '';
    asked.set(path, (asked.get(path) ?? 0) + 1);
    if (failing === undefined) listener(request, response);
    else response.writeHead(failing).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let key = await newKey();
  const open = () => {
    listener = providerWith(issuer, key, redirectUri).callback();
  };
  open();
  return {
    issuer,
    asked,
    async sign(claims = {}, header = {}) {
      const now = Math.floor(Date.now() / 1000);
      const all = { iss: issuer, aud: AUDIENCE, sub: 'ada', iat: now, exp: now + 600, ...claimsOf('ada'), ...claims };
      const signer = new SignJWT(JSON.parse(JSON.stringify(all)));
      signer.setProtectedHeader({ alg: 'RS256', kid: key.kid as string, ...header });
      return signer.sign(await importJWK(key, 'RS256'), { crit: { x: true } });
    },
    async machineToken() {
      const answer = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa('machine:of+the+machine')}` },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      });
      return ((await answer.json()) as { access_token: string }).access_token;
    },
    register(uri) {
      redirectUri = uri;
      open();
    },
    async rotate() {
      key = await newKey();
      open();
    },
    publicKey() {
      const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...open } = key;
      return open;
    },
    fail(status) {
      failing = status;
    },
  };
}

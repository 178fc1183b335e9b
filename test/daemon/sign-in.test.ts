import t from 'tap';
import { serve } from '../cli/machine.ts';
import { browser, signInAs } from './browser.ts';
import { AUDIENCE, identity } from './identity.ts';
import { openServer } from './server.ts';

t.test('signing in with a browser', async (t) => {
  const provider = await identity(t);
  const app = await serve(t, (_request, response) => response.setHeader('Content-Type', 'text/html').end('<p>app'));
  const server = await openServer(t, {
    allowedOrigins: [app],
    oidc: { issuer: provider.issuer, clientId: 'wfx', clientSecret: 'of the daemon', audience: AUDIENCE },
  });
  provider.register(`${server.url}/auth/callback`);
  const chrome = await browser(t);

  t.test('a person gets a token that the daemon takes, on a page that runs nothing', async (t) => {
    const page = await (await chrome.newContext()).newPage();
    await page.goto(`${server.url}/auth/login`);
    t.ok(page.url().startsWith(provider.issuer));
    await signInAs(page, '<i>ada&"</i>');
    await page.waitForURL(/\/auth\/callback/);
    t.equal(await page.textContent('h1'), 'Signed in as <i>ada&"</i>', 'what people are called is text');
    const token = await page.inputValue('textarea');
    const { body } = await server.call('GET', '/auth/whoami', {
      key: undefined,
      headers: { authorization: `Bearer ${token}` },
    });
    t.match(body, { userId: '<i>ada&"</i>', organizationId: 'default', roles: ['developer'] });
    await page.reload();
    t.match(await page.textContent('main'), /Not signed in.*not begun in this browser/s, 'the code works once');
  });

  t.test('a page of an allowed origin gets the token behind the #', async (t) => {
    const page = await (await chrome.newContext()).newPage();
    await page.goto(`${server.url}/auth/login?returnTo=${encodeURIComponent(`${app}/in?x=1`)}`);
    await signInAs(page, 'ada');
    await page.waitForURL(`${app}/**`);
    const url = new URL(page.url());
    t.equal(url.search, '?x=1');
    const given = new URLSearchParams(url.hash.slice(1));
    t.match(given.get('access_token'), /^ey/);
    t.equal(given.get('token_type'), 'Bearer');
    t.ok(Number(given.get('expires_in')) > 500);
  });

  const begin = async (query = '') => {
    const answer = await fetch(`${server.url}/auth/login${query}`, { redirect: 'manual' });
    const cookie = answer.headers.get('set-cookie') ?? '';
    return { status: answer.status, cookie, address: new URL(answer.headers.get('location') ?? 'about:blank'), answer };
  };
  const callback = (query: string, cookie?: string) =>
    server.call('GET', `/auth/callback${query}`, {
      key: undefined,
      headers: cookie === undefined ? {} : { cookie: cookie.split(';')[0] ?? '' },
    });

  t.test(
    'every attempt has its own state, nonce and PKCE challenge, and a cookie that nobody else can read',
    async (t) => {
      const [one, two] = [await begin(), await begin()];
      t.equal(one.status, 302);
      const query = Object.fromEntries(one.address.searchParams);
      t.match(query, {
        response_type: 'code',
        client_id: 'wfx',
        code_challenge_method: 'S256',
        scope: 'openid profile email',
      });
      t.equal(query['redirect_uri'], `${server.url}/auth/callback`);
      for (const name of ['state', 'nonce', 'code_challenge']) {
        t.ok((query[name] ?? '').length >= 43, name);
        t.not(query[name], two.address.searchParams.get(name), name);
        t.notMatch(one.cookie, query[name] ?? '');
      }
      t.match(one.cookie, /; HttpOnly; SameSite=Lax$/);
      t.notMatch(one.address.href, 'of the daemon');
    },
  );

  t.test('answers that do not belong to the attempt are refused', async (t) => {
    const { cookie, address } = await begin();
    const state = address.searchParams.get('state') ?? '';
    const iss = encodeURIComponent(provider.issuer);
    const rows: [string, string, string | undefined][] = [
      ['no cookie', `?code=x&state=${state}&iss=${iss}`, undefined],
      ['the cookie of another attempt', `?code=x&state=${state}&iss=${iss}`, (await begin()).cookie],
      ['a cookie that was changed', `?code=x&state=${state}&iss=${iss}`, cookie.replace(/.{6};/, 'AAAAAA;')],
      ['another state', `?code=x&state=y&iss=${iss}`, cookie],
      ['no state', `?code=x&iss=${iss}`, cookie],
      ['another issuer (mix-up)', `?code=x&state=${state}&iss=https%3A%2F%2Fevil.example`, cookie],
      ['a code that the provider did not give', `?code=x&state=${state}&iss=${iss}`, cookie],
      ['the provider says no', `?error=access_denied&error_description=%3Cb%3E&state=${state}&iss=${iss}`, cookie],
      ['nothing', '', cookie],
    ];
    for (const [name, query, sent] of rows) {
      const { status, body, headers } = await callback(query, sent);
      t.equal(status, 401, name);
      t.match(body, /<h1>Not signed in<\/h1>\n<p>Signing in did not work: /, name);
      t.notMatch(body, '<b>', name);
      t.match(headers.get('content-security-policy'), "default-src 'none'");
      t.match(headers.get('set-cookie'), 'Max-Age=0');
    }
    t.equal((await callback(`?code=x&code=y&state=${state}`, cookie)).status, 400, 'two codes');
  });

  t.test('a token is handed to no page that the settings do not name', async (t) => {
    for (const page of [
      'https://evil.example/',
      `${app}.evil.example/`,
      `${app}@evil.example/`,
      '//evil.example',
      '/x',
      'javascript:1',
      `blob:${app}/1`,
    ])
      t.equal((await begin(`?returnTo=${encodeURIComponent(page)}`)).status, 400, page);
  });

  t.test('programs learn how to sign a person in, and no secret', async (t) => {
    const { body } = await server.call('GET', '/auth/settings', { key: undefined });
    t.strictSame(body, {
      issuer: provider.issuer,
      clientId: 'wfx',
      scopes: ['openid', 'profile', 'email'],
      parameters: {},
      token: 'access',
    });
  });

  t.test('while the provider is away, this is what is said', async (t) => {
    const away = await openServer(t, { oidc: { issuer: 'http://127.0.0.1:1', clientId: 'wfx' } });
    const { status, body } = await away.call('GET', '/auth/login');
    t.equal(status, 503);
    t.equal(body.error, 'ISSUER_UNAVAILABLE');
  });
});

t.test('without an identity provider there is no sign-in', async (t) => {
  const server = await openServer(t);
  for (const path of ['/auth/login', '/auth/callback', '/auth/settings'])
    t.match((await server.call('GET', path, { key: undefined })).body, { error: 'NOT_FOUND', message: /setting oidc/ });
});

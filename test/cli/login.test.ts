import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import t from 'tap';
import { browserOf } from '../../src/cli/login/open.ts';
import { browser, signInAs } from '../daemon/browser.ts';
import { AUDIENCE, identity } from '../daemon/identity.ts';
import { openServer } from '../daemon/server.ts';
import { FLOWS, type Machine, machine } from './machine.ts';

const CLI = { clientId: 'wfx', audience: AUDIENCE, cli: { clientId: 'cli' } };

async function withDaemon(own: Machine, oidc: object): Promise<void> {
  mkdirSync(own.home, { recursive: true });
  writeFileSync(join(own.home, 'settings.json'), JSON.stringify({ oidc }));
  const started = await own.wfx(['daemon', 'start', '--port', '0']);
  if (started.code !== 0) throw new Error(started.stderr);
}

/** Runs `wfx login` and does in a browser what it asks for. */
async function login(own: Machine, chrome: Browser, person: string, args: readonly string[] = []) {
  const running = own.begin(['login', '--no-browser', ...args]);
  const [address] = await running.says(/http:\/\/\S+\/auth\?\S+/);
  const page = await (await chrome.newContext()).newPage();
  await page.goto(address);
  await signInAs(page, person);
  await page.waitForURL(/127\.0\.0\.1:\d+\/callback/);
  return { ...(await running.result), page, address };
}

t.test('signing the command line in', async (t) => {
  const provider = await identity(t);
  const own = machine(t);
  await withDaemon(own, { issuer: provider.issuer, ...CLI });
  const chrome = await browser(t);
  const whoami = async (given = {}) => (await own.wfx(['whoami', '-o', 'json'], given)).json();

  t.test('by a browser: commands are then the person’s', async (t) => {
    const { code, stdout, stderr, page, address } = await login(own, chrome, 'ada');
    t.equal(code, 0, stderr);
    t.match(stderr, 'Signed in as Ada Lovelace (organization default; developer).');
    t.equal(stdout, '', 'nothing that a script would take for a result');
    t.match(await page.textContent('body'), 'Signed in.');
    t.match(new URL(address).searchParams.get('redirect_uri'), /^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    t.match(await whoami(), { userId: 'ada', roles: ['developer'] });
    t.match((await own.wfx(['whoami'])).stdout, /user +ada/);
    const run = await own.wfx(['run', join(FLOWS, 'reshape-json.yaml')]);
    t.equal(run.code, 0, run.stderr);
    t.match((await own.wfx(['token'])).stdout, /^ey\S+\n$/);
    const refused = await own.wfx(['key', 'list']);
    t.equal(refused.code, 4);
    t.match(refused.stderr, /This account lacks the permission/);
    t.match(
      await whoami({ env: { WFX_API_KEY: 'x' } }).catch(() => 'refused'),
      'refused',
      'a key that is given comes first',
    );
  });

  t.test('tokens rest with the other credentials, and in no file that others read', async (t) => {
    const token = (await own.wfx(['token'])).stdout.trim();
    t.match(readFileSync(join(own.home, 'credentials.json'), 'utf8'), token);
    t.equal(statSync(join(own.home, 'credentials.json')).mode & 0o777, 0o600);
    for (const file of ['logins.json', 'daemon.log', 'daemon.json'])
      t.notMatch(readFileSync(join(own.home, file), 'utf8'), token, file);
  });

  t.test('a token that ends is renewed, once for all commands that need it', async (t) => {
    const before = provider.asked.get('/token') ?? 0;
    age(own.home, 30_000);
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => own.wfx(['whoami', '-o', 'json'])));
    for (const { code, stderr, json } of answers) {
      t.equal(code, 0, stderr);
      t.match(json(), { userId: 'ada' });
    }
    t.equal(provider.asked.get('/token'), before + 1);
    t.notOk(existsSync(join(own.home, 'login.lock')));
  });

  t.test('a command that was killed while it renewed holds nobody up', async (t) => {
    writeFileSync(join(own.home, 'login.lock'), '999999999');
    age(own.home, 30_000);
    t.match(await whoami(), { userId: 'ada' });
  });

  t.test('while the provider is away, a token serves to its end, and then the words are clear', async (t) => {
    provider.fail(503);
    age(own.home, 30_000);
    t.match(await whoami(), { userId: 'ada' });
    age(own.home, -1);
    const { code, stderr } = await own.wfx(['whoami']);
    provider.fail(undefined);
    t.equal(code, 5);
    t.match(stderr, /The identity provider http\S+ does not answer as it should/);
    t.match(await whoami(), { userId: 'ada' }, 'it is renewed when the provider is back');
  });

  t.test('signing out tells the provider, and gives commands their key back', async (t) => {
    const kept = readFileSync(join(own.home, 'credentials.json'));
    const logins = readFileSync(join(own.home, 'logins.json'));
    const out = await own.wfx(['logout']);
    t.equal(out.code, 0);
    t.equal(out.stderr, 'Signed out.\n');
    t.match(await whoami(), { userId: null, roles: ['admin'] });
    t.notMatch(readFileSync(join(own.home, 'credentials.json'), 'utf8'), 'login:');
    t.equal((await own.wfx(['logout'])).stderr, 'Nobody was signed in.\n');
    // Who had copied everything can't renew it any more.
    writeFileSync(join(own.home, 'credentials.json'), kept);
    writeFileSync(join(own.home, 'logins.json'), logins);
    age(own.home, 1000);
    const { code, stderr } = await own.wfx(['whoami']);
    t.equal(code, 4);
    t.match(stderr, /Your sign-in by http\S+ has ended\.\n *hint: sign in again: wfx login/);
    await own.wfx(['logout']);
  });

  t.test('by a code on another device', async (t) => {
    const running = own.begin(['login', '--device', '-o', 'json']);
    const [, address = '', code = ''] = await running.says(/Visit (\S+)\nand enter the code (\S+)\. /);
    t.match(address, code, 'the address has the code too');
    const page = await (await chrome.newContext()).newPage();
    await page.goto(address);
    await page.click('button[type=submit]');
    await signInAs(page, 'grace');
    const { code: exit, stderr, json } = await running.result;
    t.equal(exit, 0, stderr);
    t.match(json(), { userId: 'grace', roles: ['developer'] });
    t.match(await whoami(), { userId: 'grace' });
  });

  t.test('a token goes to the daemon that it is for, and to no other', async (t) => {
    const { url } = (await own.wfx(['daemon', 'status', '-o', 'json'])).json();
    await own.wfx(['context', 'add', 'work', url]);
    rename(own.home, 'local', 'context:work', url);
    t.match(await whoami(), { userId: 'grace' });
    t.match(await whoami({ env: { WFX_URL: url } }), { userId: null }, 'by its address it is somewhere else');
    await own.wfx(['context', 'add', 'work', url.replace('127.0.0.1', 'localhost')]);
    t.equal((await own.wfx(['whoami'])).code, 4, 'the name leads elsewhere now');
    await own.wfx(['context', 'remove', 'work']);
    t.notOk(existsSync(join(own.home, 'logins.json')));
    t.notMatch(readFileSync(join(own.home, 'credentials.json'), 'utf8'), 'login:');
  });

  t.test('whatever else comes to the port is turned away, and the browser that comes next is not', async (t) => {
    const running = own.begin(['login', '--no-browser']);
    const [address] = await running.says(/http:\/\/\S+\/auth\?\S+/);
    const redirect = new URL(address).searchParams.get('redirect_uri') ?? '';
    for (const path of ['', '?code=x', '?code=x&state=y', '/../?state='])
      t.equal((await fetch(redirect + path)).status, 404, path);
    const state = new URL(address).searchParams.get('state');
    const iss = encodeURIComponent(provider.issuer);
    const said = await fetch(`${redirect}?error=access_denied&error_description=not%20you&state=${state}&iss=${iss}`);
    t.match(await said.text(), /^Not signed in\. The identity provider \S+ says no: not you\./);
    const { code, stderr } = await running.result;
    t.equal(code, 4);
    t.match(stderr, /says no: not you\.\n *hint: try again: wfx login/);
  });

  t.test('the browser of the machine is opened', async (t) => {
    const opened = join(own.dir, 'opened');
    const program = join(own.dir, 'browser');
    writeFileSync(program, `#!/bin/sh\nprintf %s "$1" > ${opened}.tmp && mv ${opened}.tmp ${opened}\n`, {
      mode: 0o755,
    });
    const running = own.begin(['login'], { env: { BROWSER: program } });
    const [address] = await running.says(/http:\/\/\S+\/auth\?\S+/);
    while (!existsSync(opened)) await new Promise((resolve) => setTimeout(resolve, 20));
    t.equal(readFileSync(opened, 'utf8'), address, 'as one word, whatever is in it');
    running.child.kill('SIGINT');
    await running.result;
    const rows: [NodeJS.Platform, Record<string, string>, string | undefined][] = [
      ['linux', {}, undefined],
      ['linux', { DISPLAY: ':0' }, 'xdg-open'],
      ['linux', { DISPLAY: ':0', SSH_CONNECTION: 'x' }, undefined],
      ['linux', { BROWSER: 'lynx', SSH_CONNECTION: 'x' }, 'lynx'],
      ['darwin', {}, 'open'],
      ['darwin', { CI: 'true' }, undefined],
      ['win32', {}, 'rundll32'],
    ];
    for (const [platform, env, program] of rows) t.equal(browserOf(env, platform)?.[0], program, platform);
  });
});

/** What was a sign-in at one place is one at another. */
function rename(home: string, from: string, to: string, url: string): void {
  for (const [file, prefix] of [
    ['credentials.json', 'login:'],
    ['logins.json', ''],
  ] as const) {
    const { [prefix + from]: kept, ...rest } = JSON.parse(readFileSync(join(home, file), 'utf8'));
    const moved = typeof kept === 'string' ? kept : { ...kept, url };
    writeFileSync(join(home, file), JSON.stringify({ ...rest, [prefix + to]: moved }), { mode: 0o600 });
  }
}

/** The token is as if it ended so many milliseconds from now. */
function age(home: string, ms: number): void {
  const file = join(home, 'credentials.json');
  const all = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
  for (const [name, value] of Object.entries(all))
    if (name.startsWith('login:')) all[name] = JSON.stringify({ ...JSON.parse(value), expiresAt: Date.now() + ms });
  writeFileSync(file, JSON.stringify(all), { mode: 0o600 });
}

t.test('what can’t be', async (t) => {
  const { wfx } = machine(t);
  const away = await openServer(t, { oidc: { issuer: 'http://127.0.0.1:1', clientId: 'wfx' } });
  const unreachable = await wfx(['login', '--url', away.url]);
  t.equal(unreachable.code, 5);
  t.match(unreachable.stderr, /The identity provider http:\/\/127\.0\.0\.1:1 does not answer/);
  t.equal((await wfx(['login', '--port', 'x', '--url', away.url])).code, 2);
  const keysOnly = await openServer(t);
  const { code, stderr } = await wfx(['login', '--url', keysOnly.url]);
  t.equal(code, 2);
  t.match(stderr, /has no sign-in: it takes API keys/);
});

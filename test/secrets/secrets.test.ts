import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { SecretBox } from '../../src/daemon/store/secret-box.ts';
import { backend, deleteCredential, readCredential, saveCredential } from '../../src/secrets/index.ts';
import { keychainObstacle } from '../../src/secrets/keychain.ts';
import { tempFolder } from '../folder.ts';

process.env['WFX_KEYCHAIN'] = 'off';

t.test('without a keychain a credential rests in a file that only its owner can read', async (t) => {
  const home = join(tempFolder(t), 'deep', 'home');
  await saveCredential('admin', 'apk_a_b', home);
  await saveCredential('system', 'apk_c_d', home);
  t.equal(await readCredential('admin', home), 'apk_a_b');
  t.equal(await readCredential('system', home), 'apk_c_d');
  t.equal(statSync(join(home, 'credentials.json')).mode & 0o777, 0o600);
  t.strictSame(readdirSync(home), ['credentials.json'], 'no draft stays behind');
  await deleteCredential('admin', home);
  t.equal(await readCredential('admin', home), undefined);
  t.equal(await readCredential('system', home), 'apk_c_d', 'the other one stays');
  await deleteCredential('system', home);
  t.notOk(existsSync(join(home, 'credentials.json')));
});

t.test('a file that others could read is closed by the next save, and reported until then', async (t) => {
  const home = tempFolder(t, { 'credentials.json': '{"admin":"apk_a_b"}' });
  chmodSync(join(home, 'credentials.json'), 0o644);
  t.equal((await backend(home)).exposed, true);
  await saveCredential('system', 'x', home);
  t.match(await backend(home), { kind: 'file', exposed: false, detail: /WFX_KEYCHAIN=off/ });
  t.equal(await readCredential('admin', home), 'apk_a_b');
});

t.test('two homes never take each other’s credentials', async (t) => {
  const dir = tempFolder(t, { a: {}, b: {} });
  await saveCredential('admin', 'one', join(dir, 'a'));
  t.equal(await readCredential('admin', join(dir, 'b')), undefined);
  symlinkSync(join(dir, 'a'), join(dir, 'link'));
  t.equal(await readCredential('admin', join(dir, 'link')), 'one');
});

t.test('a damaged file is named, and never overwritten', async (t) => {
  const home = tempFolder(t, { 'credentials.json': 'not json' });
  await t.rejects(readCredential('admin', home), /credentials\.json is damaged/);
  await t.rejects(saveCredential('admin', 'x', home), /credentials\.json is damaged/);
  t.equal(readFileSync(join(home, 'credentials.json'), 'utf8'), 'not json');
});

t.test('the first secrets of a home open after a restart, though they were sealed at the same time', async (t) => {
  const home = tempFolder(t);
  const box = await SecretBox.open(home);
  const sealed = await Promise.all(['DEVELOPMENT', 'PRODUCTION', 'both'].map((text) => box.seal(text, 'webhook/1')));
  const later = await SecretBox.open(home);
  t.strictSame(
    sealed.map((one) => later.open(one, 'webhook/1')),
    ['DEVELOPMENT', 'PRODUCTION', 'both'],
  );
});

t.test('names are ordinary keys, also those that a prototype has', async (t) => {
  const home = tempFolder(t);
  t.equal(await readCredential('constructor', home), undefined);
  await saveCredential('__proto__', 'p', home);
  t.equal(await readCredential('__proto__', home), 'p');
});

t.test('the keychain is left alone where asking it could only block or make noise', async (t) => {
  t.equal(keychainObstacle({ WFX_KEYCHAIN: 'off' }), 'switched off by WFX_KEYCHAIN=off');
  if (process.platform !== 'linux') return;
  const run = tempFolder(t, { bus: '' });
  t.equal(keychainObstacle({}), 'there is no D-Bus session');
  t.equal(keychainObstacle({ XDG_RUNTIME_DIR: run }), undefined);
  t.equal(keychainObstacle({ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere' }), undefined);
});

/** Runs save, backend and read in a process whose `keytar` is the module given; answers what they said. */
function withKeytar(t: Test, module: string): { read: string | null; kind: string; file: boolean } {
  const home = tempFolder(t, { 'keytar.mjs': module });
  const hook = `export const resolve = (name, context, next) =>
    name === 'keytar' ? { url: ${JSON.stringify(pathToFileURL(join(home, 'keytar.mjs')).href)}, shortCircuit: true } : next(name, context);`;
  const script = `
    import { register } from 'node:module';
    register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}));
    const { backend, readCredential, saveCredential } = await import(${JSON.stringify(import.meta.resolve('../../src/secrets/index.ts'))});
    const { existsSync } = await import('node:fs');
    await saveCredential('admin', 'secret', ${JSON.stringify(home)});
    const { kind } = await backend(${JSON.stringify(home)});
    const read = await readCredential('admin', ${JSON.stringify(home)});
    process.stdout.write(JSON.stringify({ read, kind, file: existsSync(${JSON.stringify(join(home, 'credentials.json'))}) }), () => process.exit(0));`;
  const env = { ...process.env, WFX_KEYCHAIN: '', DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere' };
  const args = ['--import=tsx', '--input-type=module', '--eval', script];
  return JSON.parse(execFileSync(process.execPath, args, { env, encoding: 'utf8' }));
}

t.test('a keychain that works keeps the credential, and no file holds it too', async (t) => {
  const module = `const kept = new Map();
    export const setPassword = async (service, account, value) => void kept.set(service + account, value);
    export const getPassword = async (service, account) => kept.get(service + account) ?? null;
    export const deletePassword = async (service, account) => kept.delete(service + account);`;
  t.strictSame(withKeytar(t, module), { read: 'secret', kind: 'keychain', file: false });
});

for (const [what, module] of [
  ['can’t be loaded', `throw new Error('libsecret-1.so.0: cannot open shared object file');`],
  ['has no D-Bus to talk to', failing(`throw new Error('Cannot autolaunch D-Bus without X11 $DISPLAY')`)],
  ['never answers', failing('return new Promise(() => setInterval(() => {}, 1000))')],
] as const)
  t.test(`a keychain that ${what} falls back to the file`, async (t) => {
    t.strictSame(withKeytar(t, module), { read: 'secret', kind: 'file', file: true });
  });

function failing(body: string): string {
  return ['setPassword', 'getPassword', 'deletePassword']
    .map((name) => `export async function ${name}() { ${body} }`)
    .join('\n');
}

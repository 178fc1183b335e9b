import type { Command } from 'commander';
import { deleteCredential, saveCredential } from '../../secrets/index.ts';
import { credentialOf, readContexts, writeContexts } from '../contexts.ts';
import { usage } from '../exit.ts';
import { examples } from '../help.ts';
import { forgetLogin } from '../login/logins.ts';
import { environmentOf, urlOf } from '../settings.ts';
import { printTable } from '../table.ts';
import type { Wfx } from '../wfx.ts';

const LOCAL = 'local';

interface AddOptions {
  readonly environment?: string;
  readonly keyFile?: string;
}

export function add(command: Command, wfx: Wfx): void {
  command
    .command('add')
    .description(
      'Name a daemon elsewhere and use it from now on. Its API key comes from WFX_API_KEY, a file or standard input, never from the command line, where others could see it.',
    )
    .argument('<name>', 'a name of your own')
    .argument('[address]', 'where it is: https://wfx.example; may also be given with --url')
    .option('-e, --environment <name>', 'the environment that commands use there')
    .option('--key-file <file>', 'file with the API key; - reads standard input')
    .addHelpText(
      'after',
      examples(
        ['WFX_API_KEY=apk_… wfx context add work https://wfx.example', 'the key is kept in the keychain'],
        ['wfx context add work https://wfx.example --key-file -', 'paste the key, then Ctrl-D'],
      ),
    )
    .action((name: string, address: string | undefined, options: AddOptions) =>
      addContext(wfx, name, address, options),
    );
  command
    .command('use')
    .description('Choose the daemon that commands talk to.')
    .argument('<name>', `its name; ${LOCAL} is the daemon of this machine`)
    .addHelpText(
      'after',
      examples(['wfx context use work', 'the one named work'], ['wfx context use local', 'this machine again']),
    )
    .action((name: string) => use(wfx, name));
  command
    .command('list')
    .alias('ls')
    .description('List the named daemons; * marks the one in use.')
    .addHelpText('after', examples(['wfx context list', 'names and addresses']))
    .action(() => list(wfx));
  command
    .command('remove')
    .description('Forget a named daemon and its key.')
    .argument('<name>', 'its name')
    .addHelpText('after', examples(['wfx context remove work', 'the daemon itself is not touched']))
    .action((name: string) => remove(wfx, name));
}

async function addContext(wfx: Wfx, name: string, address: string | undefined, options: AddOptions): Promise<void> {
  if (name === LOCAL || !/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name))
    throw usage(`“${name}” can't name a context.`, `use letters, digits, dots and hyphens; ${LOCAL} is taken`);
  const { home, apiKey, address: given } = wfx.settings;
  const key = options.keyFile === undefined ? apiKey : await keyIn(options.keyFile);
  const to = address ?? (given.kind === 'url' ? given.url : undefined);
  if (to === undefined)
    throw usage('The address is missing.', `for example: wfx context add ${name} https://wfx.example`);
  const url = urlOf(to, '<address>');
  const environment =
    options.environment === undefined ? {} : { environment: environmentOf(options.environment, '--environment') };
  if (key !== undefined) await saveCredential(credentialOf(name), key, home);
  const { contexts } = readContexts(home);
  writeContexts(home, { current: name, contexts: new Map([...contexts, [name, { url, ...environment }]]) });
  if (wfx.json) return wfx.io.json({ name, url, ...environment, current: true });
  wfx.io.note(`Commands now talk to ${name} at ${url}.`);
  if (key === undefined)
    wfx.io.note(
      'It has no API key yet: sign in with wfx login, add it again with WFX_API_KEY set, or set that for each command.',
    );
}

async function keyIn(file: string): Promise<string> {
  const { readSource } = await import('../flow-file.ts');
  const key = readSource(file, 'key file').text.trim();
  if (/^\S+$/.test(key)) return key;
  throw usage(`The key file ${file} holds no API key.`, 'it should hold one line: apk_…');
}

function use(wfx: Wfx, name: string): void {
  const { home } = wfx.settings;
  const { contexts } = readContexts(home);
  if (name !== LOCAL && !contexts.has(name)) throw unknown(name, contexts.keys());
  writeContexts(home, name === LOCAL ? { contexts } : { current: name, contexts });
  if (wfx.json) wfx.io.json({ current: name });
  else
    wfx.io.note(
      name === LOCAL
        ? 'Commands now talk to the daemon of this machine.'
        : `Commands now talk to ${name} at ${contexts.get(name)?.url}.`,
    );
}

function list(wfx: Wfx): void {
  const { current = LOCAL, contexts } = readContexts(wfx.settings.home);
  const items = [
    { name: LOCAL, url: null, environment: null },
    ...[...contexts].map(([name, { url, environment = null }]) => ({ name, url, environment })),
  ].map((item) => ({ ...item, current: item.name === current }));
  if (wfx.json) wfx.io.json({ items });
  else
    printTable(
      wfx.io,
      items,
      [
        { title: ' ', text: (item) => (item.current ? '*' : '') },
        { title: 'NAME', text: ({ name }) => name },
        { title: 'ENVIRONMENT', text: ({ environment }) => environment ?? '-' },
        { title: 'ADDRESS', text: ({ url }) => url ?? '(the daemon of this machine)' },
      ],
      '',
    );
}

async function remove(wfx: Wfx, name: string): Promise<void> {
  const { home } = wfx.settings;
  const { current, contexts } = readContexts(home);
  if (!contexts.has(name)) throw unknown(name, contexts.keys());
  const rest = new Map([...contexts].filter(([other]) => other !== name));
  writeContexts(home, { contexts: rest, ...(current === undefined || current === name ? {} : { current }) });
  await deleteCredential(credentialOf(name), home);
  await forgetLogin({ name: credentialOf(name), folder: home });
  if (wfx.json) wfx.io.json({ name });
  else wfx.io.note(`Forgot ${name}.`);
}

function unknown(name: string, names: Iterable<string>): Error {
  const known = [LOCAL, ...names].join(', ');
  return usage(`There is no context “${name}”.`, `there are: ${known}`);
}

import type { Command } from 'commander';
import { ApiError, type Client } from '../../client/index.ts';
import type { SignInSettings, Whoami } from '../../contract/types.ts';
import { CliError, EXIT, usage } from '../exit.ts';
import { examples } from '../help.ts';
import { placeOf, saveLogin, type Tokens } from '../login/logins.ts';
import type { Wfx } from '../wfx.ts';

interface LoginOptions {
  readonly device?: true;
  readonly browser: boolean;
  readonly port?: string;
}

export function add(command: Command, wfx: Wfx): void {
  command
    .description(
      'Sign in as yourself at the daemon that commands talk to, by its identity provider. What you may do there is what your account may; wfx logout ends it.',
    )
    .option('--device', 'enter a code in a browser anywhere, where this machine has none')
    .option('--no-browser', 'only print the address to visit')
    .option('--port <port>', 'the port of this machine that the browser comes back to (default: a free one)')
    .addHelpText(
      'after',
      examples(
        ['wfx login', 'opens a browser'],
        ['wfx login --device', 'over SSH'],
        ['wfx login --url https://wfx.example', 'at a daemon elsewhere'],
      ),
    )
    .action((options: LoginOptions) => login(wfx, options));
}

async function login(wfx: Wfx, options: LoginOptions): Promise<void> {
  const port = portOf(options.port ?? '0');
  const place = placeOf(wfx.settings);
  const client = await wfx.client({ credential: async () => undefined });
  const settings = await settingsAt(client);
  const tokens = await signedIn(wfx, settings, { ...options, port });
  const me = await whoIs(await wfx.client({ credential: async () => ({ token: tokens.token }) }));
  await saveLogin(place, settings, tokens);
  if (wfx.json) return wfx.io.json(me);
  const where = me.organizationId === null ? 'system-level' : `organization ${me.organizationId}`;
  wfx.io.note(`Signed in as ${me.name} (${where}; ${me.roles.join(', ') || 'no roles'}).`);
  if (wfx.settings.apiKey !== undefined) wfx.io.warn('WFX_API_KEY is set, and is sent instead');
}

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) < 65_536) return Number(text);
  throw usage(`--port takes a number from 0 to 65535, not “${text}”.`);
}

async function settingsAt(client: Client): Promise<SignInSettings> {
  try {
    return await client.call('signInSettings');
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    throw usage(
      `The daemon at ${await client.url()} has no sign-in: it takes API keys.`,
      'set WFX_API_KEY, or let who runs it name an identity provider (docs/authentication.md)',
    );
  }
}

async function signedIn(
  { io }: Wfx,
  settings: SignInSettings,
  { device, browser, port }: { readonly device?: true; readonly browser: boolean; readonly port: number },
): Promise<Tokens> {
  const { providerOf } = await import('../login/provider.ts');
  const provider = await providerOf(settings);
  if (device === true) {
    const { byDevice } = await import('../login/device.ts');
    return byDevice(settings, provider, ({ address, code }) =>
      io.note(`Visit ${address}\nand enter the code ${io.paintNote('bold', code)}. Waiting …`),
    );
  }
  const { byBrowser } = await import('../login/browser.ts');
  const { browserOf, openIn } = await import('../login/open.ts');
  const program = browser ? browserOf(io.env, process.platform) : undefined;
  const visit = (address: string): void => {
    io.note(`Sign in with a browser on this machine, at\n${address}`);
    if (program === undefined) io.note('(For a browser elsewhere there is wfx login --device.) Waiting …');
    else openIn(program, address);
  };
  return byBrowser(settings, provider, { port, visit });
}

/** Nothing is kept that the daemon does not take. */
async function whoIs(client: Client): Promise<Whoami> {
  try {
    return await client.call('whoami');
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    throw new CliError(
      EXIT.notAllowed,
      'You signed in, but the daemon does not take the token that the identity provider gave.',
      'its log says why (wfx daemon logs); docs/authentication.md tells what its settings must be',
    );
  }
}

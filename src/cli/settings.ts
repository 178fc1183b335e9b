import { resolve } from 'node:path';
import type { Environment } from '../contract/types.ts';
import { homeDir } from '../home.ts';
import { credentialOf, readContexts } from './contexts.ts';
import { usage } from './exit.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Options that every command takes. */
export interface GlobalOptions {
  readonly url?: string;
  readonly dataDir?: string;
  readonly output?: 'text' | 'json';
}

/** Which daemon a command talks to, and what says so: an address given, a context, or the data folder of this machine. */
type Address =
  | { readonly kind: 'url'; readonly url: string; readonly from: '--url' | 'WFX_URL' }
  | { readonly kind: 'context'; readonly url: string; readonly name: string; readonly credential: string }
  | { readonly kind: 'local' };

export interface Settings {
  /** The folder of the local daemon's data: `--data-dir`, or the home. */
  readonly dataDir: string;
  /** The folder of the CLI's own settings. */
  readonly home: string;
  readonly address: Address;
  readonly apiKey: string | undefined;
  /** From WFX_ENVIRONMENT or the context; a command's own option comes before it. */
  readonly environment: Environment | undefined;
}

/** Flags come before variables, variables before the context in use, and that before the daemon of this machine. */
export function settingsOf(options: GlobalOptions, env: Env): Settings {
  const home = homeDir(env);
  if (options.dataDir === '') throw usage('--data-dir takes a folder, not nothing.');
  const dataDir = options.dataDir === undefined ? home : resolve(options.dataDir);
  const { address, environment } = addressOf(options, env, home);
  const named = env['WFX_ENVIRONMENT'] ?? '';
  return {
    home,
    dataDir,
    address,
    apiKey: env['WFX_API_KEY'] === '' ? undefined : env['WFX_API_KEY'],
    environment: named === '' ? environment : environmentOf(named, 'WFX_ENVIRONMENT'),
  };
}

function addressOf(
  options: GlobalOptions,
  env: Env,
  home: string,
): { address: Address; environment?: Environment | undefined } {
  if (options.url !== undefined) return { address: { kind: 'url', url: urlOf(options.url, '--url'), from: '--url' } };
  const url = env['WFX_URL'] ?? '';
  if (url !== '') return { address: { kind: 'url', url: urlOf(url, 'WFX_URL'), from: 'WFX_URL' } };
  if (options.dataDir !== undefined) return { address: { kind: 'local' } };
  const { current, contexts } = readContexts(home);
  const context = current === undefined ? undefined : contexts.get(current);
  if (current === undefined || context === undefined) return { address: { kind: 'local' } };
  const address = { kind: 'context', url: context.url, name: current, credential: credentialOf(current) } as const;
  return { address, environment: context.environment };
}

/** An address as it is used: `host:port` gets `http://`. */
export function urlOf(text: string, from: string): string {
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  if (!URL.canParse(full)) throw usage(`${from}: “${text}” is no address.`, 'for example: http://127.0.0.1:7117');
  const url = new URL(full);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw usage(`${from}: wfx speaks http and https, not ${url.protocol}//.`, 'for example: http://127.0.0.1:7117');
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

const ENVIRONMENTS: Readonly<Record<string, Environment>> = {
  DEVELOPMENT: 'DEVELOPMENT',
  DEV: 'DEVELOPMENT',
  PRODUCTION: 'PRODUCTION',
  PROD: 'PRODUCTION',
};

export function environmentOf(text: string, from: string): Environment {
  const found = Object.hasOwn(ENVIRONMENTS, text.toUpperCase()) ? ENVIRONMENTS[text.toUpperCase()] : undefined;
  if (found === undefined)
    throw usage(`${from}: there is no environment “${text}”.`, 'it is DEVELOPMENT or PRODUCTION');
  return found;
}

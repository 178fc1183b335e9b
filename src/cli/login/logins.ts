import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SignInSettings } from '../../contract/types.ts';
import { madeHome } from '../../home.ts';
import { deleteCredential, readCredential, saveCredential } from '../../secrets/index.ts';
import { usage } from '../exit.ts';
import type { Settings } from '../settings.ts';

/** Where somebody signed in, and how the token is renewed. The tokens rest with the other credentials. */
export interface Login {
  /** Of the daemon; undefined: the one of this machine, wherever it listens. A token goes to no other address. */
  readonly url?: string;
  readonly provider: SignInSettings;
}

export interface Tokens {
  /** What is sent. */
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  readonly refreshToken?: string | undefined;
}

/** What a sign-in belongs to: a context, an address, or the daemon of this machine, each kept in its own folder. */
export interface Place {
  readonly name: string;
  readonly folder: string;
  readonly url: string | undefined;
}

export function placeOf({ address, home, dataDir }: Settings): Place {
  if (address.kind === 'local') return { name: 'local', folder: dataDir, url: undefined };
  const name = address.kind === 'context' ? address.credential : address.url;
  return { name, folder: home, url: address.url };
}

const fileOf = (folder: string): string => join(folder, 'logins.json');
const credentialOf = ({ name }: Pick<Place, 'name'>): string => `login:${name}`;

/** Undefined: nobody signed in there. */
export function readLogin({ name, folder, url }: Place): Login | undefined {
  const login = readAll(folder).get(name);
  return login?.url === url ? login : undefined;
}

function readAll(folder: string): Map<string, Login> {
  const file = fileOf(folder);
  if (!existsSync(file)) return new Map();
  try {
    return new Map(Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, Login>));
  } catch {
    throw usage(`${file} can't be read.`, 'remove it, and sign in again: wfx login');
  }
}

export async function saveLogin(place: Place, provider: SignInSettings, tokens: Tokens): Promise<void> {
  await saveTokens(place, tokens);
  const login = { provider, ...(place.url !== undefined && { url: place.url }) };
  write(place.folder, readAll(place.folder).set(place.name, login));
}

export async function forgetLogin(place: Pick<Place, 'name' | 'folder'>): Promise<void> {
  const all = readAll(place.folder);
  if (!all.delete(place.name)) return;
  write(place.folder, all);
  await deleteCredential(credentialOf(place), place.folder);
}

function write(folder: string, all: ReadonlyMap<string, Login>): void {
  const file = fileOf(folder);
  if (all.size === 0) return rmSync(file, { force: true });
  const draft = join(madeHome(folder), `logins.json.${process.pid}.tmp`);
  writeFileSync(draft, `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, file);
}

export const saveTokens = (place: Place, tokens: Tokens): Promise<void> =>
  saveCredential(credentialOf(place), JSON.stringify(tokens), place.folder);

export async function readTokens(place: Place): Promise<Tokens | undefined> {
  const text = await readCredential(credentialOf(place), place.folder);
  return text === undefined ? undefined : (JSON.parse(text) as Tokens);
}

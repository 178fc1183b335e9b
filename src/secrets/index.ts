import { realpathSync } from 'node:fs';
import { homeDir } from '../home.ts';
import { change, credentialsFile, isExposed, readAll } from './file.ts';
import { keychain, keychainObstacle } from './keychain.ts';

/**
 * Where the CLI's own credentials rest: the OS keychain, or where there is none (no keytar, no desktop session,
 * WFX_KEYCHAIN=off) a file that only its owner can read (decisions §7). Each belongs to one home, so that several homes
 * on one machine never take each other's. Names in use: `admin` and `system` (made at a daemon's first start), and
 * `context:<name>`.
 */
export async function saveCredential(name: string, value: string, home: string = homeDir()): Promise<void> {
  try {
    await keychain.save(account(name, home), value);
  } catch {
    change(home, name, value);
    return;
  }
  change(home, name, undefined);
}

/** The value, or undefined when there is none. The file is looked at first: it is there at once, a keychain may be slow. */
export async function readCredential(name: string, home: string = homeDir()): Promise<string | undefined> {
  return readAll(home).get(name) ?? (await keychain.read(account(name, home)).catch(() => null)) ?? undefined;
}

export async function deleteCredential(name: string, home: string = homeDir()): Promise<void> {
  change(home, name, undefined);
  await keychain.remove(account(name, home)).catch(() => false);
}

export interface Backend {
  readonly kind: 'keychain' | 'file';
  /** For a person: which file, and why not the keychain. */
  readonly detail: string;
  /** The credentials file can be read by others than its owner. */
  readonly exposed: boolean;
}

/** Which store would take a credential now. Asks the keychain, so it may take up to its time limit. */
export async function backend(home: string = homeDir()): Promise<Backend> {
  const exposed = isExposed(home);
  const reason = keychainObstacle() ?? (await probe(home));
  if (reason === undefined) return { kind: 'keychain', detail: 'the keychain of this system', exposed };
  return { kind: 'file', detail: `${credentialsFile(home)} (no keychain: ${reason})`, exposed };
}

async function probe(home: string): Promise<string | undefined> {
  try {
    await keychain.read(account('probe', home));
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') return 'the package keytar is not installed';
  return message.split('\n', 1)[0] ?? 'unknown';
}

/** One home has one name, through whatever symbolic links it is reached. */
function account(name: string, home: string): string {
  try {
    return `${name}@${realpathSync(home)}`;
  } catch {
    return `${name}@${home}`;
  }
}

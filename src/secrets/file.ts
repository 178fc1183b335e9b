import { closeSync, fsyncSync, openSync, readFileSync, renameSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { madeHome } from '../home.ts';

/** The file can't be used; the message says which, why, and what to do. */
class CredentialsError extends Error {
  override readonly name = 'CredentialsError';
}

/** `<home>/credentials.json`: one object from name to value, readable by its owner alone (mode 0600). */
export const credentialsFile = (home: string): string => join(home, 'credentials.json');

/** All credentials of the file; none when there is no file. Throws when the file is damaged or unreadable. */
export function readAll(home: string): ReadonlyMap<string, string> {
  const file = credentialsFile(home);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return new Map();
    throw new CredentialsError(`${file} can't be read (${code}): it must be a file of yours, with mode 0600.`);
  }
  return new Map(
    Object.entries(parsed(text, file)).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

function parsed(text: string, file: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Said below, in words for a user.
  }
  throw new CredentialsError(
    `${file} is damaged: it holds no JSON object. Restore it, or remove it and make a new key.`,
  );
}

/** Puts (or, with undefined, removes) one value. After a crash the file is the old one or the new one, never half. */
export function change(home: string, name: string, value: string | undefined): void {
  const all = new Map(readAll(home));
  if (value === undefined && !all.has(name)) return;
  if (value === undefined) all.delete(name);
  else all.set(name, value);
  if (all.size === 0) unlinkSync(credentialsFile(home));
  else replace(madeHome(home), `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`);
}

function replace(home: string, text: string): void {
  const file = credentialsFile(home);
  const draft = `${file}.${process.pid}.tmp`;
  const fd = openSync(draft, 'w', 0o600);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(draft, file);
  syncFolder(home);
}

/** Without it a crash may forget the rename. Windows can't open a folder, and needs no such thing. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** True when somebody else than its owner may read the file. */
export function isExposed(home: string): boolean {
  if (process.platform === 'win32') return false;
  const found = statSync(credentialsFile(home), { throwIfNoEntry: false });
  return found !== undefined && (found.mode & 0o077) !== 0;
}

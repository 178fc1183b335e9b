import { readFileSync } from 'node:fs';
import { usage } from './exit.ts';

/** A file that a command was given, or standard input. */
export interface SourceFile {
  /** As the user wrote it; `<stdin>` for `-`. */
  readonly name: string;
  readonly text: string;
}

/** More than any flow or data file: the daemon takes 1 MiB. */
const LIMIT = 16 * 1024 * 1024;

/** Reads a text file, or standard input for `-`; `what` names it in errors: “flow file”. */
export function readSource(file: string, what: string): SourceFile {
  const name = file === '-' ? '<stdin>' : file;
  const bytes = readBytes(file, what);
  if (bytes.length > LIMIT) throw usage(`The ${what} ${name} is larger than ${LIMIT / 1024 / 1024} MiB.`);
  try {
    return { name, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    throw usage(`The ${what} ${name} is not UTF-8 text.`, 'save it as UTF-8');
  }
}

/** The bytes of a file, with errors that a person can act on. */
export function readBytes(file: string, what: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file);
  } catch (error) {
    throw unreadable(file, what, error as NodeJS.ErrnoException);
  }
}

function unreadable(file: string, what: string, { code, message }: NodeJS.ErrnoException): Error {
  if (code === 'ENOENT')
    return usage(`There is no ${what} ${file}.`, 'check the path; it is relative to the folder you are in');
  if (code === 'EISDIR') return usage(`${file} is a folder, not a ${what}.`);
  if (code === 'EACCES') return usage(`You may not read the ${what} ${file}.`);
  return usage(`The ${what} ${file} can't be read: ${message}.`);
}

/** A YAML or JSON file that holds one map. */
export async function readMap(file: string, what: string): Promise<Readonly<Record<string, unknown>>> {
  const { name, text } = readSource(file, what);
  const { yamlValue } = await import('./yaml-map.ts');
  const read = yamlValue(text);
  if ('problem' in read)
    throw usage(`The ${what} ${name} is neither YAML nor JSON: ${read.problem.replace(/[.:]$/, '')}.`);
  const { value } = read;
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw usage(`The ${what} ${name} must hold a map, like {"order": {"total": 240}}.`);
}

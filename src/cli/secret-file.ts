import { readFileSync } from 'node:fs';
import { usage } from './exit.ts';

/**
 * A secret from a file, or from standard input (`-`), so that it shows neither in the shell's history nor in the list of
 * processes. The line end of an editor is no part of it.
 */
export function secretIn(file: string, what: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw usage(`The ${what} file ${file} can't be read: ${(error as Error).message}.`);
  }
}

import { StorageError } from '../ports.ts';

/**
 * What is on disk is not what the journal wrote there: damage, a file lost, doubled or foreign, a newer format. Nothing
 * was modified.
 */
export class CorruptJournalError extends Error {
  override readonly name = 'CorruptJournalError';
  readonly file: string;
  /** Byte in `file` from where on it cannot be trusted. */
  readonly offset: number;

  /** `problem` is the sentence part after the file's name, as `is missing`. */
  constructor(file: string, offset: number, problem: string) {
    super(
      `Journal file ${file} ${problem} (byte ${offset}). Nothing was changed. Restore the data folder from a backup, or ` +
        'move it away to start with an empty one.',
    );
    this.file = file;
    this.offset = offset;
  }
}

const REMEDIES: Readonly<Record<string, string>> = {
  ENOSPC: 'free some space',
  EDQUOT: 'free some space or raise the quota',
  EFBIG: 'raise the limit on the size of files',
  EROFS: 'make it writable or choose another data folder with --data-dir',
  EACCES: 'make it readable and writable or choose another data folder with --data-dir',
  EPERM: 'make it readable and writable or choose another data folder with --data-dir',
  EMFILE: 'raise the limit on open files',
  EISDIR: 'a folder stands where a file belongs, move it away',
  ENOTDIR: 'a file stands where a folder belongs, move it away or choose another data folder with --data-dir',
  EEXIST: 'a file stands where a folder belongs, move it away or choose another data folder with --data-dir',
  ENOENT: 'restore the data folder from a backup or choose another with --data-dir',
  ENFILE: 'raise the limit on open files',
};

/** `cause`, a failed file operation, as a StorageError that says what to do. Errors of our own pass through. */
export function storageError(doing: string, file: string, cause: unknown): Error {
  if (cause instanceof StorageError || cause instanceof CorruptJournalError) return cause;
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === undefined) return cause as Error;
  const remedy = Object.hasOwn(REMEDIES, code) ? (REMEDIES[code] as string) : 'check the disk';
  return new StorageError(`${file} cannot be ${doing} (${message}): ${remedy}.`, { cause });
}

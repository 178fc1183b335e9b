/** The door of the journal room: everything else in this folder is its own affair. */
import type { JournalPort, Recovery } from '../ports.ts';
import { Journal } from './journal.ts';
import type { Log } from './log.ts';

export { CorruptJournalError } from './errors.ts';
export { DataDirInUseError, type DataDirLock, lockDataDir } from './lock.ts';

const SEGMENT_BYTES = 64 * 1024 * 1024;

/**
 * Opens the journal in the folder `dir` (made when it is not there): checks what has to be replayed, cuts a torn tail.
 * The caller reads `recovery.checkpoint`, then `recovery.frames`, and may append after that. Only one process may have a
 * journal open: `lockDataDir`. Rejects with CorruptJournalError when acknowledged frames are damaged or lost (nothing was
 * modified then), and with StorageError when the folder cannot be read or written.
 */
export function openJournal(options: {
  readonly dir: string;
  /** Size at which a segment is sealed; 64 MiB by default. */
  readonly segmentBytes?: number;
  readonly log: Log;
}): Promise<{ journal: JournalPort; recovery: Recovery }> {
  return Journal.open({ segmentBytes: SEGMENT_BYTES, ...options });
}

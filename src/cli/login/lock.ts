import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from '../daemon/found.ts';
import { CliError, EXIT } from '../exit.ts';

const LOOK_MS = 50;
const PATIENCE_MS = 30_000;
/** Longer than anything that is done under a lock. */
const ABANDONED_MS = 60_000;

/** Does something while no other process of this user does it: the file is there as long as one does. */
export async function withLock<T>(file: string, act: () => Promise<T>): Promise<T> {
  const until = performance.now() + PATIENCE_MS;
  while (!taken(file)) {
    if (isAbandoned(file)) rmSync(file, { force: true });
    else if (performance.now() > until)
      throw new CliError(
        EXIT.unreachable,
        `Another command holds ${file} for too long.`,
        'end it, or remove that file',
      );
    else await delay(LOOK_MS);
  }
  try {
    return await act();
  } finally {
    rmSync(file, { force: true });
  }
}

function taken(file: string): boolean {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Its process was killed, or hangs. */
function isAbandoned(file: string): boolean {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    return (pid > 0 && !isAlive(pid)) || Date.now() - statSync(file).mtimeMs > ABANDONED_MS;
  } catch {
    return false;
  }
}

import { randomBytes } from 'node:crypto';
import { open, readdir, readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeFolders } from '../../home.ts';
import { storageError } from './errors.ts';

export interface DataDirLock {
  release(): Promise<void>;
}

/** Another daemon, process `pid`, works in the data folder. */
export class DataDirInUseError extends Error {
  override readonly name = 'DataDirInUseError';
  readonly pid: number;

  constructor(dir: string, pid: number) {
    super(
      `The data folder ${dir} is in use by process ${pid}: use that daemon, stop it, or choose another folder with --data-dir.`,
    );
    this.pid = pid;
  }
}

const POLL_MS = 5;

/**
 * Takes the data folder `dir` (made when it is not there) for this process, until `release` or its death, however that
 * comes. DataDirInUseError when another live process has it, StorageError.
 *
 * Each contender puts a claim of its own into `<dir>/lock`, named `<pid>.<when that process began>.<folder>.<random>`, and only
 * then looks who else is there. Of two contenders the later one sees the earlier one's claim, so both can't find themselves
 * alone. Who is alone holds the folder and says so in the claim. Where several look at the same time, the least name stays
 * and the others step back. Claims of dead processes are deleted by whoever meets them; no name is ever used twice, so
 * nobody deletes a live one by mistake. `<folder>` is the folder's device and inode: in a copy of it, claims mean nothing.
 */
export async function lockDataDir(dir: string): Promise<DataDirLock> {
  const folder = path.join(dir, 'lock');
  try {
    makeFolders(folder);
    const { dev, ino } = await stat(folder);
    const mine = `${process.pid}.${await birthOf(process.pid)}.${dev}-${ino}.${randomBytes(6).toString('hex')}`;
    const claim = path.join(folder, mine);
    const release = () => rm(claim, { force: true });
    const handle = await open(claim, 'wx', 0o600);
    try {
      await untilAlone(dir, folder, mine);
      await handle.writeFile('held\n');
    } catch (error) {
      await release();
      throw error;
    } finally {
      await handle.close();
    }
    return { release };
  } catch (error) {
    throw storageError('written', folder, error);
  }
}

/** Resolves when no other live process claims the folder; DataDirInUseError when one holds it or goes first. */
async function untilAlone(dir: string, folder: string, mine: string): Promise<void> {
  for (;;) {
    const others = await liveClaims(folder, mine);
    if (others.length === 0) return;
    for (const other of others) {
      if (other < mine || (await isHeld(path.join(folder, other)))) throw new DataDirInUseError(dir, pidOf(other));
    }
    await sleep(POLL_MS);
  }
}

/** The claims on this very folder whose processes live, without `mine`. Deletes the others. */
async function liveClaims(folder: string, mine: string): Promise<string[]> {
  const live: string[] = [];
  for (const name of await readdir(folder)) {
    if (name === mine || !/^\d+\.[^.]+\.[^.]+\.[0-9a-f]+$/.test(name)) continue;
    if (placeOf(name) === placeOf(mine) && (await isAlive(name))) live.push(name);
    else await rm(path.join(folder, name), { force: true });
  }
  return live;
}

const placeOf = (claim: string): string | undefined => claim.split('.')[2];

const pidOf = (claim: string): number => Number.parseInt(claim, 10);

const isHeld = (claim: string): Promise<boolean> =>
  stat(claim).then(
    ({ size }) => size > 0,
    () => false,
  );

/** Whether the process of a claim lives: one with its number that began when it did. */
async function isAlive(claim: string): Promise<boolean> {
  const birth = await birthOf(pidOf(claim));
  return birth !== undefined && birth === claim.split('.')[1];
}

/**
 * When a process began, as far as this system tells: on Linux the boot and the clock tick, elsewhere only `alive`.
 * undefined when there is no such process, or when it is dead and only its parent has not noticed.
 */
async function birthOf(pid: number): Promise<string | undefined> {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => undefined);
  if (boot === undefined) return signalReaches(pid) ? 'alive' : undefined;
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (status === undefined) return undefined;
  const [state, ...fields] = status.slice(status.lastIndexOf(')') + 2).split(' ');
  return state === 'Z' || state === 'X' ? undefined : `${boot.slice(0, 8)}-${fields[18]}`;
}

function signalReaches(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

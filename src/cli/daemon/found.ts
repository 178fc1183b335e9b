import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { accepted, exchange, jsonOf, type Target } from '../../client/http.ts';
import { UnreachableError } from '../../client/index.ts';

/** What a running daemon says of itself in `<dataDir>/daemon.json`. */
export interface DaemonFile {
  readonly pid: number;
  readonly url: string;
  readonly version: string;
  /** What it also answers with: at its address there may be another one by now. */
  readonly daemonId?: string;
  readonly startedAt: string;
  readonly dataDir: string;
  /** How its certificate is checked where it speaks HTTPS. */
  readonly tls?: Target['tls'];
}

/**
 * `running`: it answers. `silent`: its process lives but nothing answers (starting, stopped by a signal, or hanging).
 * `none`: there is none; a file that a killed daemon left behind counts as none.
 */
export type Found =
  | { readonly state: 'running' | 'silent'; readonly daemon: DaemonFile }
  | { readonly state: 'none'; readonly daemon?: undefined };

const daemonFile = (dataDir: string): string => join(dataDir, 'daemon.json');
export const daemonLog = (dataDir: string): string => join(dataDir, 'daemon.log');

const HEALTH_MS = 5000;

export async function findDaemon(dataDir: string): Promise<Found> {
  const daemon = readDaemonFile(dataDir);
  if (daemon === undefined || !isAlive(daemon.pid)) return { state: 'none' };
  const { version, daemonId } = await healthAt(daemon);
  if (version === undefined) return { state: 'silent', daemon };
  // The process that the file names is some other one that got its number, and its port has another daemon.
  if (daemonId !== daemon.daemonId) return { state: 'none' };
  return { state: 'running', daemon };
}

export function readDaemonFile(dataDir: string): DaemonFile | undefined {
  try {
    const value = JSON.parse(readFileSync(daemonFile(dataDir), 'utf8')) as DaemonFile;
    return typeof value?.pid === 'number' && typeof value.url === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The process runs. One that is dead, and whose parent has not noticed, doesn't. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return !isZombie(pid);
}

function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false;
  try {
    return /^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** What a daemon that answers says of itself, or why none does. */
interface Health {
  readonly version?: string;
  readonly daemonId?: string;
  readonly problem?: string;
}

export async function healthAt({ url, tls }: Target): Promise<Health> {
  try {
    const ask = { method: 'GET', path: '/health/live', timeoutMs: HEALTH_MS };
    const answer = await accepted(await exchange({ url, tls }, ask), url);
    const health = (await jsonOf(answer, url)) as { version?: unknown; daemonId?: unknown } | undefined;
    if (typeof health?.version === 'string')
      return { version: health.version, ...(typeof health.daemonId === 'string' && { daemonId: health.daemonId }) };
    return { problem: `what answers at ${url} is no wfx daemon` };
  } catch (error) {
    if (error instanceof UnreachableError || (error as Error).name === 'ApiError')
      return { problem: (error as Error).message };
    throw error;
  }
}

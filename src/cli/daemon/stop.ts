import { setTimeout as delay } from 'node:timers/promises';
import { CliError, EXIT } from '../exit.ts';
import { type DaemonFile, findDaemon, isAlive } from './found.ts';

/** A daemon flushes and lets requests finish before it ends. */
const LIMIT_MS = 30_000;
const LOOK_MS = 25;

/** Ends the daemon of a data folder and waits until its process is gone; undefined where none runs. */
export async function stopDaemon(dataDir: string): Promise<DaemonFile | undefined> {
  const found = await findDaemon(dataDir);
  if (found.state === 'none') return undefined;
  const { daemon } = found;
  if (found.state === 'silent')
    throw new CliError(
      EXIT.unreachable,
      `Process ${daemon.pid} does not answer at ${daemon.url}, so it may be something else by now.`,
      `if it is a wfx daemon that hangs, end it: kill ${daemon.pid}`,
    );
  process.kill(daemon.pid, 'SIGTERM');
  for (let waited = 0; isAlive(daemon.pid); waited += LOOK_MS) {
    if (waited >= LIMIT_MS)
      throw new CliError(
        EXIT.failed,
        `The daemon (process ${daemon.pid}) has not ended after ${LIMIT_MS / 1000} s.`,
        `end it the hard way, nothing is lost: kill -9 ${daemon.pid}`,
      );
    await delay(LOOK_MS);
  }
  return daemon;
}

import { execa } from 'execa';

/** Time between SIGTERM and SIGKILL. */
const KILL_AFTER_MS = 5000;
const LOOK_EVERY_MS = 25;

export interface ProcessGroups {
  /**
   * Resolves as `ended` does. When `signal` aborts, or after `longest` ms where that is given, the whole process group gets
   * SIGTERM, and SIGKILL 5 s later; then it resolves only when nothing of the group is left.
   */
  watch<T>(
    child: { readonly pid?: number | undefined },
    signal: AbortSignal,
    longest: number | undefined,
    ended: PromiseLike<T>,
  ): Promise<T>;
  /** Kills what is left of all groups. */
  close(): Promise<void>;
}

/** Ends commands together with everything that they started (semantics 23). */
export function createProcessGroups(): ProcessGroups {
  const live = new Set<number>();
  // A process that ends without `close` leaves nothing running that the next one would start a second time.
  const killAll = (): void => {
    for (const pid of live) send(pid, 'SIGKILL');
  };
  process.on('exit', killAll);

  return {
    async watch({ pid }, signal, longest, ended) {
      if (pid === undefined) return ended;
      live.add(pid);
      let stopping: Promise<void> | undefined;
      const stop = (): void => {
        stopping ??= endGroup(pid);
      };
      const timer = longest === undefined ? undefined : setTimeout(stop, longest);
      if (signal.aborted) stop();
      signal.addEventListener('abort', stop);
      try {
        return await ended;
      } finally {
        await stopping;
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        live.delete(pid);
      }
    },
    async close() {
      killAll();
      process.off('exit', killAll);
    },
  };
}

async function endGroup(pid: number): Promise<void> {
  send(pid, 'SIGTERM');
  const deadline = performance.now() + KILL_AFTER_MS;
  while (isAlive(pid) && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  if (isAlive(pid)) send(pid, 'SIGKILL');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  if (process.platform === 'win32') {
    // Windows knows no process groups: the tree is ended by its own tool, forcibly.
    void execa('taskkill', ['/pid', String(pid), '/T', '/F'], { reject: false, windowsHide: true });
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch {
    // Ended meanwhile.
  }
}

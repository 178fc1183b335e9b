import { EXIT } from './exit.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Does work that goes on until Ctrl-C, `kill`, or the terminal's end: the signal aborts, the work puts away what it holds, and
 * the command exits with 130. A second Ctrl-C doesn't wait for that.
 */
export async function untilInterrupted(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const onSignal = (): void => {
    if (stop.signal.aborted) process.exit(EXIT.interrupted);
    stop.abort();
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  try {
    await work(stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    for (const name of SIGNALS) process.removeListener(name, onSignal);
  }
  if (stop.signal.aborted) process.exitCode = EXIT.interrupted;
}

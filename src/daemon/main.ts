import { writeSync } from 'node:fs';
import { VERSION } from '../version.ts';
import { type Config, readConfig, UsageError } from './config.ts';
import { type Daemon, StartError, startDaemon } from './daemon.ts';
import { DataDirInUseError } from './journal/index.ts';
import { createLog } from './log.ts';

/** What a starter is told once, by IPC or as a line of JSON on `--ready-fd`. */
type Readiness =
  | { readonly ready: true; readonly url: string; readonly pid: number; readonly version: string }
  | { readonly ready: false; readonly error: { readonly code: string; readonly message: string } };

const EXIT = { failed: 1, usage: 2 } as const;

async function main(): Promise<void> {
  let config: Config | undefined;
  try {
    config = readConfig(process.argv.slice(2), process.env);
    const log = createLog(config.logLevel);
    process.on('uncaughtException', (error) => {
      // What was acknowledged is on disk; memory can't be trusted any more, and the next start rebuilds it.
      log.fatal({ err: error }, 'the daemon ends because of an error of its own');
      log.flush();
      process.exit(EXIT.failed);
    });
    // A file at its size limit fails the write, which is answered for. Libraries that clean up on this signal end the process
    // by it only where nobody else listens.
    if (process.platform !== 'win32') process.on('SIGXFSZ', () => undefined);
    const daemon = await startDaemon(config, log);
    log.info({ url: daemon.url, dataDir: config.dataDir, version: VERSION }, 'ready');
    stopOnSignals(daemon, (signal) => log.info({ signal }, 'stopping'));
    report(config, { ready: true, url: daemon.url, pid: process.pid, version: VERSION });
  } catch (error) {
    const { code, message } = failureOf(error);
    process.stderr.write(`wfx daemon: ${message}\n`);
    report(config, { ready: false, error: { code, message } });
    process.exitCode = error instanceof UsageError ? EXIT.usage : EXIT.failed;
  }
}

/** The first signal stops in good order, a second one at once. */
function stopOnSignals(daemon: Daemon, told: (signal: NodeJS.Signals) => void): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(EXIT.failed);
    stopping = true;
    told(signal);
    void daemon.stop().then(() => process.exit(0));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

function report(config: Config | undefined, readiness: Readiness): void {
  if (process.connected) process.send?.(readiness, () => process.channel?.unref());
  if (config?.readyFd !== undefined) writeSync(config.readyFd, `${JSON.stringify(readiness)}\n`);
}

function failureOf(error: unknown): { code: string; message: string } {
  const { message } = error as Error;
  if (error instanceof UsageError) return { code: 'USAGE', message };
  if (error instanceof DataDirInUseError) return { code: 'LOCKED', message };
  if (error instanceof StartError) return { code: error.code, message };
  return { code: 'FAILED', message };
}

await main();

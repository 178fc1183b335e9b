import { type Logger, pino } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

const SECRETS = ['authorization', 'cookie', 'apiKey', '["x-api-key"]', 'secret', 'password', 'token'];

/**
 * The daemon's log: JSON lines on stdout, which the background start turns into `<data folder>/daemon.log`. Credentials are
 * never handed to it; the redaction is a second fence.
 */
export function createLog(level: LogLevel): Logger {
  const lines = pino.destination({ fd: 1, sync: false });
  // A terminal or pipe that is gone must not end the daemon.
  lines.on('error', () => undefined);
  const paths = SECRETS.flatMap((name) => [name, name.startsWith('[') ? `*${name}` : `*.${name}`]);
  return pino({ level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime, redact: paths }, lines);
}

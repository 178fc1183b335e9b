import { closeSync, existsSync, fstatSync, openSync, readSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { plain } from '../../client/index.ts';
import { clockTime } from '../../terminal/shown.ts';
import { EXIT, usage } from '../exit.ts';
import type { Io } from '../io.ts';
import type { Wfx } from '../wfx.ts';

/** Lines are looked for in this much of the file's end. */
const TAIL = 4 * 1024 * 1024;

/** Prints the last lines of the daemon's log; with `follow`, goes on until Ctrl-C, also over a file that was replaced. */
export async function printDaemonLog(wfx: Wfx, file: string, lines: number, follow: boolean): Promise<void> {
  if (!existsSync(file))
    throw usage(
      `There is no log at ${file}.`,
      'the daemon writes it when it is started in the background: wfx daemon start',
    );
  const show = (line: string): void => wfx.io.print(wfx.json ? line : shown(wfx.io, line));
  let { position, rest } = printTail(file, lines, show);
  if (!follow) return;
  await new Promise<void>((resolve) => {
    const more = (): void => {
      ({ position, rest } = printFrom(file, position, rest, show));
    };
    const watcher = watch(dirname(file), (_, name) => (name === null || name === basename(file)) && more());
    process.once('SIGINT', () => {
      watcher.close();
      process.exitCode = EXIT.interrupted;
      resolve();
    });
    more();
  });
}

interface Place {
  /** Bytes of the file that were read. */
  readonly position: number;
  /** The start of a line whose end is not there yet. */
  readonly rest: string;
}

function printTail(file: string, lines: number, show: (line: string) => void): Place {
  const { text, end } = read(file, (size) => Math.max(0, size - TAIL));
  const all = text.split('\n');
  const rest = all.pop() ?? '';
  for (const line of lines === 0 ? [] : all.slice(-lines)) show(line);
  return { position: end, rest };
}

function printFrom(file: string, position: number, before: string, show: (line: string) => void): Place {
  if (!existsSync(file)) return { position: 0, rest: '' };
  const { text, end } = read(file, (size) => (size < position ? 0 : position));
  const lines = (before + text).split('\n');
  const rest = lines.pop() ?? '';
  for (const line of lines) show(line);
  return { position: end, rest };
}

function read(file: string, from: (size: number) => number): { readonly text: string; readonly end: number } {
  const fd = openSync(file, 'r');
  try {
    const { size } = fstatSync(fd);
    const start = from(size);
    const bytes = Buffer.alloc(size - start);
    const length = readSync(fd, bytes, 0, bytes.length, start);
    return { text: bytes.toString('utf8', 0, length), end: start + length };
  } finally {
    closeSync(fd);
  }
}

const LEVELS: Readonly<Record<number, readonly [string, 'dim' | 'yellow' | 'red']>> = {
  10: ['trace', 'dim'],
  20: ['debug', 'dim'],
  30: ['info', 'dim'],
  40: ['warn', 'yellow'],
  50: ['error', 'red'],
  60: ['fatal', 'red'],
};

/** A line of JSON as `time level message details`; anything else as it is. */
function shown(io: Io, line: string): string {
  try {
    const { level, time, msg, pid: _pid, hostname: _host, ...rest } = JSON.parse(line);
    if (typeof time !== 'number' && typeof time !== 'string') return plain(line);
    const [name, style] = LEVELS[level] ?? [String(level), 'dim'];
    const details = Object.keys(rest).length === 0 ? '' : ` ${io.paint('dim', plain(JSON.stringify(rest)))}`;
    return `${io.paint('dim', clockTime(new Date(time).toISOString()))} ${io.paint(style, name.padEnd(5))} ${plain(String(msg ?? ''))}${details}`;
  } catch {
    return plain(line);
  }
}

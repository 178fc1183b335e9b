import { setTimeout as delay } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { execa } from 'execa';
import { plain } from '../../client/index.ts';
import { createProcessGroups, type ProcessGroups } from '../../process-groups.ts';
import { CliError, EXIT, usage } from '../exit.ts';
import type { TunnelEvents } from './endpoints.ts';

/** A program that makes a local port public, and prints at which address. */
export interface Program {
  readonly file: string;
  readonly args: readonly string[];
  /** The public address, where a line tells it. */
  readonly addressIn: (line: string) => string | undefined;
  /** Whether a line may tell what went wrong; undefined: any. */
  readonly trouble?: (line: string) => boolean;
  /** What to do where it isn't installed. */
  readonly install: string;
}

interface Events {
  readonly opened: (url: string) => void;
  readonly lost: TunnelEvents['lost'];
}

/** A program that has printed no address by then has something else to say. */
const ADDRESS_MS = 60_000;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;
const LINE_LIMIT = 16_384;
/** Lines of its output that tell why it ended. */
const LAST_LINES = 5;

/**
 * Runs a program until the signal aborts, and again whenever it ends by itself. Resolves when it has ended, together with
 * whatever it started. Rejects with CliError when it can't be run, or ends the first time before it tells an address.
 */
export async function keepProgram(program: Program, events: Events, signal: AbortSignal): Promise<void> {
  const groups = createProcessGroups();
  let openedOnce = false;
  let waitMs = FIRST_WAIT_MS;
  const opened = (url: string): void => {
    openedOnce = true;
    waitMs = FIRST_WAIT_MS;
    events.opened(url);
  };
  try {
    while (!signal.aborted) {
      const why = await runOnce(program, groups, opened, signal);
      if (signal.aborted) return;
      if (!openedOnce) throw new CliError(EXIT.unreachable, `No tunnel was opened: ${why}.`, hintFor(program));
      events.lost(why, waitMs);
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    }
  } finally {
    await groups.close();
  }
}

const hintFor = ({ file, args }: Program): string => `try it by hand: ${[file, ...args].join(' ')}`;

/** Resolves with why it ended. It is ended when it tells no address in time, or when the signal aborts. */
async function runOnce(
  { file, args, addressIn, trouble = () => true, install }: Program,
  groups: ProcessGroups,
  opened: (url: string) => void,
  signal: AbortSignal,
): Promise<string> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ADDRESS_MS);
  const last: string[] = [];
  let known = false;
  const onLine = (line: string): void => {
    if (line.trim() !== '' && trouble(line)) last.splice(0, Math.max(0, last.push(line.trim()) - LAST_LINES));
    const address = known ? undefined : addressIn(line);
    if (address === undefined) return;
    known = true;
    clearTimeout(timer);
    opened(address);
  };
  // A group of its own is ended as a whole. Its input stays open: some programs end with it.
  const child = execa(file, args, {
    detached: process.platform !== 'win32',
    windowsHide: true,
    stdin: 'pipe',
    all: true,
    buffer: false,
    reject: false,
  });
  child.stdin.on('error', () => undefined);
  // What it left running would hold its output open, and go on without it.
  const over = new AbortController();
  child.once('exit', () => over.abort());
  readLines(child.all, onLine);
  try {
    const result = await groups.watch(child, AbortSignal.any([signal, late.signal, over.signal]), undefined, child);
    if (result.code === 'ENOENT') throw usage(`There is no program ${file} on the PATH.`, install);
    return reason(file, late.signal.aborted, result, last);
  } finally {
    clearTimeout(timer);
  }
}

function readLines(output: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = '';
  output.setEncoding('utf8');
  output.on('data', (text: string) => {
    const lines = stripVTControlCharacters(rest + text).split(/\r\n|[\r\n]/);
    rest = (lines.pop() ?? '').slice(-LINE_LIMIT);
    for (const line of lines) onLine(line.slice(0, LINE_LIMIT));
  });
  output.on('end', () => onLine(rest));
}

interface Result {
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly shortMessage?: string | undefined;
}

function reason(
  file: string,
  late: boolean,
  { exitCode, signal, shortMessage }: Result,
  last: readonly string[],
): string {
  const how = signal ?? (exitCode === undefined ? (shortMessage ?? 'it did not start') : `exit code ${exitCode}`);
  const what = late ? `${file} printed no address in ${ADDRESS_MS / 1000} s` : `${file} ended (${how})`;
  return last.length === 0 ? what : `${what}; it said: ${plain(last.join(' | '), 600).replace(/[.\s]+$/, '')}`;
}

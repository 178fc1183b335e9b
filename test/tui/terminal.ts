import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from '@lydell/node-pty';
import xterm from '@xterm/headless';
import type { Test } from 'tap';
import { BIN, type Machine } from '../cli/machine.ts';

interface Size {
  readonly columns?: number;
  readonly rows?: number;
}
interface Given extends Size {
  readonly env?: Readonly<Record<string, string>>;
}

/** What names the keys that have no character. */
const KEYS = {
  enter: '\r',
  escape: '\u001b',
  up: '\u001b[A',
  down: '\u001b[B',
  right: '\u001b[C',
  left: '\u001b[D',
  tab: '\t',
  backspace: '\u007f',
  space: ' ',
} as const;

/** `wfx tui` in a terminal, as a person has it: keys go in, a screen comes out. */
export interface Terminal {
  /** Types text as it is. */
  type(text: string): void;
  press(...keys: readonly (keyof typeof KEYS)[]): void;
  /** The lines of the screen without the spaces at their ends. */
  screen(): string;
  /** Resolves with the screen when it shows what fits. */
  shows(pattern: RegExp): Promise<string>;
  /** Resolves when it does not show it any more. */
  hides(pattern: RegExp): Promise<string>;
  resize(columns: number, rows: number): void;
  kill(signal: string): void;
  /** Everything that was written to the terminal. */
  written(): string;
  /** Whether the second screen of the terminal is in use. */
  alternate(): boolean;
  readonly exit: Promise<number>;
}

const PATIENCE_MS = 15_000;

export function openTui(t: Test, machine: Machine, args: readonly string[] = [], given: Given = {}): Terminal {
  const { columns = 80, rows = 24 } = given;
  const screen = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
  const env = { ...machine.env, TERM: 'xterm-256color', NO_COLOR: '', ...given.env };
  const child = spawn(process.execPath, [BIN, 'tui', ...args], { cols: columns, rows, cwd: machine.dir, env });
  let written = '';
  /** What the screen shows by now; in the middle of a frame nobody looks at it. */
  let drawn = '';
  const whole = (): boolean => drawn.lastIndexOf('\u001b[?2026h') <= drawn.lastIndexOf('\u001b[?2026l');
  const lookers = new Set<() => void>();
  const look = (): void => {
    for (const looker of [...lookers]) looker();
  };
  child.onData((text) => {
    written += text;
    screen.write(text, () => {
      drawn += text;
      look();
    });
  });
  const exit = new Promise<number>((resolve) =>
    child.onExit(({ exitCode }) => screen.write('', () => resolve(exitCode))),
  );
  t.teardown(async () => {
    try {
      child.kill('SIGKILL');
    } catch {
      // It has ended.
    }
    screen.dispose();
  });

  const shown = (): string => {
    const { active } = screen.buffer;
    const lines = Array.from(
      { length: screen.rows },
      (_, i) => active.getLine(active.viewportY + i)?.translateToString(true) ?? '',
    );
    return lines
      .map((line) => line.trimEnd())
      .join('\n')
      .trimEnd();
  };
  const until = (fits: (screen: string) => boolean, what: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        lookers.delete(check);
      };
      const check = (): void => {
        const now = shown();
        if (!whole() || !fits(now)) return;
        stop();
        resolve(now);
      };
      const timer = setTimeout(() => {
        stop();
        reject(new Error(`${what}; the screen was:\n${shown()}`));
      }, PATIENCE_MS);
      lookers.add(check);
      check();
    });

  return {
    type: (text) => child.write(text),
    press: (...keys) => {
      for (const key of keys) child.write(KEYS[key]);
    },
    screen: shown,
    shows: (pattern) => until((now) => pattern.test(now), `never showed ${pattern}`),
    hides: (pattern) => until((now) => !pattern.test(now), `went on showing ${pattern}`),
    resize(columns, rows) {
      screen.resize(columns, rows);
      child.resize(columns, rows);
    },
    kill: (signal) => child.kill(signal),
    written: () => written,
    alternate: () => screen.buffer.active.type === 'alternate',
    exit,
  };
}

const GOLDEN = join(import.meta.dirname, 'golden');

/** Compares a screen with the recorded one; WFX_GOLDEN=write records it. Ids, times and lengths of time are masked. */
export function golden(t: Test, name: string, screen: string): void {
  const file = join(GOLDEN, `${name}.txt`);
  const text = `${masked(screen)}\n`;
  if (process.env['WFX_GOLDEN'] === 'write') {
    mkdirSync(GOLDEN, { recursive: true });
    writeFileSync(file, text);
  }
  t.equal(text, existsSync(file) ? readFileSync(file, 'utf8') : '', `screen ${name}: WFX_GOLDEN=write records it anew`);
}

/** What differs from run to run, with as many characters in its place. */
function masked(screen: string): string {
  const same = (char: string) => (text: string) => char.repeat(text.length);
  return screen
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, same('i'))
    .replace(/…[0-9a-f]{12}/g, same('i'))
    .replace(/…[0-9a-f]{6}\b/g, same('i'))
    .replace(/(took|for) +\d\S+/g, '$1 T')
    .replace(/\d{4}-\d\d-\d\d/g, 'DDDDDDDDDD')
    .replace(/\d\d:\d\d:\d\d/g, 'TTTTTTTT')
    .replace(/\d\d-\d\d \d\d:\d\d/g, 'DDDDD TTTTT')
    .replace(/ +\d[\d.]*(ms|s|m\d\ds)(?=\s|$)/gm, (text) => 'T'.padStart(text.length))
    .replace(/ *[━▒]+ */g, ' ━ ')
    .replace(/ *127\.0\.0\.1:\d+/g, ' HOST');
}

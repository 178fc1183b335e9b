import type { LogEntry } from '../../contract/types.ts';
import { clockTime } from '../../terminal/shown.ts';
import { widthOf } from '../../terminal/width.ts';
import type { Binding, Key } from '../keys.ts';
import { cell, inFull, lineOf, type Span } from '../line.ts';
import type { Size } from '../panel.ts';
import type { Pane } from '../parts/pane.ts';
import type { Paint, Tone } from '../theme.ts';
import { inOwnTime } from '../times.ts';
import { stepOf, Window } from '../window.ts';

const LEVELS = ['INFO', 'WARN', 'ERROR'] as const;
const TONES: Readonly<Record<string, Tone>> = { WARN: 'warn', ERROR: 'bad' };
const ROUTINE = new Set(['started', 'completed']);

/** The log of a run, live, with the levels from one on; the chosen entry is shown in full. */
export class Log implements Pane {
  readonly #paint: () => Paint;
  readonly #entries: () => readonly LogEntry[];
  readonly #window = new Window();
  #level = 0;
  /** At the end it follows what comes. */
  #follows = true;
  #filtered:
    | { readonly of: readonly LogEntry[]; readonly length: number; readonly entries: readonly LogEntry[] }
    | undefined;

  constructor(paint: () => Paint, entries: () => readonly LogEntry[]) {
    this.#paint = paint;
    this.#entries = entries;
  }

  get name(): string {
    return this.#level === 0 ? 'log' : `log ≥ ${LEVELS[this.#level]}`;
  }

  bindings(): readonly Binding[] {
    const next = LEVELS[(this.#level + 1) % LEVELS.length];
    return [{ keys: ['v'], does: `level ${next}`, run: () => this.#nextLevel() }];
  }

  #nextLevel(): void {
    this.#level = (this.#level + 1) % LEVELS.length;
    this.#filtered = undefined;
    this.#follows = true;
  }

  type({ name }: Key): boolean {
    const { length } = this.#shown();
    const step = stepOf(name, this.#window, length);
    if (step === undefined) return false;
    this.#window.move(step, length);
    this.#follows = this.#window.at >= length - 1;
    return true;
  }

  #shown(): readonly LogEntry[] {
    const all = this.#entries();
    if (this.#level === 0) return all;
    if (this.#filtered?.of !== all || this.#filtered.length !== all.length) {
      const entries = all.filter(({ level }) => LEVELS.indexOf(level) >= this.#level);
      this.#filtered = { of: all, length: all.length, entries };
    }
    return this.#filtered.entries;
  }

  lines({ width, height }: Size, focused: boolean): readonly string[] {
    const entries = this.#shown();
    const paint = this.#paint();
    if (entries.length === 0) return [lineOf(paint, [{ text: ' Nothing was logged.', tone: 'dim' }], width)];
    if (this.#follows) this.#window.at = entries.length - 1;
    const detail = focused ? this.#detail(entries[this.#window.at], width) : [];
    const room = Math.max(1, height - detail.length);
    this.#window.fit(entries.length, room);
    const { top, at } = this.#window;
    const shown = entries.slice(top, top + room).map((entry, i) => {
      const chosen = focused && top + i === at;
      return lineOf(paint, spansOf(entry, width), width, chosen ? 'selected' : undefined);
    });
    return [...shown, ...Array<string>(Math.max(0, room - shown.length)).fill(' '), ...detail];
  }

  /** What does not fit into the line of the chosen entry, under the list. */
  #detail(entry: LogEntry | undefined, width: number): readonly string[] {
    if (entry === undefined) return [];
    const message = inOwnTime(entry.message);
    const before = 11 + nameWidth(width) + (entry.level === 'INFO' ? 0 : entry.level.length + 1);
    return before + widthOf(message) <= width ? [] : inFull(this.#paint(), message, width);
  }
}

const nameWidth = (width: number): number => Math.max(10, Math.min(26, Math.floor(width * 0.25)));

function spansOf({ timestamp, nodeName, level, message }: LogEntry, width: number): readonly Span[] {
  const tone = TONES[level] ?? (ROUTINE.has(message) ? 'dim' : undefined);
  return [
    { text: ` ${clockTime(timestamp)} `, tone: 'dim' },
    { text: `${cell(nodeName, nameWidth(width))} `, tone: 'accent' },
    { text: level === 'INFO' ? '' : `${level} `, tone },
    { text: inOwnTime(message), tone },
  ];
}

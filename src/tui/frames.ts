import { EventEmitter } from 'node:events';
import type { WriteStream } from 'node:tty';
import { widthOf } from '../terminal/width.ts';
import type { Prepared } from './prepared.ts';

/** A terminal that is told so draws nothing until it has all of a frame. */
const BEGIN = '\u001b[?2026h';
const END = '\u001b[?2026l';
/** Switches of the terminal, which Ink writes by themselves; an empty text is no frame. */
const SWITCHES = /^(\u001b\[\?\d+[hl])*$/;
/** Joined characters, which terminals do not agree on the width of. */
const DOUBTFUL = /[\u200d\ufe0f]/;
const CODES = /\u001b\[[\d;]*m/g;

/**
 * Stands for the terminal before Ink, which writes every frame whole (`debug`): only lines that differ from the frame
 * before go out, each to its place. Nothing scrolls, and what stays the same is never touched.
 */
export class Frames extends EventEmitter {
  readonly isTTY = true;
  readonly #terminal: WriteStream;
  readonly #prepared: Prepared;
  #shown: readonly string[] = [];
  #closed = false;

  constructor(terminal: WriteStream, prepared: Prepared) {
    super();
    this.#prepared = prepared;
    this.#terminal = terminal;
    terminal.on('resize', this.#onResize);
  }

  get columns(): number {
    return this.#terminal.columns || 80;
  }
  get rows(): number {
    return this.#terminal.rows || 24;
  }

  /** What a terminal makes of its old lines at a new size is not known: everything is drawn again. */
  readonly #onResize = (): void => {
    this.forget();
    this.emit('resize');
  };

  /** The terminal shows something else by now: the next frame is drawn whole. */
  forget(): void {
    this.#shown = [];
    this.#terminal.write('\u001b[2J');
  }

  write(frame: string): boolean {
    if (this.#closed) return true;
    if (SWITCHES.test(frame)) return frame === '' || this.#terminal.write(frame);
    const lines = frame
      .split('\n')
      .slice(0, this.rows)
      .map((line) => this.#prepared.line(line).trimEnd());
    while (lines.length < this.#shown.length) lines.push('');
    let out = '';
    for (const [i, line] of lines.entries()) if (line !== this.#shown[i]) out += this.#drawn(line, i);
    this.#shown = lines;
    return out === '' || this.#terminal.write(BEGIN + out + END);
  }

  #drawn(line: string, i: number): string {
    const place = `\u001b[${i + 1};1H`;
    if (DOUBTFUL.test(line)) return `${place}\u001b[K${line}`;
    // Erasing after the last column would take that column's character away.
    const full = widthOf(line.replace(CODES, '')) >= this.columns;
    return `${place}${line}${full ? '' : '\u001b[K'}`;
  }

  close(): void {
    this.#closed = true;
    this.#terminal.off('resize', this.#onResize);
  }
}

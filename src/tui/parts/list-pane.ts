import { plainLines } from '../../client/index.ts';
import type { Binding, Key } from '../keys.ts';
import { lineOf, type Span, wrapped } from '../line.ts';
import type { Size } from '../panel.ts';
import type { Paint } from '../theme.ts';
import { inSight, scroll, stepOf, Window } from '../window.ts';
import type { Pane } from './pane.ts';

interface ListPaneOptions<Row> {
  readonly name: string;
  readonly paint: () => Paint;
  readonly rows: () => readonly Row[];
  readonly spans: (row: Row, width: number) => readonly Span[];
  readonly empty: string;
  readonly bindings?: (chosen: Row | undefined) => readonly Binding[];
}

/** A short list of which one is chosen. */
export class ListPane<Row> implements Pane {
  readonly name: string;
  readonly #options: ListPaneOptions<Row>;
  readonly #window = new Window();

  constructor(options: ListPaneOptions<Row>) {
    this.name = options.name;
    this.#options = options;
  }

  get chosen(): Row | undefined {
    return this.#options.rows()[this.#window.at];
  }

  bindings(): readonly Binding[] {
    return this.#options.bindings?.(this.chosen) ?? [];
  }

  type({ name }: Key): boolean {
    const { length } = this.#options.rows();
    const step = stepOf(name, this.#window, length);
    if (step !== undefined) this.#window.move(step, length);
    return step !== undefined;
  }

  lines({ width, height }: Size, focused: boolean): readonly string[] {
    const rows = this.#options.rows();
    const paint = this.#options.paint();
    if (rows.length === 0) return [lineOf(paint, [{ text: ` ${this.#options.empty}`, tone: 'dim' }], width)];
    this.#window.fit(rows.length, height);
    const { top, at } = this.#window;
    return rows.slice(top, top + height).map((row, i) => {
      const chosen = focused && top + i === at;
      return lineOf(paint, this.#options.spans(row, width), width, chosen ? 'selected' : undefined);
    });
  }
}

/** Text to scroll in. */
export class TextPane implements Pane {
  readonly name: string;
  readonly #paint: () => Paint;
  readonly #text: () => string;
  readonly #window = new Window();
  #split: { readonly text: string; readonly width: number; readonly lines: readonly string[] } = {
    text: '',
    width: 0,
    lines: [],
  };

  constructor(name: string, paint: () => Paint, text: () => string) {
    this.name = name;
    this.#paint = paint;
    this.#text = text;
  }

  bindings(): readonly Binding[] {
    return [];
  }

  #lines(width: number): readonly string[] {
    const text = this.#text();
    if (this.#split.text === text && this.#split.width === width) return this.#split.lines;
    const lines = plainLines(text.replaceAll('\t', '  '), 2_000_000).replace(/\n$/, '').split('\n');
    this.#split = { text, width, lines: lines.flatMap((line) => wrapped(line, width)) };
    return this.#split.lines;
  }

  type({ name }: Key): boolean {
    return scroll(name, this.#window, this.#split.lines.length);
  }

  lines({ width, height }: Size): readonly string[] {
    const shown = inSight(this.#lines(width - 2), this.#window, height);
    return shown.map((line) => lineOf(this.#paint(), [{ text: ` ${line}` }], width));
  }
}

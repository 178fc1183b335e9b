import { plain } from '../client/index.ts';
import { widthOf } from '../terminal/width.ts';
import type { Key } from './keys.ts';
import type { Paint } from './theme.ts';

/** Text on one line or more that is being written, with a cursor. Characters are counted as people see them. */
export class TextField {
  #characters: string[];
  #at: number;
  readonly #lines: boolean;

  constructor(text = '', { lines = false } = {}) {
    this.#lines = lines;
    this.#characters = characters(text);
    this.#at = this.#characters.length;
  }

  get text(): string {
    return this.#characters.join('');
  }
  get atEnd(): boolean {
    return this.#at === this.#characters.length;
  }

  set(text: string): void {
    this.#characters = characters(text);
    this.#at = this.#characters.length;
  }

  /** True when the key was for the text. */
  type({ name, text }: Key): boolean {
    if (text !== '') return this.#insert(text);
    const edit = EDITS[name];
    if (edit !== undefined) {
      [this.#characters, this.#at] = edit(this.#characters, this.#at);
      return true;
    }
    if (!this.#lines) return false;
    if (name === 'enter') return this.#insert('\n');
    return (name === 'up' && this.#toLine(-1)) || (name === 'down' && this.#toLine(1));
  }

  #insert(text: string): boolean {
    this.#characters.splice(this.#at, 0, text);
    this.#at += 1;
    return true;
  }

  /** False at the first and the last line, where the key means something else. */
  #toLine(by: number): boolean {
    const before = this.#characters.slice(0, this.#at).join('').split('\n');
    const lines = this.text.split('\n');
    const line = before.length - 1 + by;
    if (line < 0 || line >= lines.length) return false;
    const column = Math.min(characters(before.at(-1) ?? '').length, characters(lines[line] ?? '').length);
    const start = lines.slice(0, line).reduce((sum, text) => sum + characters(text).length + 1, 0);
    this.#at = start + column;
    return true;
  }

  /** The lines as they are shown, cut to `width` around the cursor, at most `height` of them. */
  view(paint: Paint, width: number, height: number, focused: boolean): readonly string[] {
    const before = this.#characters.slice(0, this.#at).join('').split('\n');
    const cursorLine = before.length - 1;
    const lines = this.text.split('\n');
    const top = Math.max(0, Math.min(cursorLine - height + 1, lines.length - height));
    return lines.slice(top, top + height).map((line, i) => {
      const here = focused && top + i === cursorLine;
      return shownLine(paint, line, here ? characters(before.at(-1) ?? '').length : undefined, width);
    });
  }
}

const segmenter = new Intl.Segmenter();
const characters = (text: string): string[] => [...segmenter.segment(text)].map(({ segment }) => segment);

type Edit = (characters: string[], at: number) => [string[], number];
const without = (all: string[], from: number, to: number): string[] => [...all.slice(0, from), ...all.slice(to)];
const wordStart = (all: string[], at: number): number => {
  let start = at;
  while (start > 0 && all[start - 1] === ' ') start -= 1;
  while (start > 0 && all[start - 1] !== ' ') start -= 1;
  return start;
};
const EDITS: Readonly<Record<string, Edit>> = {
  left: (all, at) => [all, Math.max(0, at - 1)],
  right: (all, at) => [all, Math.min(all.length, at + 1)],
  home: (all) => [all, 0],
  'ctrl+a': (all) => [all, 0],
  end: (all) => [all, all.length],
  'ctrl+e': (all) => [all, all.length],
  backspace: (all, at) => (at === 0 ? [all, 0] : [without(all, at - 1, at), at - 1]),
  'ctrl+u': (all, at) => [all.slice(at), 0],
  'ctrl+k': (all, at) => [all.slice(0, at), at],
  'ctrl+w': (all, at) => [without(all, wordStart(all, at), at), wordStart(all, at)],
};

function shownLine(paint: Paint, line: string, cursor: number | undefined, width: number): string {
  const all = characters(line).map((one) => plain(one));
  if (cursor === undefined) return filled(all.join(''), width);
  let start = 0;
  while (widthOf(all.slice(start, cursor).join('')) > width - 1) start += 1;
  const before = all.slice(start, cursor).join('');
  const under = all[cursor] ?? ' ';
  const room = width - widthOf(before) - widthOf(under);
  return before + paint('cursor', under) + filled(all.slice(cursor + 1).join(''), Math.max(0, room));
}

function filled(text: string, width: number): string {
  let shown = '';
  for (const one of characters(text)) {
    if (widthOf(shown + one) > width) break;
    shown += one;
  }
  return shown + ' '.repeat(Math.max(0, width - widthOf(shown)));
}

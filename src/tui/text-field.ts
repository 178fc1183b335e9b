import { plain } from '../client/index.ts';
import { widthOf } from '../terminal/width.ts';
import type { Key } from './keys.ts';
import { cell } from './line.ts';
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
    if (text !== '') return this.#insert(this.#writable(text));
    const edit = EDITS[name];
    if (edit !== undefined) {
      [this.#characters, this.#at] = edit(this.#characters, this.#at);
      return true;
    }
    if (!this.#lines) return false;
    if (name === 'enter') return this.#insert('\n');
    return (name === 'up' && this.#toLine(-1)) || (name === 'down' && this.#toLine(1));
  }

  /** Typed or pasted text as it may stand here: without codes, and on one line where there is but one. */
  #writable(text: string): string {
    const clean = text.replace(/\r\n?/g, '\n').replace(/[\0-\x08\x0b-\x1f\x7f]/g, '');
    return this.#lines ? clean : clean.replace(/\n+$/, '').replace(/[\n\t]/g, ' ');
  }

  /** What comes in may be one character with what stands before it: parts of an emoji, and accents, come one by one. */
  #insert(text: string): boolean {
    const before = Math.max(0, this.#at - 1);
    const written = characters(this.#characters.slice(before, this.#at).join('') + text);
    this.#characters.splice(before, this.#at - before, ...written);
    this.#at = before + written.length;
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

  /** The lines as they are shown, at most `height` of them, cut to `width`: around the cursor, or where they begin. */
  view(paint: Paint, width: number, height: number, focused: boolean): readonly string[] {
    const lines: string[][] = [[]];
    let cursor = { line: 0, column: 0 };
    for (const [i, one] of [...this.#characters, ''].entries()) {
      const line = lines.at(-1) as string[];
      if (i === this.#at) cursor = { line: lines.length - 1, column: line.length };
      if (one === '\n') lines.push([]);
      else if (one !== '') line.push(one);
    }
    if (!focused && lines.length > height)
      return [...lines.slice(0, height - 1), ['…']].map((line) => shownLine(paint, line, undefined, width));
    const top = Math.max(0, Math.min(cursor.line - height + 1, lines.length - height));
    return lines.slice(top, top + height).map((line, i) => {
      const here = focused && top + i === cursor.line;
      return shownLine(paint, line, here ? cursor.column : undefined, width);
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
  delete: (all, at) => [without(all, at, at + 1), at],
  'ctrl+u': (all, at) => [all.slice(at), 0],
  'ctrl+k': (all, at) => [all.slice(0, at), at],
  'ctrl+w': (all, at) => [without(all, wordStart(all, at), at), wordStart(all, at)],
};

/** One line's characters, from as far before the cursor as there is room. */
function shownLine(paint: Paint, line: readonly string[], cursor: number | undefined, width: number): string {
  if (cursor === undefined) return cell(line.slice(0, width + 1).join(''), width);
  const under = plain(line[cursor] ?? ' ');
  let room = width - widthOf(under);
  let before = '';
  for (let i = cursor - 1; i >= 0; i -= 1) {
    const one = plain(line[i] as string);
    room -= widthOf(one);
    if (room < 0) break;
    before = one + before;
  }
  return before + paint('cursor', under) + filled(line.slice(cursor + 1), width - widthOf(before + under));
}

function filled(line: readonly string[], width: number): string {
  let shown = '';
  let room = width;
  for (const one of line) {
    const next = plain(one);
    if (widthOf(next) > room) break;
    room -= widthOf(next);
    shown += next;
  }
  return shown + ' '.repeat(Math.max(0, room));
}

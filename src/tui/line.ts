import { plain, plainLines } from '../client/index.ts';
import { fitted, padded, widthOf } from '../terminal/width.ts';
import type { Paint, Tone } from './theme.ts';

/** A piece of a line in one tone. */
export interface Span {
  readonly text: string;
  readonly tone?: Tone | undefined;
}

/** Spans as one line of exactly `width` columns, cut or filled up; `under` colours the whole of it. */
export function lineOf(paint: Paint, spans: readonly Span[], width: number, under?: Tone): string {
  let left = width;
  let line = '';
  for (const { text, tone } of spans) {
    if (left <= 0) break;
    const shown = fitted(text, left);
    left -= widthOf(shown);
    line += paint(tone ?? 'plain', shown);
  }
  const whole = line + ' '.repeat(Math.max(0, left));
  return under === undefined ? whole : paint(under, whole);
}

/** Spans at both ends of a line; where there is no room for both, the left gives way. */
export function betweenEnds(
  paint: Paint,
  left: readonly Span[],
  right: readonly Span[],
  width: number,
  under?: Tone,
): string {
  const taken = right.reduce((sum, { text }) => sum + widthOf(text), 0);
  const space = Math.max(0, width - taken);
  return lineOf(paint, [...fit(left, space), ...right], width, under);
}

/** Spans cut and filled to `width` columns. */
export function fit(spans: readonly Span[], width: number): readonly Span[] {
  let left = width;
  const shown: Span[] = [];
  for (const { text, tone } of spans) {
    if (left <= 0) break;
    const cut = fitted(text, left);
    left -= widthOf(cut);
    shown.push({ text: cut, tone });
  }
  return left > 0 ? [...shown, { text: ' '.repeat(left) }] : shown;
}

/** Text cut and filled to `width` columns; numbers go to the right. */
export function cell(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const shown = fitted(plain(text, 500), width);
  return align === 'left' ? padded(shown, width) : ' '.repeat(Math.max(0, width - widthOf(shown))) + shown;
}

/** Text broken at spaces into lines of at most `width` columns; longer words are broken where the line ends. */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line: string | undefined;
  let taken = 0;
  for (const word of text.split(' ')) {
    const columns = widthOf(word);
    if (line !== undefined && taken + 1 + columns <= width) {
      line += ` ${word}`;
      taken += 1 + columns;
      continue;
    }
    if (line !== undefined && line.trim() !== '') lines.push(line);
    const pieces: readonly string[] = columns <= width ? [word] : broken(word, width);
    lines.push(...pieces.slice(0, -1));
    line = pieces.at(-1) ?? '';
    taken = widthOf(line);
  }
  return [...lines, line ?? ''];
}

function broken(word: string, width: number): readonly string[] {
  const pieces: string[] = [];
  let piece = '';
  let taken = 0;
  for (const character of word) {
    const columns = widthOf(character);
    if (taken + columns > width && piece !== '') {
      pieces.push(piece);
      piece = '';
      taken = 0;
    }
    piece += character;
    taken += columns;
  }
  return [...pieces, piece];
}

/** Text that did not fit where it stands, under a rule, in at most `most` lines. */
export function inFull(paint: Paint, text: string, width: number, most = 6): readonly string[] {
  const shown = plainLines(text, width * most)
    .split('\n')
    .flatMap((line) => wrapped(line, width - 2));
  const lines = shown.length <= most ? shown : [...shown.slice(0, most - 1), '…'];
  return [paint('dim', '─'.repeat(width)), ...lines.map((line) => lineOf(paint, [{ text: ` ${line}` }], width))];
}

import type { Json } from '../json.ts';
import { Malformed } from './ast.ts';

/** `text` is as written; `symbol` is the operator it means (`and` means `&&`). */
export type Token =
  | { readonly kind: 'name'; readonly text: string; readonly offset: number }
  | { readonly kind: 'literal'; readonly text: string; readonly value: Json; readonly offset: number }
  | { readonly kind: 'operator'; readonly text: string; readonly symbol: string; readonly offset: number };

/** The tokens of one `${…}`; the last one is its `}`, and `end` is the offset after it. */
export interface Tokens {
  readonly list: readonly Token[];
  readonly end: number;
}

const WORD_OPERATORS: ReadonlyMap<string, string> = new Map([
  ['and', '&&'],
  ['or', '||'],
  ['not', '!'],
  ['eq', '=='],
  ['ne', '!='],
  ['lt', '<'],
  ['gt', '>'],
  ['le', '<='],
  ['ge', '>='],
  ['div', '/'],
  ['mod', '%'],
  ['empty', 'empty'],
  ['instanceof', 'instanceof'],
]);

const WORD_LITERALS: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/** Written by people who know another language: each gets told what to write here. */
const FOREIGN: readonly (readonly [string, string])[] = [
  ['===', 'use == to compare'],
  ['!==', 'use != to compare'],
  ['<>', 'use != to compare'],
  ['=', 'use == to compare'],
  ['&', 'use && or and'],
  ['|', 'use || or or'],
  ['{', 'a { has no meaning inside ${…}: write the variable names as they are'],
  ['“', 'use straight quotes " or \''],
  ['”', 'use straight quotes " or \''],
  ['‘', 'use straight quotes " or \''],
  ['’', 'use straight quotes " or \''],
];

const SPACE = /[\s\u00a0]+/y;
const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const NUMBER = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const SYMBOL = /&&|\|\||==(?!=)|!=(?!=)|<=|>=|<(?!>)|!(?!==)|[>+\-*/%?:.()[\]},]/y;

/** Reads from `start`, just after a `${`, up to its `}`. Throws Malformed. */
export function tokenize(text: string, start: number): Tokens {
  const list: Token[] = [];
  let at = start;
  for (;;) {
    at += matchAt(SPACE, text, at)?.length ?? 0;
    if (at >= text.length) throw new Malformed('the closing } is missing', text.length);
    const token = tokenAt(text, at);
    list.push(token);
    at += token.text.length;
    if (token.text === '}') return { list, end: at };
  }
}

function tokenAt(text: string, offset: number): Token {
  const number = matchAt(NUMBER, text, offset);
  if (number !== undefined) return { kind: 'literal', text: number, value: numberValue(number, offset), offset };
  const word = matchAt(WORD, text, offset);
  if (word !== undefined) return wordToken(word, offset);
  const first = text[offset] as string;
  if (first === '"' || first === "'") return stringToken(text, offset, first);
  const symbol = matchAt(SYMBOL, text, offset);
  if (symbol !== undefined) return { kind: 'operator', text: symbol, symbol, offset };
  const foreign = FOREIGN.find(([written]) => text.startsWith(written, offset));
  if (foreign) throw new Malformed(`'${foreign[0]}' is no operator: ${foreign[1]}`, offset);
  throw new Malformed(
    `the character '${String.fromCodePoint(text.codePointAt(offset) ?? 0)}' has no meaning here`,
    offset,
  );
}

function wordToken(text: string, offset: number): Token {
  const value = WORD_LITERALS.get(text);
  if (value !== undefined) return { kind: 'literal', text, value, offset };
  const symbol = WORD_OPERATORS.get(text);
  return symbol === undefined ? { kind: 'name', text, offset } : { kind: 'operator', text, symbol, offset };
}

function numberValue(written: string, offset: number): number {
  const value = Number(written);
  if (/^\d+$/.test(written) && !Number.isSafeInteger(value)) {
    throw new Malformed('the number is too large: whole numbers are exact up to 9007199254740991', offset);
  }
  return value;
}

/** Escapes are `\\` and a backslash before the quote in use; any other one is malformed, as in JUEL. */
function stringToken(text: string, offset: number, quote: string): Token {
  const pieces: string[] = [];
  let from = offset + 1;
  for (let at = from; at < text.length; at++) {
    if (text[at] === quote) {
      pieces.push(text.slice(from, at));
      return { kind: 'literal', text: text.slice(offset, at + 1), value: pieces.join(''), offset };
    }
    if (text[at] !== '\\') continue;
    if (text[at + 1] !== '\\' && text[at + 1] !== quote) {
      throw new Malformed(`a \\ in this text must stand before \\ or ${quote}: write \\\\ for one backslash`, at);
    }
    pieces.push(text.slice(from, at));
    from = at + 1;
    at += 1;
  }
  throw new Malformed(`the closing ${quote} is missing`, offset);
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

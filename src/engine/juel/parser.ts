import type { Json } from '../json.ts';
import { type Ast, type BinaryOperator, type Link, Malformed, type UnaryOperator } from './ast.ts';
import type { Token } from './lexer.ts';

/** Levels of parentheses, brackets and `?:` inside each other. */
const MAX_NESTING = 200;

/** From the loosest to the tightest; operators of one level go from left to right. */
const LEVELS: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['==', '!='],
  ['<', '>', '<=', '>='],
  ['+', '-'],
  ['*', '/', '%'],
];
const UNARY: readonly string[] = ['!', '-', 'empty'];
const LOWER_CASE = new Set(['AND', 'OR', 'NOT', 'TRUE', 'FALSE', 'NULL', 'EMPTY', 'EQ', 'NE', 'LT', 'GT', 'LE', 'GE']);

/** A recursive-descent parser of EL 2.2's expressions over the tokens of one `${…}`. Throws Malformed. */
export class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #nesting = 0;

  /** `tokens` end with the closing `}`. */
  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  /** The whole of the tokens as one expression. */
  parse(): Ast {
    if (this.#symbol() === '}') throw new Malformed('the expression is empty', this.#token.offset);
    const root = this.#expression();
    if (this.#symbol() !== '}') this.#unexpected();
    return root;
  }

  get #token(): Token {
    return this.#tokens[this.#at] as Token;
  }

  #symbol(): string | undefined {
    return this.#token.kind === 'operator' ? this.#token.symbol : undefined;
  }

  #accept(symbol: string): boolean {
    if (this.#symbol() !== symbol) return false;
    this.#at += 1;
    return true;
  }

  #expect(symbol: string, purpose: string): void {
    if (this.#symbol() === '}') throw new Malformed(`${symbol} is missing ${purpose}`, this.#token.offset);
    if (!this.#accept(symbol)) this.#unexpected();
  }

  #expression(): Ast {
    const opened = this.#token.offset;
    this.#nesting += 1;
    if (this.#nesting > MAX_NESTING) {
      throw new Malformed(`the expression is nested deeper than ${MAX_NESTING} levels`, opened);
    }
    const cases: { when: Ast; value: Ast; offset: number }[] = [];
    let last = this.#chain(0);
    while (this.#symbol() === '?') {
      const { offset } = this.#token;
      this.#at += 1;
      const whenTrue = this.#expression();
      this.#expect(':', 'after ?');
      cases.push({ when: last, value: whenTrue, offset });
      last = this.#chain(0);
    }
    this.#nesting -= 1;
    return cases.length === 0 ? last : { kind: 'choice', cases, otherwise: last };
  }

  #chain(level: number): Ast {
    const operators = LEVELS[level];
    if (operators === undefined) return this.#unary();
    const first = this.#chain(level + 1);
    const links: Link[] = [];
    for (let symbol = this.#symbol(); symbol !== undefined && operators.includes(symbol); symbol = this.#symbol()) {
      const { offset } = this.#token;
      this.#at += 1;
      links.push({ operator: symbol as BinaryOperator, operand: this.#chain(level + 1), offset });
    }
    return links.length === 0 ? first : { kind: 'chain', first, links };
  }

  #unary(): Ast {
    const { offset } = this.#token;
    const operators: UnaryOperator[] = [];
    for (let symbol = this.#symbol(); symbol !== undefined && UNARY.includes(symbol); symbol = this.#symbol()) {
      operators.push(symbol as UnaryOperator);
      this.#at += 1;
    }
    const operand = this.#path();
    return operators.length === 0 ? operand : { kind: 'unary', operators, operand, offset };
  }

  #path(): Ast {
    const base = this.#primary();
    const steps: { key: Ast; offset: number }[] = [];
    for (;;) {
      const { offset } = this.#token;
      if (this.#accept('.')) steps.push({ key: this.#property(), offset });
      else if (this.#accept('[')) {
        steps.push({ key: this.#expression(), offset });
        this.#expect(']', 'after [');
      } else if (this.#symbol() === '(') {
        throw new Malformed('functions and methods cannot be called here: compare the variables themselves', offset);
      } else break;
    }
    return steps.length === 0 ? base : { kind: 'path', base, steps };
  }

  /** What stands after a dot: any word, also one that is an operator elsewhere (`order.empty`). */
  #property(): Ast {
    const { text, offset } = this.#token;
    if (!/^[\p{L}_$]/u.test(text)) throw new Malformed("after a dot comes a property's name", offset);
    this.#at += 1;
    return constant(text);
  }

  #primary(): Ast {
    const token = this.#token;
    if (token.kind === 'literal') {
      this.#at += 1;
      return constant(token.value);
    }
    if (token.kind === 'name' && !LOWER_CASE.has(token.text)) {
      this.#at += 1;
      return { kind: 'name', name: token.text, offset: token.offset };
    }
    if (!this.#accept('(')) this.#unexpected();
    const inner = this.#expression();
    this.#expect(')', 'after (');
    return inner;
  }

  /** `.0` right after something is somebody's `orders.0`, not a number. */
  #isIndexAfterDot(): boolean {
    const { text, offset } = this.#token;
    const before = this.#tokens[this.#at - 1];
    const follows = before !== undefined && before.offset + before.text.length === offset;
    return follows && text.startsWith('.') && (before.kind === 'name' || before.text === ']');
  }

  #unexpected(): never {
    const { text, offset, kind } = this.#token;
    if (kind === 'literal' && this.#isIndexAfterDot()) {
      throw new Malformed(`write [${text.slice(1)}] to read one item of a list`, offset);
    }
    if (kind === 'operator' && text === '}') {
      throw new Malformed('the expression ends too early: a value is missing before }', offset);
    }
    if (text === 'instanceof') throw new Malformed("'instanceof' is a reserved word", offset);
    if (LOWER_CASE.has(text)) {
      throw new Malformed(`'${text}' is written in lower case: ${text.toLowerCase()}`, offset);
    }
    const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
    throw new Malformed(`${shown} is not expected here: an operator or a value is missing before it`, offset);
  }
}

const constant = (value: Json): Ast => ({ kind: 'constant', value });

import { type Json, member } from '../json.ts';
import { type Ast, type BinaryOperator, ExpressionError, type Link, type UnaryOperator } from './ast.ts';
import { described, toBoolean, toNumber, toText } from './coerce.ts';

/** A variable's value, or undefined when no variable bears the name. */
export type Lookup = (name: string) => Json | undefined;

/** Characters and members that the comparisons of one evaluation may look at together. */
const MAX_EFFORT = 32 * 1024 * 1024;

/** One evaluation of a tree: the variables, and how much of its effort is spent. */
export class Evaluation {
  readonly #lookup: Lookup;
  #effort = 0;

  constructor(lookup: Lookup) {
    this.#lookup = lookup;
  }

  value(node: Ast): Json {
    switch (node.kind) {
      case 'constant':
        return node.value;
      case 'name':
        return this.#variable(node.name, node.offset);
      case 'path':
        return this.#path(node.base, node.steps);
      case 'unary':
        return node.operators.reduceRight(
          (value: Json, operator) => unary(operator, value, node.offset),
          this.value(node.operand),
        );
      case 'chain':
        return this.#chain(node.first, node.links);
      case 'choice':
        return this.value(
          node.cases.find((one) => toBoolean(this.value(one.when), one.offset))?.value ?? node.otherwise,
        );
      case 'text':
        return node.parts.map((part) => toText(this.value(part), 0)).join('');
    }
  }

  #variable(name: string, offset: number): Json {
    const value = this.#lookup(name);
    if (value !== undefined) return value;
    throw new ExpressionError(
      `no variable is named '${name}': give it a default under the flow's variables when it is optional`,
      offset,
    );
  }

  #path(base: Ast, steps: readonly { key: Ast; offset: number }[]): Json {
    let value = this.value(base);
    for (const step of steps) {
      if (value === null) return null;
      value = property(value, this.value(step.key), step.offset);
    }
    return value;
  }

  /** Operators of one precedence; `&&` and `||` stop as soon as the outcome is known. */
  #chain(first: Ast, links: readonly Link[]): Json {
    let value = this.value(first);
    for (const { operator, operand, offset } of links) {
      if (operator === '&&' || operator === '||') {
        if (toBoolean(value, offset) === (operator === '||')) return operator === '||';
        value = toBoolean(this.value(operand), offset);
      } else {
        value = this.#binary(operator, value, this.value(operand), offset);
      }
    }
    return value;
  }

  #binary(operator: Exclude<BinaryOperator, '&&' | '||'>, left: Json, right: Json, offset: number): Json {
    switch (operator) {
      case '==':
        return this.#equal(left, right, offset);
      case '!=':
        return !this.#equal(left, right, offset);
      case '<':
      case '>':
      case '<=':
      case '>=':
        return this.#ordered(operator, left, right, offset);
      default:
        return arithmetic(operator, left, right, offset);
    }
  }

  /** null equals only null; otherwise a number, then a boolean, then a text on either side decides the comparison. */
  #equal(left: Json, right: Json, offset: number): boolean {
    if (left === null || right === null) return left === right;
    if (typeof left === 'number' || typeof right === 'number')
      return toNumber(left, offset) === toNumber(right, offset);
    if (typeof left === 'boolean' || typeof right === 'boolean') {
      return toBoolean(left, offset) === toBoolean(right, offset);
    }
    return this.#same(left, right, offset);
  }

  /** Deep equality without coercion, and without recursion. */
  #same(left: Json, right: Json, offset: number): boolean {
    const pairs: [Json, Json][] = [[left, right]];
    for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
      const [one, other] = pair;
      if (typeof one === 'string' && typeof other === 'string') this.#spend(Math.min(one.length, other.length), offset);
      else this.#spend(1, offset);
      if (one === other) continue;
      if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
      if (Array.isArray(one) !== Array.isArray(other)) return false;
      const keys = Object.keys(one);
      if (keys.length !== Object.keys(other).length) return false;
      for (const key of keys) {
        const counterpart = member(other, key);
        if (counterpart === undefined) return false;
        pairs.push([member(one, key) as Json, counterpart]);
      }
    }
    return true;
  }

  /** With null on one side nothing is less or greater; numbers decide before texts, texts go by UTF-16 units. */
  #ordered(operator: '<' | '>' | '<=' | '>=', left: Json, right: Json, offset: number): boolean {
    if (left === null || right === null) return left === right && operator.endsWith('=');
    if (typeof left === 'number' || typeof right === 'number') {
      return compare(operator, toNumber(left, offset), toNumber(right, offset));
    }
    if (typeof left === 'string' || typeof right === 'string') {
      const [one, other] = [toText(left, offset), toText(right, offset)];
      this.#spend(Math.min(one.length, other.length), offset);
      return compare(operator, one, other);
    }
    if (typeof left === 'boolean' && typeof right === 'boolean') return compare(operator, left, right);
    throw new ExpressionError(`${described(left)} and ${described(right)} have no order for ${operator}`, offset);
  }

  #spend(effort: number, offset: number): void {
    this.#effort += effort;
    if (this.#effort > MAX_EFFORT)
      throw new ExpressionError('the condition compares more data than is allowed', offset);
  }
}

function unary(operator: UnaryOperator, value: Json, offset: number): Json {
  if (operator === '!') return !toBoolean(value, offset);
  if (operator === '-') return 0 - toNumber(value, offset);
  if (value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function arithmetic(operator: '+' | '-' | '*' | '/' | '%', left: Json, right: Json, offset: number): number {
  if (left === null && right === null) return 0;
  const [one, other] = [toNumber(left, offset), toNumber(right, offset)];
  switch (operator) {
    case '+':
      return one + other;
    case '-':
      return one - other;
    case '*':
      return one * other;
    case '/':
      return one / other;
    case '%':
      if (other === 0) throw new ExpressionError('a remainder of a division by zero has no value', offset);
      return (one % other) + 0;
  }
}

function compare<T extends number | string | boolean>(operator: '<' | '>' | '<=' | '>=', left: T, right: T): boolean {
  switch (operator) {
    case '<':
      return left < right;
    case '>':
      return left > right;
    case '<=':
      return left <= right;
    case '>=':
      return left >= right;
  }
}

/** What an object lacks and what lies outside a list is null; own properties only, so no way leads to a prototype. */
function property(value: Exclude<Json, null>, key: Json, offset: number): Json {
  if (key === null) return null;
  if (typeof key === 'object') throw new ExpressionError(`${described(key)} is no property's name`, offset);
  if (Array.isArray(value)) return member(value, String(index(key, offset))) ?? null;
  if (typeof value === 'object') return member(value, String(key)) ?? null;
  throw new ExpressionError(`${described(value)} has no properties, so none named '${shortened(key)}'`, offset);
}

function index(key: string | number | boolean, offset: number): number {
  if (typeof key === 'number') return Math.trunc(key);
  if (typeof key === 'string' && /^-?\d{1,15}$/.test(key)) return Number(key);
  throw new ExpressionError(
    `a list has no property '${shortened(key)}': read its items by number, e.g. list[0]`,
    offset,
  );
}

function shortened(key: string | number | boolean): string {
  const text = String(key);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

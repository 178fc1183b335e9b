import type { Json } from '../json.ts';
import { ExpressionError } from './ast.ts';

const WHOLE = /^[+-]?\d+$/;
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
/** No number that is meant as one is longer. */
const MAX_DIGITS = 400;

/** EL's coercion to a number: null and the empty text are 0, a numeric text is its number, anything else is an error. */
export function toNumber(value: Json, offset: number): number {
  if (typeof value === 'number') return value;
  if (value === null || value === '') return 0;
  if (typeof value !== 'string' || value.length > MAX_DIGITS || !DECIMAL.test(value)) {
    throw new ExpressionError(`${described(value)} is not a number`, offset);
  }
  const number = Number(value);
  if (WHOLE.test(value) && !Number.isSafeInteger(number)) {
    throw new ExpressionError(
      `${described(value)} is too large for a number: whole numbers are exact up to 9007199254740991`,
      offset,
    );
  }
  return number;
}

/** EL's coercion to a boolean: null and the empty text are false, a text is true when it is "true" in any case. */
export function toBoolean(value: Json, offset: number): boolean {
  if (typeof value === 'boolean') return value;
  if (value === null) return false;
  if (typeof value === 'string') return value.length === 4 && value.toLowerCase() === 'true';
  throw new ExpressionError(
    `${described(value)} is neither true nor false: compare it, e.g. ${'${count > 0}'}`,
    offset,
  );
}

/** Numbers, booleans and texts as text; null is the empty text, as EL has it. A list or an object is an error. */
export function toText(value: Json, offset: number): string {
  if (value === null) return '';
  if (typeof value === 'object') throw new ExpressionError(`${described(value)} is not a text`, offset);
  return String(value);
}

/** A value for a message: its type and the start of what it is. */
export function described(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value !== 'string') return `the ${typeof value} ${value}`;
  return `the text '${value.length > 40 ? `${value.slice(0, 40)}…` : value}'`;
}

import type { Json } from '../../engine/json.ts';
import { Refusal } from '../refusal.ts';

const DEPTH = 100;
const utf8 = new TextDecoder('utf-8', { fatal: true });

const refuse = (what: string): Refusal =>
  new Refusal('VALIDATION_ERROR', `The body ${what}.`, { details: [{ path: '', message: what }] });

/** Bytes as text: UTF-8 without a flaw (a BOM in front is dropped), or VALIDATION_ERROR. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw refuse('is not valid UTF-8: send it as UTF-8');
  }
}

/**
 * Reads a JSON body. Refused, beyond bad syntax: more than 100 levels (deeper values parse, but can't be written again),
 * numbers that no double holds (they would turn to null), and the keys `__proto__` and `constructor.prototype` at any depth.
 * Of equal keys the last one counts; whole numbers beyond 2^53 are rounded; lone surrogates stay.
 */
export function parseJson(text: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    throw refuse(`is not valid JSON: ${syntaxProblem(error as Error)}`);
  }
  checkTree(value);
  return value;
}

/** The engine quotes the text that it stumbled over, which may be long or secret: only what it expected and where is kept. */
function syntaxProblem({ message }: Error): string {
  const position = /at position (\d+)/.exec(message)?.[1];
  const place = position === undefined ? '' : ` at character ${Number(position) + 1}`;
  return /end of JSON input|Unterminated/.test(message) ? `it ends too early${place}` : `unexpected character${place}`;
}

/** Level by level, so that no depth can overflow the stack. */
function checkTree(root: Json): void {
  let level: object[] = isContainer(root) ? [root] : checkNumber(root);
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > DEPTH) throw refuse(`nests deeper than ${DEPTH} levels`);
    const next: object[] = [];
    for (const container of level) {
      if (!Array.isArray(container)) checkKeys(container as Record<string, Json>);
      for (const value of Object.values(container) as Json[])
        if (isContainer(value)) next.push(value);
        else checkNumber(value);
    }
    level = next;
  }
}

const isContainer = (value: Json): value is Json & object => typeof value === 'object' && value !== null;

function checkNumber(value: Json): [] {
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
    throw refuse('holds a number that is too large: send it as text');
  return [];
}

function checkKeys(container: Record<string, Json>): void {
  if (Object.hasOwn(container, '__proto__')) throw refuse('holds the key __proto__, which is not allowed');
  if (!Object.hasOwn(container, 'constructor')) return;
  const inner = container['constructor'] as Json;
  if (isContainer(inner) && Object.hasOwn(inner, 'prototype'))
    throw refuse('holds the keys constructor.prototype, which are not allowed');
}

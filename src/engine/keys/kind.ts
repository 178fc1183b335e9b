import type { Body, Connection } from '../flow.ts';
import type { Json, JsonObject } from '../json.ts';

/** A JSON Schema, draft 2020-12. */
export type JsonSchema = JsonObject;

/**
 * A kind of value that a key of a flow file may hold: how to read it into its compiled form, and the JSON Schema that
 * says the same to an editor. What `read` refuses it reports through `at`, and then gives undefined.
 */
export interface Kind<out T> {
  readonly schema: JsonSchema;
  read(value: Json, at: At): T | undefined;
}

export interface Detail {
  /** What to do about it, e.g. `write PT30S`. */
  readonly hint?: string;
  /** Where in the text of a scalar, counted in UTF-16 units from 0. */
  readonly offset?: number;
  /** Point at the key instead of at its value. */
  readonly onKey?: boolean;
}

/** A place in a flow file: knows its path and position, and takes the problems found there. */
export interface At {
  /** E.g. `nodes.review.inputType`; empty for the whole file. */
  readonly path: string;
  /** The key's name; for an item of a list `next[0]`. */
  readonly name: string;
  /** Id of the enclosing node; empty outside of nodes. */
  readonly node: string;
  /** A scalar as it is written, without quotes: `1.10` for the number 1.1. */
  readonly written: string;
  /** The value here was refused before any kind saw it: say nothing more about it. */
  readonly broken: boolean;
  /** The place of a key's value; of the map itself where the key is missing. */
  key(name: string): At;
  item(index: number): At;
  error(code: string, message: string, detail?: Detail): undefined;
  warning(code: string, message: string, detail?: Detail): undefined;
  /** A variable is read here, by its first name. */
  uses(variable: string, offset: number): void;
  /** A variable is set here, by its first name; `inside` of it only, where it is expected to be there already. */
  sets(variable: string, inside?: boolean): void;
  /** A connection from the enclosing node to the one that is named here; `key` makes its id: `<node>.<key>`. */
  connect(key: string, to: string): Connection;
  /** Reads the map of nodes here as a body of its own, which the enclosing node carries. */
  body(value: Json): Body | undefined;
}

/** The value in words, to say what stands where something else should: `the number 1.10`, `a list`. */
export function inWords(value: Json, at: At): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  if (typeof value === 'string') return value === '' ? 'an empty text' : `the text ${shortened(value)}`;
  return `the ${typeof value} ${at.written.slice(0, 60)}`;
}

/** The name of a thing behind its article: `an inputNode`. */
export const withArticle = (name: string): string => `${/^[aeio]/iu.test(name) ? 'an' : 'a'} ${name}`;

/** A text from the file for use in a message: one line, at most 60 characters, in double quotes. */
export function shortened(text: string): string {
  const line = text.replace(/\s+/gu, ' ');
  const characters = Array.from(line.slice(0, 200));
  return JSON.stringify(characters.length > 60 ? `${characters.slice(0, 59).join('')}…` : line);
}

/** Says that `expected` should stand here. A number or boolean where text belongs gets the hint to quote it. */
export function mismatch(expected: string, value: Json, at: At, hint?: string): undefined {
  const unquoted = /text/u.test(expected) && (typeof value === 'number' || typeof value === 'boolean');
  const advice = hint ?? (unquoted ? `quote it: ${JSON.stringify(at.written)}` : undefined);
  const message = `\`${at.name}\` must be ${expected}, but is ${inWords(value, at)}`;
  return at.error('WRONG_TYPE', message, advice === undefined ? {} : { hint: advice });
}

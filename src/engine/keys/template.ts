import { isObject, type Json } from '../json.ts';
import { type Condition, parseCondition } from '../juel/index.ts';
import { parseTemplate, parseValue, referencesOf, type Template, type ValueTemplate } from '../template.ts';
import { type At, type Kind, mismatch, shortened } from './kind.ts';
import { variablePath } from './scalar.ts';

/** Text that is nothing but one reference, and so keeps the type of what it refers to. */
const WHOLE_REFERENCE = /^\{[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*\}$/;

/** Text with references: `Order {order.id}`. Never empty. */
export const text: Kind<Template> = {
  schema: { type: 'string', minLength: 1 },
  read(value, at) {
    if (typeof value !== 'string' || value === '') return mismatch('a text', value, at);
    return template(value, at);
  },
};

/** Text with references that may be empty, e.g. what a command gets on its standard input. */
export const anyText: Kind<Template> = {
  schema: { type: 'string' },
  read: (value, at) => (typeof value === 'string' ? template(value, at) : mismatch('a text', value, at)),
};

/** Text, or a number or boolean that is taken as it is written: `PORT: 8080`. */
const looseText: Kind<Template> = {
  schema: { type: ['string', 'number', 'boolean'] },
  read(value, at) {
    if (typeof value === 'number' || typeof value === 'boolean') return parseTemplate(at.written);
    return anyText.read(value, at);
  },
};

/** The parsed text; warns of what looks like a reference and is none. */
export function template(source: string, at: At): Template {
  warnOfLookalikes(source, at);
  const compiled = parseTemplate(source);
  noteUses(compiled, at);
  return compiled;
}

function noteUses(compiled: Template, at: At): void {
  for (const reference of referencesOf(compiled)) at.uses(reference.path[0] as string, reference.offset);
}

const LOOKALIKES: readonly (readonly [RegExp, string])[] = [
  [/\$\{\s*([A-Za-z_][\w.]*)?/u, '${…} is only an expression in conditions: here it stays as literal text'],
  [/\{\{\s*([A-Za-z_][\w.]*)\s*\}\}/u, 'a reference has single braces: of {{…}} the outer ones stay in the text'],
  [
    /\{(?:\s+([A-Za-z_][\w.]*)\s*|([A-Za-z_][\w.]*)\s+)\}/u,
    'a reference has no spaces in its braces: this stays as literal text',
  ],
];

function warnOfLookalikes(source: string, at: At): void {
  if (!source.includes('{')) return;
  for (const [pattern, message] of LOOKALIKES) {
    const found = pattern.exec(source);
    if (found === null) continue;
    const hint = `write {${found[1] ?? found[2] ?? 'name'}} to insert a variable`;
    at.warning('LITERAL_BRACES', message, { hint, offset: found.index });
    return;
  }
}

/** The texts without any reference are known before the flow runs, and can be checked. */
export const isConstant = (compiled: Template): boolean => referencesOf(compiled).length === 0;

/** Any JSON; every text in it may hold references. */
export const value: Kind<ValueTemplate> = {
  schema: {},
  read(json, at) {
    walk(json, at);
    return parseValue(json);
  },
};

/** A list, or one reference that gives one. */
export const listValue: Kind<ValueTemplate> = {
  schema: { anyOf: [{ type: 'array' }, { type: 'string', pattern: WHOLE_REFERENCE.source }] },
  read(json, at) {
    if (Array.isArray(json) || isWholeReference(json)) return value.read(json, at);
    return mismatch('a list, or one reference such as "{orders}"', json, at, referenceHint(json));
  },
};

/** A whole number from 0, or one reference that gives it. */
export const countValue: Kind<ValueTemplate> = {
  schema: {
    anyOf: [
      { type: 'integer', minimum: 0 },
      { type: 'string', pattern: WHOLE_REFERENCE.source },
    ],
  },
  read(json, at) {
    if ((Number.isInteger(json) && (json as number) >= 0) || isWholeReference(json)) return value.read(json, at);
    return mismatch('a whole number from 0, or one reference such as "{count}"', json, at, referenceHint(json));
  },
};

function isWholeReference(json: Json): boolean {
  return typeof json === 'string' && WHOLE_REFERENCE.test(json);
}

function referenceHint(json: Json): string | undefined {
  const name = typeof json === 'string' ? /^\s*\$?\{?\s*([A-Za-z_][\w.]*)\s*\}?\s*$/u.exec(json)?.[1] : undefined;
  return name && `write "{${name}}"`;
}

function walk(json: Json, at: At): void {
  if (at.broken) return;
  if (typeof json === 'string') template(json, at);
  else if (Array.isArray(json)) for (const [index, item] of json.entries()) walk(item, at.item(index));
  else if (isObject(json)) for (const name of Object.keys(json)) walk(json[name] as Json, at.key(name));
}

/** Plain JSON without references, e.g. a JSON Schema. */
export const json: Kind<Json> = { schema: {}, read: (value) => value };

/** A map whose values are read by one kind; `of` names it in messages. */
export function mapOf<T>(of: string, kind: Kind<T>): Kind<ReadonlyMap<string, T>> {
  return {
    schema: { type: 'object', additionalProperties: kind.schema },
    read(value, at) {
      if (!isObject(value)) return mismatch(of, value, at);
      const result = new Map<string, T>();
      for (const name of Object.keys(value)) {
        const place = at.key(name);
        const item = place.broken ? undefined : kind.read(value[name] as Json, place);
        if (item !== undefined) result.set(name, item);
      }
      return result.size === Object.keys(value).length ? result : undefined;
    },
  };
}

/** A list of at least one thing, or where `single` a bare one. */
export function listOf<T>(of: string, kind: Kind<T>, single = false): Kind<readonly T[]> {
  const list = { type: 'array', items: kind.schema, minItems: 1 };
  return {
    schema: single ? { anyOf: [kind.schema, list] } : list,
    read(value, at) {
      if (single && !Array.isArray(value) && value !== null) {
        const item = kind.read(value, at);
        return item === undefined ? undefined : [item];
      }
      if (!Array.isArray(value)) return mismatch(of, value, at);
      if (value.length === 0) return at.error('EMPTY', `\`${at.name}\` is an empty list: it needs at least one entry`);
      return items(kind, value, at);
    },
  };
}

/** Every item of the list, or undefined when one is wrong. */
export function items<T>(kind: Kind<T>, list: readonly Json[], at: At): readonly T[] | undefined {
  const result: T[] = [];
  list.forEach((item, index) => {
    const place = at.item(index);
    const compiled = place.broken ? undefined : kind.read(item, place);
    if (compiled !== undefined) result.push(compiled);
  });
  return result.length === list.length ? result : undefined;
}

export const values: Kind<ReadonlyMap<string, ValueTemplate>> = mapOf('a map of names to values', value);

/** Values that become variables of these names. */
export const outputs: Kind<ReadonlyMap<string, ValueTemplate>> = {
  schema: values.schema,
  read(map, at) {
    if (isObject(map)) for (const name of Object.keys(map)) at.sets(name);
    return values.read(map, at);
  },
};

export const textMap: Kind<ReadonlyMap<string, Template>> = mapOf('a map of names to texts', looseText);
export const texts: Kind<readonly Template[]> = listOf('a text or a list of texts', text, true);

/** The words of a command, its name first. Not a shell string: nothing in a word is interpreted. */
export const argv: Kind<readonly Template[]> = {
  schema: { type: 'array', items: looseText.schema, minItems: 1 },
  read(value, at) {
    if (typeof value === 'string') {
      const words = value.trim().split(/\s+/u).slice(0, 12);
      const hint = `write [${words.map((word) => (/^[\w./=-]+$/u.test(word) ? word : JSON.stringify(word))).join(', ')}]`;
      return at.error('WRONG_TYPE', `\`${at.name}\` must be a list of words, not one text: no shell reads it`, {
        hint,
      });
    }
    return argvList.read(value, at);
  },
};
const argvList = listOf('a list of words', looseText);

/** One assignment of setVariable: where, and what. */
export interface Assignment {
  readonly path: readonly string[];
  readonly value: ValueTemplate;
}

/** Variables that one node sets. */
const MAX_SETS = 1000;

/** A map of dotted variable names to the values that they get, in the order written. */
export const sets: Kind<readonly Assignment[]> = {
  schema: { type: 'object', minProperties: 1 },
  read(map, at) {
    if (!isObject(map)) return mismatch('a map of variable names to values', map, at);
    const names = Object.keys(map);
    if (names.length === 0) return at.error('EMPTY', `\`${at.name}\` sets nothing: write at least one \`name: value\``);
    if (names.length > MAX_SETS) return at.error('TOO_MANY', `\`${at.name}\` sets more than ${MAX_SETS} variables`);
    const result = names.map((name) => assignment(name, map[name] as Json, at.key(name)));
    return result.every((item) => item !== undefined) ? result : undefined;
  },
};

function assignment(name: string, json: Json, at: At): Assignment | undefined {
  const path = variablePath(name, at, true);
  const compiled = at.broken ? undefined : value.read(json, at);
  return path === undefined || compiled === undefined ? undefined : { path, value: compiled };
}

/** A JUEL expression: `${order.total < 1000}`. */
export const condition: Kind<Condition> = {
  schema: { type: 'string', pattern: '\\$\\{' },
  read(value, at) {
    if (typeof value === 'boolean') return mismatch('an expression', value, at, `write "\${${value}}"`);
    if (typeof value !== 'string') return mismatch('an expression such as "${total > 100}"', value, at);
    if (!/[$#]\{/u.test(value)) return withoutDollar(value, at);
    const parsed = parseCondition(value);
    if (parsed.ok) {
      for (const { name, offset } of parsed.condition.names) at.uses(name, offset);
      return parsed.condition;
    }
    const { message, offset } = parsed.problem;
    return at.error('BAD_EXPRESSION', `the condition ${shortened(value)} is malformed: ${message}`, { offset });
  },
};

function withoutDollar(source: string, at: At): undefined {
  const inner = source
    .trim()
    .replace(/^\{\{?(.*?)\}?\}$/u, '$1')
    .trim();
  const hint = `write ${JSON.stringify(`\${${inner === '' ? 'total > 100' : inner}}`)}`;
  return at.error('BAD_EXPRESSION', `the condition ${shortened(source)} is not an expression: it has no \${…}`, {
    hint,
  });
}

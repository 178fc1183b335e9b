import { isObject, type Json } from '../json.ts';
import { type At, type JsonSchema, type Kind, mismatch } from './kind.ts';
import { unknownKey } from './suggest.ts';

type Presence = 'required' | 'optional' | 'default';

/** One key of a map: its kind, whether it must be there, and what it means. */
export interface Key<out T = unknown, out P extends Presence = Presence> {
  readonly kind: Kind<T>;
  readonly presence: P;
  /** What the key stands for, as an editor shows it. */
  readonly description: string;
  /** The compiled value where the file gives none. */
  readonly missing?: T;
}
export type Keys = Readonly<Record<string, Key>>;

export const required = <T>(kind: Kind<T>, description: string): Key<T, 'required'> => ({
  kind,
  presence: 'required',
  description,
});
export const optional = <T>(kind: Kind<T>, description: string): Key<T, 'optional'> => ({
  kind,
  presence: 'optional',
  description,
});
export const withDefault = <T>(kind: Kind<T>, missing: T, description: string): Key<T, 'default'> => ({
  kind,
  presence: 'default',
  description,
  missing,
});

type Flat<T> = { [N in keyof T]: T[N] };
type TypeOf<K> = K extends Key<infer T> ? T : never;
type OptionalNames<K> = { [N in keyof K]: K[N] extends Key<unknown, 'optional'> ? N : never }[keyof K];

/** What a map with these keys compiles to: optional keys that are absent in the file are absent. */
export type CompiledKeys<K> = Flat<
  { readonly [N in Exclude<keyof K, OptionalNames<K>>]: TypeOf<K[N]> } & {
    readonly [N in OptionalNames<K>]?: TypeOf<K[N]>;
  }
>;

/** The values of `keys` in the map `value`; undefined when any is wrong or missing. Says nothing of other keys. */
export function readKeys<K extends Keys>(keys: K, value: Json, at: At): CompiledKeys<K> | undefined {
  if (!isObject(value)) return mismatch('a map', value, at);
  const result: Record<string, unknown> = Object.create(null);
  let complete = true;
  for (const [name, key] of Object.entries(keys)) {
    const compiled = readKey(name, key, value, at);
    if (compiled !== undefined) result[name] = compiled;
    else if (key.presence !== 'optional' || Object.hasOwn(value, name)) complete = false;
  }
  return complete ? (result as CompiledKeys<K>) : undefined;
}

function readKey(name: string, key: Key, value: Readonly<Record<string, Json>>, at: At): unknown {
  if (!Object.hasOwn(value, name)) {
    if (key.presence !== 'required') return key.missing;
    return at.key(name).error('MISSING_KEY', `\`${name}\` is missing: ${lowered(key.description)}`, { onKey: true });
  }
  const place = at.key(name);
  return place.broken ? undefined : key.kind.read(value[name] as Json, place);
}

const lowered = (text: string) => text.slice(0, 1).toLowerCase() + text.slice(1).replace(/\.$/u, '');

/** Reports every key of `value` that is not among `known`. */
export function refuseOthers(known: readonly string[], value: Json, at: At, of: string): void {
  if (!isObject(value)) return;
  for (const name of Object.keys(value)) if (!known.includes(name)) unknownKey(name, known, value, at, of);
}

/** A map with these keys and no others; `of` names it in messages: `a request`. */
export function record<K extends Keys>(of: string, keys: K, description?: string): Kind<CompiledKeys<K>> {
  return {
    schema: recordSchema(keys, description),
    read(value, at) {
      if (!isObject(value)) return mismatch(`a map (${Object.keys(keys).join(', ')})`, value, at);
      refuseOthers(Object.keys(keys), value, at, of);
      return readKeys(keys, value, at);
    },
  };
}

export function recordSchema(keys: Keys, description?: string): JsonSchema {
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    properties: propertySchemas(keys),
    required: requiredNames(keys),
    additionalProperties: false,
  };
}

export function propertySchemas(keys: Keys): JsonSchema {
  return Object.fromEntries(
    Object.entries(keys).map(([name, key]) => [name, { ...key.kind.schema, description: key.description }]),
  );
}

export const requiredNames = (keys: Keys): string[] =>
  Object.keys(keys).filter((name) => keys[name]?.presence === 'required');

/** JSON as values: what variables, payloads and results are made of. Treated as immutable everywhere. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The own property `key` of `value` (a list takes decimal indices), or undefined. Never reaches a prototype. */
export function member(value: Json, key: string): Json | undefined {
  if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(key) ? (value[Number(key)] as Json | undefined) : undefined;
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** `base` with the keys of `changes` laid over it; own properties only, `__proto__` stays an ordinary key. */
export function merged(base: JsonObject, changes: JsonObject): JsonObject {
  const result: Record<string, Json> = Object.create(null);
  for (const key of Object.keys(base)) result[key] = base[key] as Json;
  for (const key of Object.keys(changes)) result[key] = changes[key] as Json;
  return result;
}

/** `base` with the value at `path` replaced; objects along the way are copied, missing ones made. A list takes indices. */
export function withPath(base: JsonObject, path: readonly string[], value: Json): JsonObject {
  const [head, ...rest] = path as [string, ...string[]];
  if (rest.length === 0) return merged(base, { [head]: value });
  const inner = member(base, head) ?? null;
  return merged(base, { [head]: insideOf(inner, rest, value) });
}

function insideOf(inner: Json, path: readonly string[], value: Json): Json {
  if (!Array.isArray(inner)) return withPath(isObject(inner) ? inner : Object.create(null), path, value);
  const [head, ...rest] = path as [string, ...string[]];
  const index = /^(0|[1-9]\d*)$/.test(head) ? Number(head) : inner.length;
  const copy = [...inner] as Json[];
  const at = Math.min(index, copy.length);
  copy[at] = rest.length === 0 ? value : insideOf(copy[at] ?? null, rest, value);
  return copy;
}

/** Bytes of `value` as JSON, approximately (a character counts one): cheap enough to ask at every write. */
export function jsonSize(value: Json): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 6;
  let size = 2;
  if (Array.isArray(value)) for (const item of value) size += jsonSize(item as Json) + 1;
  else for (const key of Object.keys(value)) size += key.length + 4 + jsonSize((value as JsonObject)[key] as Json);
  return size;
}

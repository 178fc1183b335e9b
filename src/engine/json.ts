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
export const withPath = (base: JsonObject, path: readonly string[], value: Json): JsonObject =>
  withPaths(base, [{ path, value }]);

/** As `withPath` for one path after the other; each object and list on the way is copied once, however many there are. */
export function withPaths(
  base: JsonObject,
  changes: readonly { readonly path: readonly string[]; readonly value: Json }[],
): JsonObject {
  const copies = new Set<Json>();
  let result: Json = base;
  for (const { path, value } of changes) result = withPlaced(result, path, 0, value, copies);
  return result as JsonObject;
}

/** `copies` are those that were made for this and may be changed. */
function withPlaced(inner: Json, path: readonly string[], depth: number, value: Json, copies: Set<Json>): Json {
  const copy = copies.has(inner) ? inner : copyOf(inner);
  copies.add(copy);
  const step = path[depth] as string;
  const key = Array.isArray(copy) ? indexIn(copy, step) : step;
  const before = member(copy, String(key)) ?? null;
  const placed = depth === path.length - 1 ? value : withPlaced(before, path, depth + 1, value, copies);
  (copy as Record<string | number, Json>)[key] = placed;
  return copy;
}

function copyOf(value: Json): Json {
  if (Array.isArray(value)) return [...value] as Json[];
  return merged(isObject(value) ? value : {}, {});
}

/** What is no index, or lies beyond the list's end, is its end. */
const indexIn = (list: readonly Json[], step: string): number =>
  /^(0|[1-9]\d*)$/.test(step) ? Math.min(Number(step), list.length) : list.length;

/** So many levels a variable may have: far more would be too many for JSON itself. */
export const MAX_LEVELS = 500;

/** Whether `value` has more than so many levels of lists and objects in each other. */
export function isDeeper(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels <= 0) return true;
  if (Array.isArray(value)) return value.some((item: Json) => isDeeper(item, levels - 1));
  return Object.keys(value).some((key) => isDeeper((value as JsonObject)[key] as Json, levels - 1));
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

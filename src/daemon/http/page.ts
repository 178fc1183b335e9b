import { invalid } from '../refusal.ts';

export interface Paging {
  readonly limit?: number;
  readonly cursor?: string;
}

export const DEFAULT_LIMIT = 50;

/**
 * One page of `items` in the order of `keyOf`, whose texts must differ. The cursor is the last key of the page before, so that
 * what comes and goes meanwhile neither doubles nor hides other items.
 */
export function pageOf<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  { limit = DEFAULT_LIMIT, cursor }: Paging,
): { items: T[]; nextCursor: string | null } {
  const after = cursor === undefined ? undefined : decoded(cursor);
  const keyed = items
    .map((item) => [keyOf(item), item] as const)
    .filter(([key]) => after === undefined || key > after)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const page = keyed.slice(0, limit);
  const last = page.at(-1);
  return {
    items: page.map(([, item]) => item),
    nextCursor: last === undefined || page.length === keyed.length ? null : encoded(last[0]),
  };
}

const encoded = (key: string): string => Buffer.from(key, 'utf8').toString('base64url');

function decoded(cursor: string): string {
  if (!/^[A-Za-z0-9_-]+$/.test(cursor)) throw invalid('cursor', 'is not a nextCursor of this list');
  return Buffer.from(cursor, 'base64url').toString('utf8');
}

/** Orders by name, then by id, whatever the letters' case. */
export const byName = (name: string, id: string): string => `${name.toLowerCase()}\u0000${id}`;

import { usage } from './exit.ts';

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

/** The most that the API gives at once. */
const PAGE = 500;

/** The first `limit` items over as many pages as that takes, with where to go on. */
export async function firstItems<T>(
  limit: number,
  next: (page: { limit: number; cursor?: string }) => Promise<Page<T>>,
): Promise<Page<T>> {
  const items: T[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await next({ limit: Math.min(PAGE, limit - items.length), ...(cursor ? { cursor } : {}) });
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null && items.length < limit);
  return { items, nextCursor: cursor };
}

/** The value of `--limit`. */
export function limitOf(text: string): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 100_000) return limit;
  throw usage(`--limit takes a whole number from 1 to 100000, not “${text}”.`);
}

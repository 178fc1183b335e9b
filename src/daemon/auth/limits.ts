import { Refusal } from '../refusal.ts';

const WINDOWS = [
  { limit: 'rateLimitPerMinute', ms: 60_000, called: 'minute' },
  { limit: 'rateLimitPerHour', ms: 3_600_000, called: 'hour' },
] as const;
const LONGEST_MS = 3_600_000;

interface Limited {
  readonly keyId: string;
  readonly rateLimitPerMinute: number | null;
  readonly rateLimitPerHour: number | null;
}

/**
 * Exact sliding windows: in no span of 60 seconds (or 60 minutes) are more requests let through than the key's limit.
 * Refused requests do not count. Kept in memory, so a restart begins anew; at most the hourly limit of times is kept for a
 * key, and none for a key without limits.
 */
export class RateLimits {
  /** Times of accepted requests by key id, oldest first. */
  readonly #times = new Map<string, number[]>();

  /** Counts a request at `now` (milliseconds of a clock that never goes back), or RATE_LIMIT_EXCEEDED. */
  take(key: Limited, now: number): void {
    if (key.rateLimitPerMinute === null && key.rateLimitPerHour === null) {
      this.#times.delete(key.keyId);
      return;
    }
    const times = this.#times.get(key.keyId) ?? [];
    this.#times.set(key.keyId, times);
    forget(times, now - (key.rateLimitPerHour === null ? WINDOWS[0].ms : LONGEST_MS));
    for (const window of WINDOWS) refuseOver(key[window.limit], window, times, now);
    times.push(now);
  }

  forget(keyId: string): void {
    this.#times.delete(keyId);
  }
}

/** The request of `limit` requests ago must have left the window; when it does is when the next one may come. */
function refuseOver(
  limit: number | null,
  window: (typeof WINDOWS)[number],
  times: readonly number[],
  now: number,
): void {
  const earlier = limit === null ? undefined : times.at(-limit);
  if (limit === null || earlier === undefined || earlier <= now - window.ms) return;
  const retryAfter = Math.max(1, Math.ceil((earlier + window.ms - now) / 1000));
  throw new Refusal(
    'RATE_LIMIT_EXCEEDED',
    `This key may make ${limit} requests a ${window.called}: try again in ${retryAfter} s.`,
    { retryAfter },
  );
}

/** Drops times up to `until`, in slices: removing from the front of a list costs its length. */
function forget(times: number[], until: number): void {
  let gone = 0;
  while (gone < times.length && (times[gone] as number) <= until) gone += 1;
  if (gone > 0 && (gone > 1000 || gone * 2 >= times.length)) times.splice(0, gone);
}

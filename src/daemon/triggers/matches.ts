import { type Cron, nextMatch, parseCron } from '../../engine/time.ts';

const HOUR = 3_600_000;
/** Back from now, so that an expression that matches often is not stepped through for years. */
const WINDOWS = [HOUR, 24 * HOUR, 32 * 24 * HOUR, 367 * 24 * HOUR, 9 * 366 * 24 * HOUR];

/** The last match after `after` and not after `now`, in milliseconds; undefined when there was none. */
export function lastMatch(cron: Cron, after: number, now: number): number | undefined {
  for (const window of WINDOWS) {
    const from = Math.max(after, now - window);
    let last: number | undefined;
    for (let next = nextMatch(cron, from); next !== undefined && next <= now; next = nextMatch(cron, next)) last = next;
    if (last !== undefined || from === after) return last;
  }
  return undefined;
}

/** The next `count` matches after an instant, ISO 8601; fewer past the year 9999. */
export function nextTimes(expression: string, timezone: string, after: number, count: number): string[] {
  const cron = parseCron(expression, timezone);
  if ('problem' in cron) return [];
  const times: string[] = [];
  for (let next = nextMatch(cron, after); next !== undefined && times.length < count; next = nextMatch(cron, next))
    times.push(new Date(next).toISOString());
  return times;
}

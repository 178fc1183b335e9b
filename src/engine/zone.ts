/** Wall-clock time in a timezone. A "wall" is the time that a clock there shows, as if it were UTC, in milliseconds. */

const HOUR = 3_600_000;
/** No offset from UTC, and no way that a clock was ever set, reaches further. */
const REACH = 26 * HOUR;
const MAX_FORMATTERS = 64;
/** Twice that of the longest name that there is: what takes long to look up is not looked up. */
const MAX_NAME = 64;

const formatters = new Map<string, Intl.DateTimeFormat>();

/** Whether the name is an IANA timezone, such as Europe/Berlin or UTC. */
export function isTimezone(timezone: string): boolean {
  if (timezone === 'UTC') return true;
  if (timezone.length > MAX_NAME) return false;
  try {
    formatterOf(timezone);
    return true;
  } catch {
    return false;
  }
}

/** Milliseconds that a clock in `timezone` is ahead of UTC at an instant. */
export function offsetAt(timezone: string, instant: number): number {
  if (timezone === 'UTC') return 0;
  const second = Math.floor(instant / 1000) * 1000;
  const fields: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
  for (const { type, value } of formatterOf(timezone).formatToParts(second)) fields[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second: seconds = 0 } = fields;
  return Date.UTC(year, month - 1, day, hour, minute, seconds) - second;
}

/** When a clock shows `wall`: the first time where it does so twice; where it never does, right after the gap. */
export function instantAt(timezone: string, wall: number): number {
  for (const instant of [wall - offsetAt(timezone, wall - REACH), wall - offsetAt(timezone, wall + REACH)]) {
    if (instant + offsetAt(timezone, instant) === wall) return instant;
  }
  return transitionBetween(timezone, wall - REACH, wall + REACH);
}

/** The first instant with another offset than `from` has, given that `to` has another one. */
export function transitionBetween(timezone: string, from: number, to: number): number {
  const offset = offsetAt(timezone, from);
  let before = Math.floor(from / 1000);
  let after = Math.ceil(to / 1000);
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (offsetAt(timezone, middle * 1000) === offset) before = middle;
    else after = middle;
  }
  return after * 1000;
}

function formatterOf(timezone: string): Intl.DateTimeFormat {
  const known = formatters.get(timezone);
  if (known) return known;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  if (formatters.size >= MAX_FORMATTERS) formatters.clear();
  formatters.set(timezone, made);
  return made;
}

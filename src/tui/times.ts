import { plain } from '../client/index.ts';
import { clockTime, shownTime } from '../terminal/shown.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A length of time in at most seven columns: `350ms`, `4.2s`, `12m05s`, `3h07m`, `2d04h`, `410d`. */
export function brief(ms: number): string {
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))}ms`;
  if (ms < 10 * SECOND) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)}s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}m${two(Math.floor((ms % MINUTE) / SECOND))}s`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)}h${two(Math.floor((ms % HOUR) / MINUTE))}m`;
  if (ms < 100 * DAY) return `${Math.floor(ms / DAY)}d${two(Math.floor((ms % DAY) / HOUR))}h`;
  return `${Math.floor(ms / DAY)}d`;
}

const two = (n: number): string => String(n).padStart(2, '0');

/**
 * A moment in at most 11 columns: the time of day where it is today, with the day where that leaves no doubt about the year,
 * else the date.
 */
export function moment(at: number, now = Date.now()): string {
  const iso = new Date(at).toISOString();
  const time = shownTime(iso);
  if (time.slice(0, 10) === shownTime(new Date(now).toISOString()).slice(0, 10)) return clockTime(iso);
  return Math.abs(at - now) < 300 * DAY ? time.slice(5, 16) : time.slice(0, 10);
}

/** How long ago, in whole seconds at least: what a table says of ages. */
export const ago = (at: number, now = Date.now()): string =>
  brief(Math.floor(Math.max(0, now - at) / SECOND) * SECOND).replace(/^0ms$|\.0s$/, (text) =>
    text === '0ms' ? '0s' : 's',
  );

/** A sentence with the times in it as the reader's own. */
export const inOwnTime = (text: string): string => plain(text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, shownTime), 4000);

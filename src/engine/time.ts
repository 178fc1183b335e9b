import { nextMatch, parseCron, unknownTimezone } from './cron.ts';
import { instantAt, isTimezone } from './zone.ts';

export { type Cron, nextMatch, parseCron } from './cron.ts';

/** An ISO 8601 duration. Years and months are kept apart, for their length depends on the date; both may be negative. */
export interface Duration {
  readonly months: number;
  readonly ms: number;
}

/** When a timer is due, in milliseconds, and whether it is due again at each later match. */
export interface Due {
  readonly due: number;
  readonly repeats: boolean;
}

/** The last instant that a Date can hold. */
const END_OF_TIME = 8_640_000_000_000_000;
const MAX_LENGTH = 100;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const NUMBER = String.raw`\d{1,15}(?:[.,]\d{1,9})?`;
const DURATION = new RegExp(
  String.raw`^([+-]?)P(?=[\dT])(?:(\d{1,9})Y)?(?:(\d{1,9})M)?(?:(${NUMBER})W)?(?:(${NUMBER})D)?` +
    String.raw`(?:T(?=\d)(?:(${NUMBER})H)?(?:(${NUMBER})M)?(?:(${NUMBER})S)?)?$`,
);
const DATE = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/;

/** Reads an ISO 8601 duration: `PT2H`, `P1DT30M`, `PT0.2S`, `P2W`, `P1M`, `-PT5S`; years and months are whole numbers. */
export function parseDuration(text: string): Duration | undefined {
  const match = text.length <= MAX_LENGTH ? DURATION.exec(text) : null;
  if (!match) return undefined;
  const sign = match[1] === '-' ? -1 : 1;
  const [years, months, weeks, days, hours, minutes, seconds] = match.slice(2).map((part) => decimal(part)) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const ms = (weeks * 7 + days) * DAY + hours * HOUR + minutes * MINUTE + seconds * SECOND;
  return { months: sign * (years * 12 + months) + 0, ms: sign * Math.round(ms) + 0 };
}

const decimal = (text: string | undefined): number => Number((text ?? '0').replace(',', '.'));

/** A duration's length in milliseconds, or undefined when it has months or years, whose length is not fixed. */
export function durationMs(duration: Duration): number | undefined {
  return duration.months === 0 ? duration.ms : undefined;
}

/**
 * The instant `duration` after `instant`, in milliseconds. Months and years go by the calendar in UTC (a month after 31
 * January is the last day of February); what lies beyond the range of dates ends at its border.
 */
export function addDuration(instant: number, duration: Duration): number {
  return within(withMonths(instant, duration.months) + duration.ms);
}

function withMonths(instant: number, months: number): number {
  if (months === 0) return instant;
  const date = new Date(instant);
  const month = date.getUTCFullYear() * 12 + date.getUTCMonth() + months;
  const [year, index] = [Math.floor(month / 12), month - Math.floor(month / 12) * 12];
  const day = Math.min(date.getUTCDate(), daysIn(year, index));
  const moved = new Date(0).setUTCFullYear(year, index, day) + (instant - Math.floor(instant / DAY) * DAY);
  return Number.isNaN(moved) ? Math.sign(months) * END_OF_TIME : moved;
}

const within = (instant: number): number => Math.max(-END_OF_TIME, Math.min(END_OF_TIME, instant));

/** `month` counts from 0. */
function daysIn(year: number, month: number): number {
  return new Date(new Date(0).setUTCFullYear(year, month + 1, 0)).getUTCDate();
}

/**
 * Reads an ISO 8601 date, with or without a time, as an instant in milliseconds. It must be a real calendar date; one
 * without an offset is in `timezone`, a known one.
 */
export function parseDate(text: string, timezone = 'UTC'): number | undefined {
  const match = text.length <= MAX_LENGTH ? DATE.exec(text) : null;
  if (!match) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month - 1)) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const ms = Math.floor(Number(`0.${match[7] ?? 0}`) * 1000);
  const wall = new Date(0).setUTCFullYear(year, month - 1, day) + hour * HOUR + minute * MINUTE + second * SECOND + ms;
  if (match[8] === undefined) return instantAt(timezone, wall);
  const offset = offsetOf(match[8]);
  return offset === undefined ? undefined : wall - offset;
}

function offsetOf(text: string): number | undefined {
  if (text === 'Z') return 0;
  const [hours, minutes] = [Number(text.slice(1, 3)), Number(text.slice(3).replace(':', ''))];
  if (hours > 23 || minutes > 59) return undefined;
  return (text.startsWith('-') ? -1 : 1) * (hours * HOUR + minutes * MINUTE);
}

/**
 * When a timer is due: after a duration, at an ISO 8601 date, or at the next match of a five-field cron expression, which
 * alone repeats. Zero, negative or past is at once (semantics 8, 16). `timezone` is for cron and for a date without an
 * offset.
 */
export function dueAt(text: string, now: number, timezone = 'UTC'): Due | { readonly problem: string } {
  const timer = text.trim();
  if (!isTimezone(timezone)) return { problem: unknownTimezone(timezone) };
  const duration = parseDuration(timer);
  if (duration) return { due: Math.max(now, addDuration(now, duration)), repeats: false };
  if (!/^\S+(?:[ \t]+\S+){4}$/.test(timer)) return dueDate(timer, now, timezone);
  const cron = parseCron(timer, timezone);
  if ('problem' in cron) return cron;
  const due = nextMatch(cron, now);
  return due === undefined ? { problem: `'${timer}' has no match after now` } : { due, repeats: true };
}

function dueDate(timer: string, now: number, timezone: string): Due | { readonly problem: string } {
  const date = parseDate(timer, timezone);
  if (date !== undefined) return { due: Math.max(now, date), repeats: false };
  const shown = timer.length > 60 ? `${timer.slice(0, 60)}…` : timer;
  return {
    problem: `'${shown}' is no timer: write a duration (PT2H), a date (2030-01-31T09:00:00Z) or a cron expression (0 9 * * 1-5)`,
  };
}

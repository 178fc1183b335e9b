import { CronTime } from 'cron';
import { instantAt, isTimezone, offsetAt, transitionBetween } from './zone.ts';

/** A cron expression with a next match. */
export interface Cron {
  readonly text: string;
  readonly timezone: string;
  /** Minutes of a day (0 to 1439) in rising order. */
  readonly times: readonly number[];
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  /** 0 is Sunday. */
  readonly weekdays: ReadonlySet<number>;
  /** Day of month and day of week are both restricted: then a day matches by either of them. */
  readonly eitherDay: boolean;
  /** The hour is `*`: matches follow real time where clocks are set forward or back. */
  readonly everyHour: boolean;
}

interface Field {
  readonly name: string;
  readonly low: number;
  readonly high: number;
  /** Names for `low`, `low + 1` and so on. */
  readonly names: readonly string[];
}

const FIELDS: readonly Field[] = [
  { name: 'minute', low: 0, high: 59, names: [] },
  { name: 'hour', low: 0, high: 23, names: [] },
  { name: 'day of month', low: 1, high: 31, names: [] },
  {
    name: 'month',
    low: 1,
    high: 12,
    names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  { name: 'day of week', low: 0, high: 7, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
];

const MAX_LENGTH = 512;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const END = Date.UTC(9999, 0, 1);
/** 29 February is at most eight years away, over a year like 2100. */
const SEARCHED_DAYS = 8 * 366;
/** Of each month, the longest that it gets. */
const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Reads five fields, minute hour day-of-month month day-of-week: numbers, names (`jan`, `mon`), ranges, lists, and steps
 * on `*` or a range; 7 is Sunday, and so is the end of `sat-sun`. No seconds, no `@daily`, no `?`, `L`, `W` or `#`, no
 * reversed range, and no step on a single number, which has a different meaning everywhere. When day of month and day
 * of week are both other than `*`, a day matches by either. An expression that no date ever matches is a problem.
 */
export function parseCron(text: string, timezone = 'UTC'): Cron | { readonly problem: string } {
  if (text.length > MAX_LENGTH) return { problem: `the cron expression is longer than ${MAX_LENGTH} characters` };
  if (!isTimezone(timezone)) return { problem: unknownTimezone(timezone) };
  const shown = text.replace(/\s+/g, ' ').slice(0, 60);
  const written = text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, '').split(/[ \t]+/);
  if (written.length !== FIELDS.length || written[0] === '') {
    const count = written[0] === '' ? 'no fields' : written.length === 1 ? '1 field' : `${written.length} fields`;
    return { problem: `'${shown}' has ${count} instead of five: minute hour day-of-month month day-of-week` };
  }
  const sets = FIELDS.map((field, index) => numbersOf(field, index, written[index] as string));
  const wrong = sets.indexOf(undefined);
  if (wrong >= 0) return { problem: fieldProblem(FIELDS[wrong] as Field, written[wrong] as string) };

  const [minutes, hours, days, months, weekdays] = sets as [number[], number[], number[], number[], number[]];
  const cron: Cron = {
    text,
    timezone,
    times: hours.flatMap((hour) => minutes.map((minute) => hour * 60 + minute)),
    days: new Set(days),
    months: new Set(months),
    weekdays: new Set(weekdays.map((weekday) => weekday % 7)),
    eitherDay: written[2] !== '*' && written[4] !== '*',
    everyHour: written[1]?.startsWith('*') === true && hours.length === 24,
  };
  if (!cron.eitherDay && !hasDate(cron)) return { problem: `'${shown}' never comes: there is no such date` };
  return cron;
}

/**
 * The first match after an instant, in milliseconds; undefined past the year 9999.
 *
 * Where clocks are set forward, a time that does not exist matches right after the gap, once; where they are set back, a
 * time that comes twice matches the first time. With `*` as the hour matches follow real time instead (decisions §6).
 */
export function nextMatch(cron: Cron, after: number): number | undefined {
  if (!(Math.abs(after) < END)) return undefined;
  if (cron.timezone === 'UTC') return nextWall(cron, after + 1);
  return cron.everyHour ? nextInRealTime(cron, after) : nextByTheClock(cron, after);
}

export const unknownTimezone = (timezone: string): string =>
  `'${timezone.slice(0, 60)}' is not a known timezone: use a name like Europe/Berlin or UTC`;

function nextByTheClock(cron: Cron, after: number): number | undefined {
  let wall = nextWall(cron, after + offsetAt(cron.timezone, after) + 1);
  while (wall !== undefined) {
    const instant = instantAt(cron.timezone, wall);
    if (instant > after) return instant;
    wall = nextWall(cron, wall + 1);
  }
  return undefined;
}

/** Goes from one change of the offset to the next: between two of them, clock and real time run alike. */
function nextInRealTime(cron: Cron, after: number): number | undefined {
  let from = after + 1;
  for (;;) {
    const offset = offsetAt(cron.timezone, from);
    const wall = nextWall(cron, from + offset);
    if (wall === undefined) return undefined;
    const instant = wall - offset;
    const soon = Math.min(instant, from + 3 * HOUR);
    const changed = [soon, instant].find((at) => offsetAt(cron.timezone, at) !== offset);
    if (changed === undefined) return instant;
    from = transitionBetween(cron.timezone, from, changed);
  }
}

/** The first minute, from `from` on, whose clock time and date match. */
function nextWall(cron: Cron, from: number): number | undefined {
  const start = Math.ceil(from / MINUTE) * MINUTE;
  const today = Math.floor(start / DAY) * DAY;
  const now = (start - today) / MINUTE;
  for (let day = today; day <= today + SEARCHED_DAYS * DAY; day += DAY) {
    if (!matchesDay(cron, day)) continue;
    const time = day === today ? cron.times.find((one) => one >= now) : cron.times[0];
    if (time !== undefined) return day + time * MINUTE;
  }
  return undefined;
}

function matchesDay(cron: Cron, day: number): boolean {
  const date = new Date(day);
  if (!cron.months.has(date.getUTCMonth() + 1)) return false;
  const byDay = cron.days.has(date.getUTCDate());
  const byWeekday = cron.weekdays.has(date.getUTCDay());
  return cron.eitherDay ? byDay || byWeekday : byDay && byWeekday;
}

/** Whether one of the months has one of the days; each of its dates falls on each day of the week in some year. */
const hasDate = ({ days, months }: Cron): boolean =>
  [...months].some((month) => [...days].some((day) => day <= (MONTH_DAYS[month - 1] as number)));

/** The numbers that a field stands for, in rising order; undefined when it is malformed. */
function numbersOf(field: Field, index: number, written: string): number[] | undefined {
  const numeric = withoutNames(field, written);
  if (numeric === undefined || !/^[\d*,/-]+$/.test(numeric) || !isAccepted(index, numeric)) return undefined;
  const numbers = new Set<number>();
  for (const item of numeric.split(',')) {
    const [range = '', step = '1'] = item.split('/');
    const [low, high = low] = range === '*' ? [field.low, field.high] : range.split('-').map(Number);
    if (item.includes('/') && !/[*-]/.test(range)) return undefined;
    for (let number = low as number; number <= (high as number); number += Number(step)) numbers.add(number);
  }
  return [...numbers].sort((a, b) => a - b);
}

/** Names become numbers; `sun` at the end of a range that begins otherwise is 7. */
function withoutNames(field: Field, written: string): string | undefined {
  const lower = written.toLowerCase();
  const names = lower.match(/[a-z]+/g) ?? [];
  if (names.some((name) => !field.names.includes(name))) return undefined;
  const ended = lower.replace(/(\d|mon|tue|wed|thu|fri|sat)-sun/g, (range, from) =>
    from === '0' ? range : `${from}-7`,
  );
  return ended.replace(/[a-z]+/g, (name) => String(field.low + field.names.indexOf(name)));
}

/** The bounds and forms of a field's numbers are the cron package's to judge, one field at a time. */
function isAccepted(index: number, numeric: string): boolean {
  if (numeric === '*') return true;
  try {
    new CronTime(FIELDS.map((_, other) => (other === index ? numeric : '*')).join(' '), null, 0);
    return true;
  } catch {
    return false;
  }
}

function fieldProblem({ name, low, high, names }: Field, written: string): string {
  const lead = `the ${name} '${written}' is not valid: `;
  if (/^\d+\/\d+$/.test(written)) return `${lead}a step needs a range, as in ${written.replace('/', `-${high}/`)}`;
  if (written === '?') return `${lead}write * for any`;
  const named = names.length > 0 ? ` or ${names[0]} to ${names.at(-1)}` : '';
  return `${lead}it takes ${low} to ${high}${named}, ranges (a-b), lists (a,b) and steps (*/n)`;
}

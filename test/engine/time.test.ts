import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import {
  addDuration,
  type Cron,
  dueAt,
  durationMs,
  nextMatch,
  parseCron,
  parseDate,
  parseDuration,
} from '../../src/engine/time.ts';

interface Row {
  readonly id: string;
  readonly kind: 'next' | 'fires' | 'validity' | 'dst';
  readonly class: 'core' | 'policy';
  readonly expr: string;
  readonly tz: string;
  readonly start: string;
  readonly next: readonly string[];
  readonly at: string;
  readonly fires: boolean;
  readonly expect: string;
}

const DATA = resolve(process.env['WFX_CONFORMANCE_DIR'] ?? '../shared/conformance', 'cron.json');
const MINUTE = 60_000;
const at = (iso: string) => Date.parse(iso);
const iso = (ms: number | undefined) => (ms === undefined ? 'never' : new Date(ms).toISOString().replace('.000Z', 'Z'));

function cron(text: string, timezone?: string): Cron {
  const parsed = parseCron(text, timezone);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed;
}

function matches(text: string, timezone: string, start: string, count: number): string[] {
  const parsed = cron(text, timezone);
  const found: string[] = [];
  for (let from = nextMatch(parsed, at(start)); found.length < count; from = nextMatch(parsed, from ?? Infinity)) {
    found.push(iso(from));
  }
  return found;
}

function problem(text: string, timezone?: string): string {
  const parsed = parseCron(text, timezone);
  return 'problem' in parsed ? parsed.problem : 'no problem';
}

t.test('what cron implementations agree on', { skip: existsSync(DATA) ? false : `no ${DATA}` }, async (t) => {
  const { rows } = JSON.parse(readFileSync(DATA, 'utf8')) as { rows: Row[] };
  const core = rows.filter((row) => row.class === 'core');
  t.ok(core.length > 700, `${core.length} core rows`);
  for (const row of core) {
    const name = `${row.id} ${row.expr} ${row.tz ?? ''} ${row.start ?? ''}`;
    if (row.kind === 'validity') {
      const wanted = row.expect === 'reject' ? /not valid|instead of five/ : /no problem/;
      t.match(problem(row.expr), row.expect.includes('never fires') ? /never comes/ : wanted, name);
    } else if (row.kind === 'fires') {
      t.equal(nextMatch(cron(row.expr, row.tz), at(row.at) - MINUTE) === at(row.at), row.fires, name);
    } else if (row.next.length === 0) {
      t.match(problem(row.expr), /never comes/, name);
    } else {
      t.same(matches(row.expr, row.tz, row.start, row.next.length), row.next, name);
    }
  }
});

t.test('a time in the gap matches right after it, once', async (t) => {
  const newYork = (text: string, count: number) => matches(text, 'America/New_York', '2024-03-10T05:00:00Z', count);
  t.same(newYork('30 2 * * *', 2), ['2024-03-10T07:00:00Z', '2024-03-11T06:30:00Z']);
  t.same(newYork('15,45 2 * * *', 3), ['2024-03-10T07:00:00Z', '2024-03-11T06:15:00Z', '2024-03-11T06:45:00Z']);
  t.same(newYork('0 2,3 * * *', 2), ['2024-03-10T07:00:00Z', '2024-03-11T06:00:00Z'], 'also with a match at its end');
  t.same(newYork('0 */2 * * *', 3), ['2024-03-10T07:00:00Z', '2024-03-10T08:00:00Z', '2024-03-10T10:00:00Z']);
  t.same(
    matches('15 2 * * *', 'Australia/Lord_Howe', '2024-10-05T00:00:00Z', 2),
    ['2024-10-05T15:30:00Z', '2024-10-06T15:15:00Z'],
    'a gap of half an hour',
  );
  t.same(
    matches('0 12 30 12 *', 'Pacific/Apia', '2011-12-01T00:00:00Z', 1),
    ['2011-12-30T10:00:00Z'],
    'a gap of a whole day',
  );
});

t.test('a time that comes twice matches the first time only', async (t) => {
  const after = (start: string) => matches('30 1 * * *', 'America/New_York', start, 1)[0];
  t.equal(after('2024-11-03T05:00:00Z'), '2024-11-03T05:30:00Z', 'before');
  t.equal(after('2024-11-03T05:30:00Z'), '2024-11-04T06:30:00Z', 'at the first');
  t.equal(after('2024-11-03T05:45:00Z'), '2024-11-04T06:30:00Z', 'between the two');
  t.equal(after('2024-11-03T06:15:00Z'), '2024-11-04T06:30:00Z', 'in the repeated hour');
});

t.test('with * as the hour matches follow real time', async (t) => {
  const times = (start: string, count: number) => matches('*/30 * * * *', 'America/New_York', start, count);
  t.same(times('2024-03-10T06:30:00Z', 2), ['2024-03-10T07:00:00Z', '2024-03-10T07:30:00Z']);
  t.same(times('2024-11-03T05:00:00Z', 4), [
    '2024-11-03T05:30:00Z',
    '2024-11-03T06:00:00Z',
    '2024-11-03T06:30:00Z',
    '2024-11-03T07:00:00Z',
  ]);
  t.same(
    matches('45 * 31 3 *', 'Europe/Berlin', '2024-03-30T12:00:00Z', 3),
    ['2024-03-30T23:45:00Z', '2024-03-31T00:45:00Z', '2024-03-31T01:45:00Z'],
    'nothing extra for the hour that does not exist',
  );
});

t.test('any minute that matches is found, and none besides', async (t) => {
  const minute = fc.constantFrom('*', '0', '*/7', '5,35', '10-50/20');
  const hour = fc.constantFrom('*', '*/5', '9-17', '0,23', '2');
  const date = fc.constantFrom('* *', '* 0', '1,15 *', '31 5', '29 *');
  const month = fc.constantFrom('*', '2', '1-6');
  const shown = { start: fc.integer({ min: at('2020-01-01'), max: at('2030-01-01') }) };
  const listed = (text: string, low: number, high: number): Set<number> => {
    const all = text.split(',').flatMap((item) => {
      const [range = '', step = '1'] = item.split('/');
      const [from = 0, to = from] = range === '*' ? [low, high] : range.split('-').map(Number);
      return Array.from({ length: to - from + 1 }, (_, index) => from + index).filter(
        (n) => (n - from) % Number(step) === 0,
      );
    });
    return new Set(all);
  };
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(minute, hour, date, month, shown.start, (minutes, hours, dates, months, start) => {
        const [day = '', weekday = ''] = dates.split(' ');
        const fits = (ms: number) => {
          const d = new Date(ms);
          const byDay = listed(day, 1, 31).has(d.getUTCDate());
          const byWeekday = listed(weekday, 0, 6).has(d.getUTCDay());
          const onDay = day === '*' || weekday === '*' ? byDay && byWeekday : byDay || byWeekday;
          return (
            onDay &&
            listed(months, 1, 12).has(d.getUTCMonth() + 1) &&
            listed(hours, 0, 23).has(d.getUTCHours()) &&
            listed(minutes, 0, 59).has(d.getUTCMinutes())
          );
        };
        const found = nextMatch(cron(`${minutes} ${hours} ${day} ${months} ${weekday}`), start) as number;
        const first = Math.floor(start / MINUTE) * MINUTE + MINUTE;
        if (found < first || found % MINUTE !== 0 || !fits(found)) return false;
        for (let ms = first; ms < Math.min(found, first + 3000 * MINUTE); ms += MINUTE) if (fits(ms)) return false;
        return true;
      }),
      { numRuns: 100 },
    ),
  );
});

t.test('a wrong cron expression names its field and says what it takes', async (t) => {
  for (const [text, message] of [
    ['60 * * * *', /the minute '60' is not valid: it takes 0 to 59, ranges/],
    ['0 25 * * *', /the hour '25' is not valid: it takes 0 to 23/],
    ['* * * mon *', /the month 'mon' is not valid: it takes 1 to 12 or jan to dec/],
    ['* * * * jan', /the day of week 'jan' is not valid: it takes 0 to 7 or sun to sat/],
    ['5/15 * * * *', /a step needs a range, as in 5-59\/15/],
    ['0 0 ? * *', /the day of month '\?' is not valid: write \* for any/],
    ['0 0 * * fri-mon', /the day of week 'fri-mon' is not valid/],
    ['0 0 0 * * *', /has 6 fields instead of five/],
    ['@daily', /has 1 field instead of five/],
    ['0 0 31 2 *', /never comes: there is no such date/],
    ['0'.repeat(1e5), /longer than 512 characters/],
    [`${'0,'.repeat(200)}0 * * * *`, /no problem/],
  ] as const) {
    t.match(problem(text), message, text.slice(0, 20));
  }
  t.match(problem('* * * * *', 'Berlin'), /'Berlin' is not a known timezone/);
  t.match(problem('0 0 29 2 *'), /no problem/, 'a leap day comes');
});

t.test('the policy on what cron implementations disagree about', async (t) => {
  const weekdays = (text: string) => [...cron(`0 0 * * ${text}`).weekdays].sort();
  t.same(weekdays('sat-sun'), [0, 6], 'sun ends a range as 7');
  t.same(weekdays('sun-sun'), [0], 'unless it begins it too');
  t.same(weekdays('*/2'), [0, 2, 4, 6]);
  t.same(
    matches('0 16 */2 * sat', 'UTC', '2023-05-02T00:00:00Z', 3),
    ['2023-05-03T16:00:00Z', '2023-05-05T16:00:00Z', '2023-05-06T16:00:00Z'],
    'only * alone leaves a day field open',
  );
});

t.test('a search for the next match ends', async (t) => {
  t.equal(iso(nextMatch(cron('0 0 29 2 *'), at('2096-03-01T00:00:00Z'))), '2104-02-29T00:00:00Z', 'over the year 2100');
  t.equal(nextMatch(cron('* * * * *'), 8.64e15), undefined, 'the end of time');
  t.equal(nextMatch(cron('* * * * *'), Number.NaN), undefined);
});

t.test('ISO 8601 durations', async (t) => {
  for (const [text, ms] of [
    ['PT2H', 7_200_000],
    ['P1DT30M', 88_200_000],
    ['PT0.2S', 200],
    ['PT0,5S', 500],
    ['P2W', 1_209_600_000],
    ['-PT5S', -5000],
    ['+PT5S', 5000],
    ['PT0S', 0],
    ['-PT0S', 0],
    ['PT1.5H', 5_400_000],
  ] as const) {
    const duration = parseDuration(text);
    t.equal(duration && durationMs(duration), ms, text);
  }
  for (const text of [
    '',
    'P',
    'PT',
    'P1',
    '1H',
    'PT1',
    'P1H',
    'PT1D',
    'P1DT',
    'pt1h',
    'PT-1H',
    'P1.5Y',
    'PT1H ',
    'PTS',
  ]) {
    t.equal(parseDuration(text), undefined, `'${text}'`);
  }
  t.equal(parseDuration(`PT${'1'.repeat(1e5)}S`), undefined, 'a hundred thousand digits');
  t.equal(durationMs(parseDuration('P1M') ?? { months: 0, ms: 0 }), undefined, 'a month has no fixed length');
});

t.test('months and years go by the calendar', async (t) => {
  const added = (start: string, text: string) =>
    iso(addDuration(at(start), parseDuration(text) ?? { months: 0, ms: 0 }));
  t.equal(added('2023-01-31T10:30:00Z', 'P1M'), '2023-02-28T10:30:00Z');
  t.equal(added('2024-01-31T10:30:00Z', 'P1M'), '2024-02-29T10:30:00Z');
  t.equal(added('2024-02-29T00:00:00Z', 'P1Y'), '2025-02-28T00:00:00Z');
  t.equal(added('2024-03-31T00:00:00Z', '-P1M'), '2024-02-29T00:00:00Z');
  t.equal(added('2024-12-15T00:00:00Z', 'P1Y2M3DT4H'), '2026-02-18T04:00:00Z');
  t.equal(added('2024-01-01T00:00:00Z', 'P999999999Y'), '+275760-09-13T00:00:00Z', 'no further than dates go');
  t.equal(added('2024-01-01T00:00:00Z', '-P999999999999D'), '-271821-04-20T00:00:00Z');
});

t.test('ISO 8601 dates', async (t) => {
  for (const [text, expected] of [
    ['2026-11-21', '2026-11-21T00:00:00Z'],
    ['2026-11-21T09:30', '2026-11-21T09:30:00Z'],
    ['2026-11-21T09:30:15.250Z', '2026-11-21T09:30:15.250Z'],
    ['2026-11-21T09:30:15+05:30', '2026-11-21T04:00:15Z'],
    ['2026-11-21T09:30:15-0800', '2026-11-21T17:30:15Z'],
    ['2024-02-29', '2024-02-29T00:00:00Z'],
    ['0099-01-01', '0099-01-01T00:00:00Z'],
  ] as const) {
    t.equal(iso(parseDate(text)), expected, text);
  }
  for (const text of [
    '2023-02-29',
    '2026-13-01',
    '2026-00-10',
    '2026-04-31',
    '2026-11-21T24:00',
    '2026-11-21T09:60',
    '2026-11-21 09:30',
    '2026-11-21T09',
    '2026-1-1',
    '21.11.2026',
    '1700000000',
    'tomorrow',
    '',
    '2026-11-21T09:30:00+24:00',
  ]) {
    t.equal(parseDate(text), undefined, `'${text}'`);
  }
  t.equal(iso(parseDate('2026-07-01T09:00', 'Europe/Berlin')), '2026-07-01T07:00:00Z', 'in a timezone');
  t.equal(iso(parseDate('2026-07-01T09:00Z', 'Europe/Berlin')), '2026-07-01T09:00:00Z', 'unless it has an offset');
});

t.test('a timer is a duration, a date or a cron expression', async (t) => {
  const now = at('2026-11-21T12:00:00Z');
  const due = (text: string, timezone?: string) => dueAt(text, now, timezone);
  const once = (iso: string) => ({ due: at(iso), repeats: false });
  t.same(due('PT2H'), once('2026-11-21T14:00:00Z'));
  t.same(due('2026-12-24'), once('2026-12-24T00:00:00Z'));
  t.same(due('2026-12-24T18:00', 'Europe/Berlin'), once('2026-12-24T17:00:00Z'));
  t.same(due('0 9 * * 1-5', 'Europe/Berlin'), { due: at('2026-11-23T08:00:00Z'), repeats: true });
  t.same(due(' PT1S\n'), once('2026-11-21T12:00:01Z'), 'space around it does not count');
  for (const past of ['PT0S', '-PT1H', '2020-01-01', '-P1M']) t.same(due(past), { due: now, repeats: false }, past);
  for (const [text, message] of [
    ['soon', /'soon' is no timer: write a duration \(PT2H\), a date/],
    ['', /is no timer/],
    ['{delay}', /is no timer/],
    ['0 25 * * *', /the hour '25' is not valid/],
    ['0 0 30 2 *', /never comes/],
    ['x'.repeat(1e5), /^'x{60}…' is no timer/],
  ] as const) {
    t.match(due(text), { problem: message }, text.slice(0, 20));
  }
  t.match(due('PT1H', 'Mars/Olympus'), { problem: /'Mars\/Olympus' is not a known timezone/ });
});

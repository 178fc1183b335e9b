import { isObject, type Json } from '../json.ts';
import type { Template } from '../template.ts';
import { durationMs, parseCron, parseDate, parseDuration } from '../time.ts';
import { isTimezone } from '../zone.ts';
import { type At, type JsonSchema, type Kind, mismatch, shortened } from './kind.ts';
import { isUuid, plain, uuid } from './scalar.ts';
import { isConstant, template } from './template.ts';

/** An ISO 8601 duration, or references that give one when the node is entered. */
export const duration: Kind<Template> = {
  schema: { type: 'string', pattern: '^P|\\{' },
  read(value, at) {
    if (typeof value !== 'string' || value === '') return badDuration(value, at);
    const compiled = template(value, at);
    return isConstant(compiled) && parseDuration(value) === undefined ? badDuration(value, at) : compiled;
  },
};

/** An ISO 8601 duration without references, in milliseconds. */
export const durationConstant: Kind<number> = {
  schema: { type: 'string', pattern: '^P' },
  read(value, at) {
    const parsed = typeof value === 'string' ? parseDuration(value) : undefined;
    const ms = parsed && durationMs(parsed);
    return ms === undefined || ms < 0 ? badDuration(value, at) : ms;
  },
};

const TIMER_KEYS = ['duration', 'date', 'cron'];
const timerText: JsonSchema = { type: 'string', minLength: 1 };

/**
 * When a timer fires: an ISO 8601 duration or date, or a cron expression of five fields; or references that give one. What it
 * is may be said: `{duration: PT1H}`.
 */
export const timer: Kind<Template> = {
  schema: {
    anyOf: [
      timerText,
      ...TIMER_KEYS.map((key) => ({
        type: 'object',
        properties: { [key]: timerText },
        required: [key],
        additionalProperties: false,
      })),
    ],
  },
  read(value, at) {
    if (!isObject(value)) return readTimer(value, at);
    const [key = '', ...more] = Object.keys(value);
    if (more.length > 0 || !TIMER_KEYS.includes(key)) return badTimer(value, at);
    const place = at.key(key);
    return place.broken ? undefined : readTimer(value[key] as Json, place);
  },
};

function readTimer(value: Json, at: At): Template | undefined {
  if (typeof value !== 'string' || value === '') return badTimer(value, at);
  const compiled = template(value, at);
  const written = value.trim();
  if (!isConstant(compiled) || parseDuration(written) !== undefined || parseDate(written) !== undefined)
    return compiled;
  if (written.split(/\s+/u).length < 4) return badTimer(value, at);
  return cronIsGood(written, at) ? compiled : undefined;
}

/** Whether `text` is a cron expression that ever comes true; reports it otherwise. */
function cronIsGood(text: string, at: At): boolean {
  const cron = parseCron(text);
  if (!('problem' in cron)) return true;
  at.error('BAD_CRON', cron.problem, {
    hint: 'five fields: minute hour day-of-month month day-of-week, e.g. "0 9 * * 1-5"',
  });
  return false;
}

/** A cron expression that ever comes true. */
export const cronExpression: Kind<string> = {
  schema: plain.schema,
  read(value, at) {
    const text = plain.read(value, at);
    return text !== undefined && cronIsGood(text, at) ? text : undefined;
  },
};

/** The name of a timezone. */
export const timezone: Kind<string> = {
  schema: plain.schema,
  read(value, at) {
    const name = plain.read(value, at);
    if (name === undefined || isTimezone(name)) return name;
    const hint = 'use an IANA name such as Europe/Berlin, or UTC';
    return at.error('BAD_TIMEZONE', `there is no timezone ${shortened(name)}`, { hint });
  },
};

function badTimer(value: Json, at: At): undefined {
  const expected = 'a duration (PT15M), a date (2030-01-31T09:00:00Z) or a cron expression (0 9 * * 1-5), as text';
  return mismatch(expected, value, at, durationHint(value, at));
}

export function badDuration(value: Json, at: At): undefined {
  return mismatch('an ISO 8601 duration such as PT30S, as text', value, at, durationHint(value, at));
}

const UNITS: Readonly<Record<string, (n: string) => string>> = {
  ms: (n) => `PT${Number(n) / 1000}S`,
  s: (n) => `PT${n}S`,
  m: (n) => `PT${n}M`,
  h: (n) => `PT${n}H`,
  d: (n) => `P${n}D`,
  w: (n) => `P${n}W`,
};

/** The ISO 8601 spelling of `30s`, `5 minutes`, or a bare number of seconds. */
function durationHint(value: Json, at: At): string {
  const written = typeof value === 'string' ? value : at.written;
  const found = /^\s*(\d+(?:\.\d+)?)\s*(ms|[smhdw])?[a-z]*\s*$/iu.exec(written);
  const unit = UNITS[found?.[2]?.toLowerCase() ?? 's'];
  if (found === null || unit === undefined) return 'PT30S is 30 seconds, PT5M 5 minutes, PT2H 2 hours, P1D one day';
  return `write ${unit(found[1] as string)}`;
}

/** The processId of another flow, or references that give one. */
export const processId: Kind<Template> = {
  schema: { anyOf: [uuid.schema, { type: 'string', pattern: '\\{' }] },
  read(value, at) {
    if (typeof value !== 'string' || value === '')
      return mismatch('the processId of a flow, a UUID as text', value, at);
    const compiled = template(value, at);
    if (!isConstant(compiled)) return compiled;
    return isUuid(value) ? template(value.toLowerCase(), at) : notUuid(value, at);
  },
};

function notUuid(value: string, at: At): undefined {
  return mismatch('the processId of a flow, a UUID as text', value, at, "the `id` at the top of that flow's file");
}

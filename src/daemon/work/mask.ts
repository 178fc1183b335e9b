import { isObject, type Json } from '../../engine/json.ts';

export const MASK = '***';
/** Shorter secrets are masked only where they are the whole text: inside text they would hit everything. */
const SHORTEST_INSIDE = 4;
const SHORTEST_BASE64 = 8;
const SHORTEST_LINE = 16;

export interface Mask {
  text(text: string): string;
  /** `value` with every secret in its texts, keys and numbers masked; lists and objects of any depth up to the caller's bound. */
  value(value: Json): Json;
}

/** Replaces secret values by `***`, also in the encodings that HTTP, JSON and base64 give them (decisions §4). */
export function createMask(secrets: readonly string[]): Mask {
  const present = secrets.filter((secret) => secret !== '');
  if (present.length === 0) return { text: (text) => text, value: (value) => value };
  const whole = new Set(present);
  const inside = insidePattern(present);
  const text = (from: string): string => (whole.has(from) ? MASK : from.replace(inside, MASK));
  const value = (from: Json): Json => {
    if (typeof from === 'string') return text(from);
    if (typeof from === 'number') return whole.has(String(from)) ? MASK : from;
    if (Array.isArray(from)) return from.map(value);
    if (!isObject(from)) return from;
    const masked: Record<string, Json> = Object.create(null);
    for (const key of Object.keys(from)) masked[text(key)] = value(from[key] as Json);
    return masked;
  };
  return { text, value };
}

function insidePattern(secrets: readonly string[]): RegExp {
  const needles = new Set(secrets.filter((secret) => secret.length >= SHORTEST_INSIDE).flatMap(forms));
  // The longest first, so that a form is not torn by a shorter one inside it.
  const ordered = [...needles].sort((a, b) => b.length - a.length);
  const escaped = ordered.map((needle) => needle.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
  return escaped.length === 0 ? /(?!)/g : new RegExp(escaped.join('|'), 'g');
}

function forms(secret: string): string[] {
  const wellFormed = Buffer.from(secret).toString();
  const percent = encodeURIComponent(wellFormed);
  const lowerPercent = percent.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
  const form = new URLSearchParams([['', wellFormed]]).toString().slice(1);
  const inJson = JSON.stringify(secret).slice(1, -1);
  const lines = secret.split(/\r?\n/).filter((line) => line.length >= SHORTEST_LINE);
  return [secret, percent, lowerPercent, form, inJson, ...lines, ...base64Forms(secret)];
}

/**
 * The base64 text of a secret by itself, and the part of it that stays the same when one or two bytes (or any number
 * with that remainder of 3) come before it, as in `Basic` credentials.
 */
function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const found = [bytes.toString('base64')];
  for (const before of [0, 1, 2]) {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    const firstOwn = Math.ceil((before * 8) / 6);
    const lastOwn = Math.floor((padded.length * 8) / 6);
    found.push(padded.toString('base64').slice(firstOwn, lastOwn));
  }
  const standard = found.filter((text) => text.length >= SHORTEST_BASE64);
  return standard.flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')]);
}

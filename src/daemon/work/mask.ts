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

/** Replaces secret values by `***`, also in the encodings that URLs, JSON, HTML, base64 and hexadecimal give them (decisions §4). */
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

/** In any case: host names and methods change it, and escapes are written in either. */
function insidePattern(secrets: readonly string[]): RegExp {
  const long = secrets.filter((secret) => secret.length >= SHORTEST_INSIDE);
  const needles = new Set([...long.flatMap(forms).map(literal), ...long.map(inUrl)]);
  // The longest first, so that a form is not torn by a shorter one inside it.
  const ordered = [...needles].sort((a, b) => b.length - a.length);
  return ordered.length === 0 ? /(?!)/g : new RegExp(ordered.join('|'), 'gi');
}

const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** A pattern: which characters are escaped differs with the place in a URL, and with who writes it. */
const inUrl = (secret: string): string =>
  [...wellFormed(secret)]
    .map((character) => {
      if (/[A-Za-z0-9]/.test(character)) return character;
      const escaped = Buffer.from(character).toString('hex').replace(/../g, '%$&');
      return `(?:${literal(character)}|${escaped}${character === ' ' ? '|\\+' : ''})`;
    })
    .join('');

const wellFormed = (secret: string): string => Buffer.from(secret).toString();

function forms(secret: string): string[] {
  const lines = secret.split(/\r?\n/).filter((line) => line.length >= SHORTEST_LINE);
  const hex = Buffer.from(secret).toString('hex');
  return [secret, ...lines, ...jsonForms(secret), ...htmlForms(secret), ...base64Forms(secret), hex];
}

/** As writers of JSON escape it that keep to ASCII, to what may stand in HTML, or to neither; with and without `\/`. */
function jsonForms(secret: string): string[] {
  const plain = JSON.stringify(secret).slice(1, -1);
  const forms = [plain, ...[/[^\x00-\x7f]/g, /[^\x00-\x7f]|[<>&']/g].map((those) => plain.replace(those, codeUnit))];
  return forms.flatMap((form) => [form, form.replaceAll('/', '\\/')]);
}

const codeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

const htmlForms = (secret: string): string[] =>
  HTML_QUOTES.map((quotes) => secret.replace(/[&<>"']/g, entityIn(quotes)));

/** How writers of HTML escape the two quotes. */
const HTML_QUOTES: readonly Readonly<Record<string, string>>[] = [
  {},
  { '"': '&quot;' },
  { '"': '&quot;', "'": '&#39;' },
  { '"': '&quot;', "'": '&#x27;' },
  { '"': '&#34;', "'": '&#39;' },
];
const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

const entityIn =
  (quotes: Readonly<Record<string, string>>) =>
  (character: string): string =>
    ENTITIES[character] ?? quotes[character] ?? character;

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

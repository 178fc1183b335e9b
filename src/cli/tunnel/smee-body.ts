import { isObject, type Json } from '../../engine/json.ts';

/** What a smee server passes on of a request: its headers, and beside them `body`, `query` and `timestamp`. */
export type SmeeEvent = Readonly<Record<string, Json>>;

/** The body of a request, as far as a smee server keeps it. */
export interface Restored {
  readonly body: Buffer;
  /** These are the bytes that were sent, so that a signature over them holds. */
  readonly exact: boolean;
}

/** Lines as services write JSON; JSON.stringify with these indents, and `json.dumps` of Python. */
const LAYOUTS: readonly ((value: Json) => string)[] = [
  (value) => JSON.stringify(value),
  (value) => JSON.stringify(value, null, 2),
  (value) => JSON.stringify(value, null, 1).replace(/,\n */g, ', ').replace(/\n */g, ''),
  (value) => JSON.stringify(value, null, 4),
];
const unicode = (text: string): string => `\\u${text.charCodeAt(0).toString(16).padStart(4, '0')}`;
const slashes = (text: string): string => text.replaceAll('/', '\\/');
const ascii = (text: string): string => text.replace(/[\u0080-\uffff]/g, unicode);
const html = (text: string): string => text.replace(/[<>&\u2028\u2029]/g, unicode);
/** How they write characters for which JSON leaves a choice. */
const ESCAPES: readonly ((text: string) => string)[] = [
  (text) => text,
  html,
  ascii,
  slashes,
  (text) => ascii(slashes(text)),
  (text) => ascii(html(text)),
  (text) => html(slashes(text)),
];

/**
 * The body that was sent. Some servers pass its bytes on (`bodyB` in base64, `rawbody` as text). The others pass on what they
 * read in it, which is written again in each of the usual ways until one has the length that its sender declared: a signature
 * is over bytes, and not over what they mean.
 */
export function restoredBody(event: SmeeEvent): Restored {
  const { bodyB, rawbody, body = null } = event;
  if (typeof bodyB === 'string') return { body: Buffer.from(bodyB, 'base64'), exact: true };
  if (typeof rawbody === 'string') return { body: Buffer.from(rawbody), exact: true };
  const declared = Number(event['content-length'] ?? Number.NaN);
  const ways = waysToWrite(event['content-type'], body);
  let first: string | undefined;
  for (const text of ways) {
    first ??= text;
    if (Buffer.byteLength(text) === declared) return { body: Buffer.from(text), exact: true };
  }
  return { body: Buffer.from(first ?? ''), exact: false };
}

function* waysToWrite(contentType: Json | undefined, body: Json): Generator<string> {
  if (typeof contentType === 'string' && /^application\/x-www-form-urlencoded\b/i.test(contentType)) {
    const form = formOf(body);
    yield form;
    yield form.replaceAll('+', '%20');
    return;
  }
  for (const layout of LAYOUTS) {
    const text = layout(body);
    for (const escaped of ESCAPES) yield escaped(text);
    yield `${text}\n`;
  }
}

function formOf(body: Json): string {
  const form = new URLSearchParams();
  for (const [name, value] of isObject(body) ? Object.entries(body) : [])
    for (const one of Array.isArray(value) ? value : [value])
      form.append(name, typeof one === 'string' ? one : JSON.stringify(one));
  return form.toString();
}

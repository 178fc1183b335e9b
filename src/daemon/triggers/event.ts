import type { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { isObject, type Json, type JsonObject, member } from '../../engine/json.ts';
import { parseJson } from '../http/json.ts';
import type { Headers, Provider } from './signatures.ts';

/** Where a sender tells what an event is; the paths matter to CUSTOM alone. */
export interface EventSource {
  readonly provider: Provider;
  /** Dotted, into the payload; or `header:NAME`. Default: `type`. */
  readonly eventTypePath?: string;
  /** The same; none: deliveries of it are never taken for repeats. */
  readonly eventIdPath?: string;
}

/** What a request tells, in one form for all senders. */
export interface WebhookEvent {
  /** JSON as it is, forms as objects, text as text; null for anything else. */
  readonly payload: Json;
  /** Empty when the sender names none. */
  readonly type: string;
  /** More specific names by which a filter may mean it. */
  readonly aliases: readonly string[];
  /** The same for each delivery of the same event. */
  readonly id: string | undefined;
  /** ISO 8601: when it happened, where the sender says so. */
  readonly timestamp: string | undefined;
  readonly traceId: string | undefined;
}

/** A body that is not what its Content-Type says. */
export class UnreadableBody extends Error {
  override readonly name = 'UnreadableBody';
}

const MAX_NAME = 200;

/** UnreadableBody for JSON that is none, or that no flow could hold. */
export function readEvent(source: EventSource, headers: Headers, body: Buffer): WebhookEvent {
  const payload = payloadOf(headers['content-type'] ?? '', body);
  const { type, aliases = [], id, at } = READERS[source.provider](new Told(payload, headers, body), source);
  return {
    payload,
    type: (type ?? '').slice(0, MAX_NAME),
    aliases,
    id: id === undefined || id === '' ? undefined : keptId(id),
    timestamp: timestampOf(at),
    traceId: traceIn(headers),
  };
}

/** Ids that are too long to be kept stay different. */
const keptId = (id: string): string =>
  id.length <= MAX_NAME ? id : `sha256:${createHash('sha256').update(id).digest('hex')}`;

/** Whether a trigger's filter means the event; none means every event, and a `*` at the end means any rest. */
export function isMeant(
  filter: string | undefined,
  { type, aliases }: Pick<WebhookEvent, 'type' | 'aliases'>,
): boolean {
  if (filter === undefined || filter === '') return true;
  const names = [type, ...aliases];
  return filter.endsWith('*') ? names.some((name) => name.startsWith(filter.slice(0, -1))) : names.includes(filter);
}

function payloadOf(contentType: string, body: Buffer): Json {
  const [kind = ''] = contentType.toLowerCase().split(';', 1);
  const mime = kind.trim();
  if (/^(application|text)\/([\w.-]+\+)?json$/.test(mime)) return body.length === 0 ? null : jsonOf(body);
  const text = textOf(body, contentType);
  if (text === undefined || text === '') return null;
  if (mime === 'application/x-www-form-urlencoded') return formOf(text);
  if (mime === '') return jsonIn(text) ?? text;
  return /^text\/|[/+]xml$/.test(mime) ? text : null;
}

function jsonOf(body: Buffer): Json {
  const text = textOf(body, '');
  if (text === undefined) throw new UnreadableBody('the body is sent as JSON, but it is not UTF-8');
  try {
    return parseJson(text);
  } catch (error) {
    const { message } = error as Error;
    throw new UnreadableBody(`the body is sent as JSON, but cannot be read: ${message.replace(/\.$/, '')}`);
  }
}

function jsonIn(text: string): Json | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Undefined for bytes that are no text in the charset that is named, by default UTF-8. */
function textOf(body: Buffer, contentType: string): string | undefined {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset, { fatal: true }).decode(body);
  } catch {
    return undefined;
  }
}

/** The fields of a form; JSON in a field `payload`, as GitHub and Slack send it, is the payload itself. */
function formOf(text: string): Json {
  const fields: Record<string, Json> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    const before = fields[name] as string | string[] | undefined;
    if (Array.isArray(before)) before.push(value);
    else fields[name] = before === undefined ? value : [before, value];
  }
  const { payload } = fields;
  const inner = typeof payload === 'string' ? jsonIn(payload) : undefined;
  return isObject(inner) ? inner : fields;
}

/** Looks into payload and headers. */
class Told {
  readonly #payload: Json;
  readonly #headers: Headers;
  readonly #body: Buffer;
  constructor(payload: Json, headers: Headers, body: Buffer) {
    this.#payload = payload;
    this.#headers = headers;
    this.#body = body;
  }

  header(name: string): string | undefined {
    return this.#headers[name];
  }

  /** The text or number at a dotted path. */
  at(path: string): string | undefined {
    const value = valueAt(this.#payload, path);
    return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined;
  }

  /** At a path as registrations give it. */
  found(path: string): string | undefined {
    return path.startsWith('header:') ? this.header(path.slice(7).trim().toLowerCase()) : this.at(path);
  }

  /** The same with every digit: the payload holds whole numbers beyond 2^53 rounded, and two ids would be one. */
  foundExactly(path: string): string | undefined {
    const value = valueAt(this.#payload, path);
    if (path.startsWith('header:') || typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER)
      return this.found(path);
    const exact = valueAt(jsonIn(withTextForLongNumbers(textOf(this.#body, '') ?? '')) ?? null, path);
    return typeof exact === 'string' ? exact : undefined;
  }
}

function valueAt(payload: Json, path: string): Json | undefined {
  let value: Json | undefined = payload;
  for (const step of path.split('.')) value = value === undefined ? undefined : member(value, step);
  return value;
}

/** A form around the JSON may hold quotes that nothing closes: the pattern reads each character one way only. */
const withTextForLongNumbers = (json: string): string =>
  json.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g, (token) =>
    /^-?\d{16,}$/.test(token) ? `"${token}"` : token,
  );

interface Read {
  readonly type: string | undefined;
  readonly aliases?: readonly string[];
  readonly id: string | undefined;
  /** Seconds since the epoch, or a date. */
  readonly at: string | undefined;
}

const READERS: Readonly<Record<Provider, (told: Told, source: EventSource) => Read>> = {
  GITHUB(told) {
    const type = told.header('x-github-event');
    const action = told.at('action');
    const aliases = type === undefined || action === undefined ? [] : [`${type}.${action}`];
    return { type, aliases, id: told.header('x-github-delivery'), at: undefined };
  },
  STRIPE: (told) => ({ type: told.at('type'), id: told.at('id'), at: told.at('created') }),
  GITLAB(told) {
    const kind = told.at('object_kind') ?? told.at('event_name');
    const id = told.header('idempotency-key') ?? told.header('x-gitlab-event-uuid');
    return { type: told.header('x-gitlab-event'), aliases: kind === undefined ? [] : [kind], id, at: undefined };
  },
  SLACK(told) {
    const type = told.at('event.type') ?? told.at('type') ?? told.at('command');
    const at = told.at('event_time') ?? told.header('x-slack-request-timestamp');
    return { type, id: told.at('event_id') ?? told.at('trigger_id'), at };
  },
  SHOPIFY: (told) => ({
    type: told.header('x-shopify-topic'),
    id: told.header('x-shopify-webhook-id') ?? told.header('x-shopify-event-id'),
    at: told.header('x-shopify-triggered-at'),
  }),
  STANDARD: (told) => ({
    type: told.at('type') ?? told.at('eventType'),
    id: told.header('webhook-id') ?? told.header('svix-id'),
    at: told.at('timestamp') ?? told.header('webhook-timestamp') ?? told.header('svix-timestamp'),
  }),
  CUSTOM: (told, { eventTypePath = 'type', eventIdPath }) => ({
    type: told.found(eventTypePath),
    id: eventIdPath === undefined ? undefined : told.foundExactly(eventIdPath),
    at: told.at('timestamp'),
  }),
};

function timestampOf(at: string | undefined): string | undefined {
  if (at === undefined) return undefined;
  const date = new Date(/^\d{1,12}$/.test(at) ? Number(at) * 1000 : /^\d{13,15}$/.test(at) ? Number(at) : at);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** The id of a W3C trace, or of the request as a proxy or the sender named it. */
function traceIn(headers: Headers): string | undefined {
  const trace = /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(headers['traceparent'] ?? '')?.[1];
  return (trace ?? headers['x-request-id'])?.slice(0, MAX_NAME);
}

/** The text that Slack wants back when an address is entered; undefined for anything else. */
export function slackChallenge({ provider }: EventSource, { payload }: WebhookEvent): string | undefined {
  if (provider !== 'SLACK' || !isObject(payload) || payload['type'] !== 'url_verification') return undefined;
  const challenge = (payload as JsonObject)['challenge'];
  return typeof challenge === 'string' ? challenge : undefined;
}

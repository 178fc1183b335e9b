import { validateHeaderName } from 'node:http';
import { isObject, type Json, type JsonObject } from '../../engine/json.ts';
import { type ExecutorContext, WorkError } from './executor.ts';

/** A request as it goes out: header names in lower case. */
export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: ReadonlyMap<string, string | readonly string[]>;
  readonly body?: Buffer;
}

/** What the connection's framing owns; a flow that set them could smuggle a second request. */
const FRAMING = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const UNSUPPORTED_METHODS = new Set(['CONNECT', 'TRACE']);

/**
 * Builds the request of a node's `request` property: `{method, url, headers?, query?, body?}`.
 * `query` is added to the URL; a list gives its name several times, null is left out. Objects and lists as a body go out
 * as JSON, or as form fields when the content type says `application/x-www-form-urlencoded`; text goes out as it is.
 * @throws WorkError HTTP_BAD_URL, HTTP_BAD_METHOD, HTTP_BAD_HEADER, each naming the node.
 */
export function requestOf(input: JsonObject, context: ExecutorContext): HttpRequest {
  const { nodeId, idempotencyKey } = context;
  const url = urlOf(input['url'], context);
  if (isObject(input['query'])) for (const [name, value] of pairs(input['query'])) url.searchParams.append(name, value);
  const headers = headersOf(input['headers'], nodeId);
  addCredentials(headers, url);
  const body = bodyOf(input['body'], headers);
  const defaults = {
    accept: '*/*',
    'accept-encoding': 'gzip, deflate, br',
    'user-agent': 'wfx',
    'idempotency-key': idempotencyKey,
  };
  for (const [name, value] of Object.entries(defaults)) if (!headers.has(name)) headers.set(name, value);
  return { method: methodOf(input['method'], nodeId), url, headers, ...(body && { body }) };
}

/** A URL for messages: without credentials, and without the query, where tokens often are. */
export function shown(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}${url.search === '' ? '' : '?…'}`;
}

type UrlContext = Pick<ExecutorContext, 'nodeId' | 'masked'>;

/** `text`, which may be relative to `base`, as an http or https URL. */
export function urlOf(text: Json | undefined, { nodeId, masked }: UrlContext, base?: URL): URL {
  const url = typeof text === 'string' ? parsed(text, base) : undefined;
  if (url === undefined)
    throw new WorkError(
      'HTTP_BAD_URL',
      `node '${nodeId}': '${clipped(masked(asText(text ?? '')))}' is no URL; write it like https://example.com/path`,
    );
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new WorkError(
      'HTTP_BAD_URL',
      `node '${nodeId}': a URL must begin with http:// or https://, not ${url.protocol}`,
    );
  return url;
}

function parsed(text: string, base: URL | undefined): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

const clipped = (text: string): string => text.split('?')[0]?.slice(0, 200) ?? '';

function methodOf(value: Json | undefined, nodeId: string): string {
  const method = typeof value === 'string' ? value.toUpperCase() : 'GET';
  if (/^[A-Z][A-Z-]{0,30}$/.test(method) && !UNSUPPORTED_METHODS.has(method)) return method;
  throw new WorkError(
    'HTTP_BAD_METHOD',
    `node '${nodeId}': '${method.slice(0, 40)}' is no HTTP method that can be used here`,
  );
}

function headersOf(value: Json | undefined, nodeId: string): Map<string, string | string[]> {
  const headers = new Map<string, string | string[]>();
  if (!isObject(value)) return headers;
  for (const [given, content] of Object.entries(value)) {
    if (content === null) continue;
    const name = given.toLowerCase();
    if (!isHeaderName(name)) throw badHeader(nodeId, given, 'is no header name');
    if (FRAMING.has(name)) throw badHeader(nodeId, given, 'is set by wfx itself; leave it out');
    const texts = Array.isArray(content) ? content.map(asText) : [asText(content)];
    if (texts.some((text) => /[^\t\x20-\x7e\x80-\xff]/.test(text)))
      throw badHeader(nodeId, given, 'holds a line break or another character that headers cannot carry');
    headers.set(name, texts.length === 1 ? (texts[0] as string) : texts);
  }
  return headers;
}

function badHeader(nodeId: string, name: string, problem: string): WorkError {
  return new WorkError('HTTP_BAD_HEADER', `node '${nodeId}': header ${JSON.stringify(name.slice(0, 100))} ${problem}`);
}

function isHeaderName(name: string): boolean {
  try {
    validateHeaderName(name);
    return true;
  } catch {
    return false;
  }
}

/** Moves `user:password@` of the URL into the header, so that the URL can be shown and compared without it. */
function addCredentials(headers: Map<string, string | string[]>, url: URL): void {
  if (url.username === '' && url.password === '') return;
  const credentials = `${decoded(url.username)}:${decoded(url.password)}`;
  if (!headers.has('authorization'))
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  url.username = '';
  url.password = '';
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function bodyOf(body: Json | undefined, headers: Map<string, string | string[]>): Buffer | undefined {
  if (body === undefined || body === null) return undefined;
  const type = String(headers.get('content-type') ?? '');
  if (typeof body === 'string') {
    if (type === '') headers.set('content-type', 'text/plain; charset=utf-8');
    return Buffer.from(body);
  }
  if (isObject(body) && type.toLowerCase().startsWith('application/x-www-form-urlencoded'))
    return Buffer.from(new URLSearchParams(pairs(body)).toString());
  if (type === '') headers.set('content-type', 'application/json');
  return Buffer.from(JSON.stringify(body));
}

function pairs(object: JsonObject): [string, string][] {
  return Object.entries(object).flatMap(([name, value]) =>
    [value]
      .flat()
      .filter((each) => each !== null)
      .map((each): [string, string] => [name, asText(each as Json)]),
  );
}

const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

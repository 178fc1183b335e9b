import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Json } from '../../engine/json.ts';
import { type AddressPolicy, createAddressPolicy } from './addresses.ts';
import { type ExecutorContext, type Service, WorkError, type WorkSettings } from './executor.ts';
import { contentOf, excerpt, resultOf } from './http-content.ts';
import { type HttpRequest, requestOf, shown, urlOf } from './http-request.ts';

const MAX_REDIRECTS = 5;
/** Safety net for servers that never answer; flows set `timeout`. */
const SILENCE_MS = 5 * 60_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** The headers that follow a redirect to another origin: all others may be credentials. */
const PUBLIC_HEADERS = /^(accept(-.*)?|content-(type|language)|user-agent|idempotency-key)$/;

interface Connections {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
  readonly addresses: AddressPolicy;
}

/**
 * `service: http`. The value is `{status, headers, body}`, header names in lower case; see `resultOf` for the body.
 * Up to 5 redirects are followed as browsers do: 303, and a POST's 301 and 302, go on as GET without a body. To another
 * origin only harmless headers go along.
 * Errors: `HTTP_<status>` from 400 on; HTTP_UNREACHABLE, HTTP_TIMEOUT, HTTP_BAD_RESPONSE, HTTP_RESPONSE_TOO_LARGE,
 * HTTP_TOO_MANY_REDIRECTS, HTTP_ADDRESS_REFUSED (see addresses.ts), and those of `requestOf`.
 */
export function createHttp(settings: WorkSettings): Service {
  const connections: Connections = {
    http: new HttpAgent({ keepAlive: true }),
    https: new HttpsAgent({ keepAlive: true }),
    addresses: createAddressPolicy(settings.httpDeny ?? []),
  };
  return {
    execute: (input, context) => call(requestOf(input, context), connections, context),
    async close() {
      connections.http.destroy();
      connections.https.destroy();
    },
  };
}

async function call(first: HttpRequest, connections: Connections, context: ExecutorContext): Promise<Json> {
  let request = first;
  for (let redirects = 0; ; redirects += 1) {
    const response = await send(request, connections, context);
    const status = response.statusCode ?? 0;
    const location = response.headers.location;
    if (!REDIRECTS.has(status) || location === undefined) return finish(request, response, context);
    response.destroy();
    if (redirects === MAX_REDIRECTS)
      throw new WorkError(
        'HTTP_TOO_MANY_REDIRECTS',
        `${first.method} ${shown(first.url)} was redirected more than ${MAX_REDIRECTS} times`,
      );
    request = redirected(request, status, urlOf(location, context, request.url));
  }
}

function redirected(request: HttpRequest, status: number, url: URL): HttpRequest {
  url.username = '';
  url.password = '';
  const { method, body } = request;
  const asGet = (status === 303 && method !== 'HEAD') || (status <= 302 && method === 'POST');
  const kept = [...request.headers].filter(
    ([name]) =>
      (url.origin === request.url.origin || PUBLIC_HEADERS.test(name)) && !(asGet && name.startsWith('content-')),
  );
  const headers = new Map(kept);
  return asGet ? { method: 'GET', url, headers } : { method, url, headers, ...(body && { body }) };
}

/** Resolves with the answer once its head is there. */
async function send(
  request: HttpRequest,
  connections: Connections,
  context: ExecutorContext,
): Promise<IncomingMessage> {
  connections.addresses.check(request.url.hostname);
  try {
    return await attempt(request, connections, context.signal, true);
  } catch (error) {
    throw failure(request, error);
  }
}

function attempt(
  request: HttpRequest,
  connections: Connections,
  signal: AbortSignal,
  keepAlive: boolean,
): Promise<IncomingMessage> {
  const secure = request.url.protocol === 'https:';
  const options: RequestOptions = {
    method: request.method,
    headers: headersFor(request),
    agent: keepAlive && (secure ? connections.https : connections.http),
    lookup: connections.addresses.lookup,
    timeout: SILENCE_MS,
    signal,
  };
  return new Promise((resolve, reject) => {
    const outgoing = (secure ? httpsRequest : httpRequest)(request.url, options, resolve);
    outgoing.on('timeout', () =>
      outgoing.destroy(
        new WorkError('HTTP_TIMEOUT', `${name(request)} sent nothing for ${SILENCE_MS / 60_000} minutes`),
      ),
    );
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      // A kept connection may be closed by the server just when it is used again: that says nothing about the server.
      const stale = outgoing.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      if (stale && !signal.aborted) resolve(attempt(request, connections, signal, false));
      else reject(error);
    });
    outgoing.end(request.body);
  });
}

function headersFor({ headers, body, method }: HttpRequest): Record<string, string | string[]> {
  const result: Record<string, string | string[]> = Object.create(null);
  for (const [key, value] of headers) result[key] = typeof value === 'string' ? value : [...value];
  if (body || (method !== 'GET' && method !== 'HEAD')) result['content-length'] = String(body?.length ?? 0);
  return result;
}

async function finish(request: HttpRequest, response: IncomingMessage, context: ExecutorContext): Promise<Json> {
  const status = response.statusCode ?? 0;
  try {
    if (status < 400) return resultOf(response, await contentOf(response), name(request), context.log);
    const why = await excerpt(response, context.masked);
    const answered = `${name(request)} answered ${status} ${response.statusMessage ?? ''}`.trim();
    throw new WorkError(`HTTP_${status}`, why === '' ? answered : `${answered}: ${why}`);
  } catch (error) {
    throw failure(request, error);
  }
}

const name = (request: HttpRequest): string => `${request.method} ${shown(request.url)}`;

const REASONS = new Map([
  ['ECONNREFUSED', 'the connection was refused; is the server running?'],
  ['ENOTFOUND', 'the host name is unknown'],
  ['EAI_AGAIN', 'the host name could not be looked up; is there a network?'],
  ['ECONNRESET', 'the connection broke'],
  ['EPIPE', 'the connection broke'],
  ['ETIMEDOUT', 'the connection timed out'],
  ['EHOSTUNREACH', 'there is no way to the host'],
  ['ENETUNREACH', 'there is no way to the network'],
]);

function failure(request: HttpRequest, error: unknown): Error {
  if (error instanceof WorkError || !(error instanceof Error)) return error as Error;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (
    code.startsWith('HPE_') ||
    code.startsWith('Z_') ||
    code.startsWith('ERR_BROTLI') ||
    code.startsWith('ERR_PADDING')
  )
    return new WorkError('HTTP_BAD_RESPONSE', `${name(request)}: the answer can't be read (${error.message})`);
  return new WorkError('HTTP_UNREACHABLE', `${name(request)}: ${REASONS.get(code) ?? (error.message || code)}`);
}

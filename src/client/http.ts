import { Agent, type ClientRequest, type IncomingMessage, type RequestOptions, request } from 'node:http';
import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import type { PeerCertificate } from 'node:tls';
import { ApiError, UnreachableError, unreachable } from './errors.ts';

/** Where a daemon is and who asks. */
export interface Target {
  /** `http://host:port`, possibly with a path that goes before every endpoint's. */
  readonly url: string;
  readonly apiKey?: string | undefined;
  /** A bearer token, instead of a key. */
  readonly token?: string | undefined;
  /** The certificate (PEM) that a local daemon has, and a name that it is for: it need not be known to anybody else. */
  readonly tls?: { readonly name: string; readonly certificate: string } | undefined;
}

export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** A stream is passed on as it comes; its length, where it is known, is among the headers. */
  readonly body?: Buffer | string | Readable | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Until the answer's headers are there. */
  readonly timeoutMs?: number;
}

const ANSWER_LIMIT = 64 * 1024 * 1024;
const agent = new Agent({ keepAlive: true });

/**
 * One request over node:http (the global fetch costs a command 160 ms); resolves when the headers of the answer are
 * there, whatever its status. Rejects with UnreachableError, or as `signal` aborts.
 */
export async function exchange(target: Target, { timeoutMs = 30_000, ...ask }: Exchange): Promise<IncomingMessage> {
  const url = addressOf(target, ask);
  const secure = url.protocol === 'https:' ? await secured(target) : undefined;
  return new Promise((resolve, reject) => {
    const sent = (secure?.request ?? request)(url, { ...optionsOf(target, ask), ...secure?.options }, (answer) => {
      clearTimeout(timer);
      resolve(answer);
    });
    const timer = setTimeout(
      () => sent.destroy(new UnreachableError(target.url, 'no answer in time', false)),
      timeoutMs,
    );
    sent.on('error', (error) => {
      clearTimeout(timer);
      reject(unreachable(target.url, error));
    });
    if (ask.body instanceof Readable) passOn(ask.body, sent);
    else sent.end(ask.body);
  });
}

/** What is cut off on the way in is cut off on the way out; an answer that comes before the body's end is the last word. */
function passOn(body: Readable, sent: ClientRequest): void {
  body.pipe(sent);
  body.once('close', () => body.readableEnded || sent.destroy());
  sent.once('response', (answer) => answer.once('end', () => sent.writableFinished || sent.destroy()));
  sent.once('close', () => body.unpipe(sent).resume());
}

function addressOf(target: Target, ask: Exchange): URL {
  const base = new URL(target.url);
  const url = new URL(base.pathname.replace(/\/$/, '') + ask.path, base);
  for (const [name, value] of Object.entries(ask.query ?? {}))
    if (value !== undefined) url.searchParams.set(name, String(value));
  return url;
}

function optionsOf(target: Target, ask: Exchange): RequestOptions {
  const { apiKey, token } = target;
  const key = apiKey === undefined ? {} : { 'x-api-key': apiKey };
  const bearer = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const isWhole = ask.body !== undefined && !(ask.body instanceof Readable);
  const length = isWhole ? { 'content-length': Buffer.byteLength(ask.body as Buffer | string) } : {};
  return {
    method: ask.method,
    headers: { accept: 'application/json', ...key, ...bearer, ...length, ...ask.headers },
    agent,
    ...(ask.signal === undefined ? {} : { signal: ask.signal }),
  };
}

/** The whole body, bounded. */
export async function bodyOf(answer: IncomingMessage, url: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of answer as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > ANSWER_LIMIT)
        throw new ApiError(answer.statusCode ?? 0, unexpected(`an answer over ${ANSWER_LIMIT} bytes`));
      parts.push(part);
    }
  } catch (error) {
    throw unreachable(url, error as NodeJS.ErrnoException);
  }
  return Buffer.concat(parts);
}

/** Resolves with an answer of the 2xx kind; any other becomes an ApiError made from its body. */
export async function accepted(answer: IncomingMessage, url: string): Promise<IncomingMessage> {
  const status = answer.statusCode ?? 0;
  if (status >= 200 && status < 300) return answer;
  throw new ApiError(status, errorBody(await bodyOf(answer, url), status, url));
}

/** The answer's body as JSON; an answer without a body gives undefined. */
export async function jsonOf(answer: IncomingMessage, url: string): Promise<unknown> {
  const text = (await bodyOf(answer, url)).toString('utf8');
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError(
      answer.statusCode ?? 0,
      unexpected(`what answers at ${url} is no wfx daemon: its answer is not JSON`),
    );
  }
}

type ErrorFields = ConstructorParameters<typeof ApiError>[1];

function errorBody(body: Buffer, status: number, url: string): ErrorFields {
  try {
    const value = JSON.parse(body.toString('utf8'));
    if (typeof value?.error === 'string' && typeof value.message === 'string') return value;
  } catch {
    // Said below.
  }
  return unexpected(`what answers at ${url} is no wfx daemon, or a proxy stands before it: status ${status}`);
}

const unexpected = (message: string): ErrorFields => ({ error: 'UNEXPECTED_ANSWER', message });

let secureAgent: import('node:https').Agent | undefined;

/** HTTPS, which is loaded only where it is spoken. */
async function secured({ tls }: Target) {
  const https = await import('node:https');
  secureAgent ??= new https.Agent({ keepAlive: true });
  return { request: https.request, options: { agent: secureAgent, ...(tls && (await trusting(tls))) } };
}

/** Trusts the one certificate beside those that the system trusts, and checks it by the name that it has. */
async function trusting({ name, certificate }: NonNullable<Target['tls']>) {
  const { checkServerIdentity, rootCertificates } = await import('node:tls');
  return {
    ca: [...rootCertificates, certificate],
    ...(isIP(name) === 0 && { servername: name }),
    checkServerIdentity: (_host: string, peer: PeerCertificate) => checkServerIdentity(name, peer),
  };
}

/** Lets go of idle connections at once. */
export function closeConnections(): void {
  agent.destroy();
  secureAgent?.destroy();
}

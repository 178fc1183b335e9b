import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Client, UnreachableError } from '../../client/index.ts';

const ADDRESS = /^\/webhook\/receive\/[\w-]{1,128}$/;
const MAX_CONNECTIONS = 512;
const REQUEST_MS = 30_000;
const RETRY_AFTER_S = '2';
const LINGER_MS = 5000;

/** What concerns one connection alone (RFC 9110, section 7.6.1), and the name by which the sender called. */
const OF_THE_CONNECTION = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'host',
];

/**
 * The local end of a tunnel. A tunnel makes a whole port public; behind this one are the addresses of webhooks and nothing
 * else of the daemon. It finds the daemon anew for each delivery, so that it may restart at another port meanwhile.
 */
export interface Gateway {
  readonly port: number;
  close(): Promise<void>;
}

/** Opens it on a free port of the loopback address. Bodies are passed on byte by byte as they come, and are never kept. */
export async function openGateway(client: Client): Promise<Gateway> {
  const server = createServer({ requestTimeout: REQUEST_MS }, (request, response) => {
    passOn(client, request, response).catch(() => refuse(response, 503));
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listening(server);
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const listening = (server: Server): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });

async function passOn(client: Client, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path = ''] = (request.url ?? '').split('?', 1);
  if (request.method !== 'POST' || !ADDRESS.test(path)) return refuse(response, 404);
  try {
    const { status, headers, body } = await client.deliver(path, {
      headers: passedHeaders(request.headers),
      body: request,
    });
    const kept = [headers['content-type'], headers['retry-after']];
    for (const [at, name] of ['content-type', 'retry-after'].entries())
      if (kept[at] !== undefined) response.setHeader(name, kept[at]);
    response.setHeader('content-length', body.length);
    if (request.complete) response.writeHead(status).end(body);
    else answerEarly(request, response.writeHead(status, { connection: 'close' }), body);
  } catch (error) {
    if (!(error instanceof UnreachableError)) throw error;
    refuse(response, 503);
  }
}

/** An answer to a body that still comes: closing at once would cut the sender off before it reads what it is told. */
function answerEarly(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  response.write(body);
  const end = (): void => void response.end();
  const timer = setTimeout(end, LINGER_MS);
  request
    .resume()
    .once('close', end)
    .once('end', end)
    .once('close', () => clearTimeout(timer));
}

/** Senders try again after a 503. */
function refuse(response: ServerResponse, status: 404 | 503): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { connection: 'close', ...(status === 503 && { 'retry-after': RETRY_AFTER_S }) }).end();
}

/** The headers of a delivery, which are the same on every connection of its way. */
export function passedHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const named = (headers.connection ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  const dropped = new Set([...OF_THE_CONNECTION, ...named]);
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name, value]) => !dropped.has(name) && value !== undefined)
      .map(([name, value]) => [name, String(value)]),
  );
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

/** A server that speaks as smee servers do: what is posted to a channel goes to whoever reads it. */
export interface SmeeServer {
  readonly url: string;
  /** How many read channels now. */
  readonly readers: () => number;
  /** Cuts the connections of all readers. */
  readonly cut: () => void;
  /** Answers everything with this status from now on; undefined: as usual. */
  readonly refuse: (status: number | undefined) => void;
  /** Passes the bytes of bodies on, as some servers do. */
  readonly raw: (field: 'bodyB' | 'rawbody' | undefined) => void;
}

export async function openSmeeServer(t: Test): Promise<SmeeServer> {
  const channels = new Map<string, Set<ServerResponse>>();
  let refused: number | undefined;
  let raw: 'bodyB' | 'rawbody' | undefined;
  const server = createServer(async (request, response) => {
    const channel = request.url?.split('?')[0] ?? '';
    if (refused !== undefined) return response.writeHead(refused).end();
    const readers = channels.get(channel) ?? new Set();
    channels.set(channel, readers);
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
      response.write('id: 0\nevent: ready\ndata: {}\n\nid: 1\nevent: ping\ndata: {}\n\n');
      readers.add(response);
      response.on('close', () => readers.delete(response));
      return undefined;
    }
    const event = await eventOf(request, raw);
    for (const reader of readers) reader.write(`id: 2\ndata: ${JSON.stringify(event)}\n\n`);
    return response.writeHead(200).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const all = (): ServerResponse[] => [...channels.values()].flatMap((readers) => [...readers]);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    readers: () => all().length,
    cut: () => {
      for (const reader of all()) reader.destroy();
    },
    refuse: (status) => {
      refused = status;
    },
    raw: (field) => {
      raw = field;
    },
  };
}

async function eventOf(request: IncomingMessage, raw: 'bodyB' | 'rawbody' | undefined): Promise<object> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  const bytes = Buffer.concat(parts);
  const isForm = request.headers['content-type'] === 'application/x-www-form-urlencoded';
  const body = isForm ? Object.fromEntries(new URLSearchParams(bytes.toString())) : JSON.parse(bytes.toString());
  const kept = { bodyB: bytes.toString('base64'), rawbody: bytes.toString() };
  return { ...request.headers, body, query: {}, timestamp: Date.now(), ...(raw && { [raw]: kept[raw] }) };
}

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

/** The outside: counts the calls with an idempotency key, by key, with the life of the daemon in which each came. */
export interface Sink {
  readonly url: string;
  readonly calls: Map<string, number[]>;
  /** The life of the daemon that calls from now on. */
  life: number;
}

export async function openSink(t: Test): Promise<Sink> {
  const calls = new Map<string, number[]>();
  const server = createServer((request, response) => {
    const key = String(request.headers['idempotency-key']);
    calls.set(key, [...(calls.get(key) ?? []), sink.life]);
    request.resume();
    response.setHeader('content-type', 'application/json').end('{"done":true}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sink: Sink = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls, life: 1 };
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return sink;
}

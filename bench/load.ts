import { connect } from 'node:net';

/**
 * Sends the same request over and over on `clients` connections for `seconds`, one at a time each; gives answers a second.
 * A bare socket client, so that the load costs as little as can be beside the server on two cores.
 */
export async function load(port: number, request: string, clients: number, seconds: number): Promise<number> {
  const until = performance.now() + seconds * 1000;
  const counts = await Promise.all(Array.from({ length: clients }, () => client(port, Buffer.from(request), until)));
  return Math.round(counts.reduce((sum, count) => sum + count, 0) / seconds);
}

function client(port: number, request: Buffer, until: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let count = 0;
    let received = '';
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.setEncoding('latin1');
    socket.on('connect', () => socket.write(request));
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      received += chunk as unknown as string;
      const end = received.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0);
      if (received.length < end + 4 + length) return;
      if (!received.startsWith('HTTP/1.1 200')) return void reject(new Error(received.slice(0, 400)));
      received = '';
      count += 1;
      if (performance.now() < until) return void socket.write(request);
      socket.end();
      resolve(count);
    });
  });
}

export function post(path: string, headers: Readonly<Record<string, string>>, body: unknown): string {
  const text = JSON.stringify(body);
  const all = {
    host: '127.0.0.1',
    'content-type': 'application/json',
    'content-length': String(text.length),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`;
}

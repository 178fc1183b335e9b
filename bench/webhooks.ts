import { type ChildProcess, fork } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const PER_SECOND = 1000;
const SECONDS = 10;
const BODY_BYTES = 2000;
const FLOW = `id: 5c0f3f7e-8d4b-4a57-9a0e-2b6f0a6a3c11
name: On push
triggers: [{ type: webhook, registration: repo, eventType: push }]
nodes:
  start: { type: startEvent, next: set }
  set: { type: setVariable, set: { who: "{webhookPayload.who}" }, next: done }
  done: { type: endEvent }
`;

interface Daemon {
  readonly child: ChildProcess;
  readonly home: string;
  readonly url: string;
  readonly key: string;
}

/** A burst of signed deliveries, sent at their time whether the ones before were answered or not. None may be lost. */
export async function benchWebhooks(): Promise<void> {
  const daemon = await startDaemon();
  const { endpoints, id } = await call<{ id: string; endpoints: { path: string; secret: string }[] }>(
    daemon,
    'POST',
    '/admin/webhooks',
    JSON.stringify({ name: 'repo', provider: 'GITHUB' }),
  );
  const { path = '', secret = '' } = endpoints[0] ?? {};
  await call(daemon, 'POST', '/process/publish', FLOW, 'application/yaml');
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const latencies: number[] = [];
  let refused = 0;
  const send = (n: number) =>
    deliver(new URL(path, daemon.url), agent, secret, n).then(
      (ms) => latencies.push(ms),
      () => {
        refused += 1;
      },
    );

  const began = performance.now();
  const sent: Promise<unknown>[] = [];
  for (let tick = 0; tick < SECONDS * 100; tick += 1) {
    for (let n = 0; n < PER_SECOND / 100; n += 1) sent.push(send(sent.length));
    await delay(Math.max(0, began + (tick + 1) * 10 - performance.now()));
  }
  const sentIn = performance.now() - began;
  await Promise.all(sent);
  const answeredIn = performance.now() - began;

  const started = await countStarted(daemon, id);
  latencies.sort((a, b) => a - b);
  const at = (share: number) => `${(latencies[Math.floor(latencies.length * share)] ?? 0).toFixed(1)} ms`;
  console.table([
    {
      sent: sent.length,
      'sent in': `${(sentIn / 1000).toFixed(1)} s`,
      'answered 200': latencies.length,
      refused,
      'answered in': `${(answeredIn / 1000).toFixed(1)} s`,
      started,
      lost: latencies.length - started,
      p50: at(0.5),
      p99: at(0.99),
    },
  ]);
  agent.destroy();
  await stop(daemon);
  if (started < sent.length) process.exitCode = 1;
}

function deliver(url: URL, agent: Agent, secret: string, n: number): Promise<number> {
  const body = JSON.stringify({ who: `user ${n}`, filler: 'x'.repeat(BODY_BYTES) });
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-github-event': 'push',
    'x-github-delivery': `guid-${n}`,
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  };
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers }, (answer) => {
      answer.resume();
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve(performance.now() - began);
        else reject(new Error(String(answer.statusCode)));
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Distinct events that started a run, as the recorder has them. */
async function countStarted(daemon: Daemon, id: string): Promise<number> {
  const started = new Set<string>();
  let cursor: string | null = '';
  while (cursor !== null) {
    const page: Page = await call(
      daemon,
      'GET',
      `/admin/webhooks/${id}/deliveries?limit=500${cursor === '' ? '' : `&cursor=${cursor}`}`,
    );
    for (const { verdict, eventId } of page.items) if (verdict === 'STARTED') started.add(eventId);
    cursor = page.nextCursor;
  }
  return started.size;
}
interface Page {
  readonly items: readonly { readonly verdict: string; readonly eventId: string }[];
  readonly nextCursor: string | null;
}

async function startDaemon(): Promise<Daemon> {
  const home = mkdtempSync(join(tmpdir(), 'wfx-bench-'));
  const child = fork(resolve(import.meta.dirname, '../dist/daemon.js'), ['--port', '0'], {
    env: { ...process.env, WFX_HOME: home, WFX_KEYCHAIN: 'off' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  const { admin } = JSON.parse(readFileSync(join(home, 'credentials.json'), 'utf8')) as { admin: string };
  return { child, home, url, key: admin };
}

async function call<T>(
  { url, key }: Daemon,
  method: string,
  path: string,
  body?: string,
  type = 'application/json',
): Promise<T> {
  const sent = body === undefined ? {} : { body };
  const answer = await fetch(url + path, { method, headers: { 'x-api-key': key, 'content-type': type }, ...sent });
  return (await answer.json()) as T;
}

async function stop({ child, home }: Daemon): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
  rmSync(home, { recursive: true, force: true });
}

if (import.meta.url === `file://${process.argv[1]}`) await benchWebhooks();

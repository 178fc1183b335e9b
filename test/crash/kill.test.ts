import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openJournal } from '../../src/daemon/journal/index.ts';
import { EVENT_FORMAT, type Event, unfolded } from '../../src/engine/index.ts';
import { Daemon } from './daemon.ts';

/** Counts what reached the outside, by idempotency key. */
async function sink(t: Test): Promise<{ readonly url: string; readonly calls: Map<string, number> }> {
  const calls = new Map<string, number>();
  const server = createServer((request, response) => {
    const key = String(request.headers['idempotency-key']);
    calls.set(key, (calls.get(key) ?? 0) + 1);
    response.setHeader('content-type', 'application/json').end('{"done":true}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}

const flow = `
id: 5d8f3a52-1f0e-4b7e-9a0e-3b1d9f6c2a11
name: Crash
nodes:
  start: { type: startEvent, next: fork }
  fork: { type: parallelGateway, next: [one, two] }
  one: { type: serviceTask, service: http, request: { method: POST, url: "{sink}/one" }, next: join }
  two: { type: setVariable, set: { mark: "{number}" }, next: join }
  join: { type: parallelGateway, next: each }
  each: { type: loopNode, times: 3, nodes: { call: { type: serviceTask, service: http, request: { method: POST, url: "{sink}/each" } } }, next: child }
  child: { type: subProcess, nodes: { s: { type: startEvent, next: inner }, inner: { type: setVariable, set: { inside: "{number}" } } }, next: pause }
  pause: { type: intermediateCatchEvent, timer: PT0.05S, next: last }
  last: { type: setVariable, set: { result: "{number}" }, next: end }
  end: { type: endEvent }
`;

const RUNS = 120;
const KILLS = 4;

t.test(`kill -9 in the middle of ${RUNS} runs: each ends once, nothing is done twice`, async (t) => {
  const { url, calls } = await sink(t);
  const daemon = new Daemon(t);
  const client = await daemon.start();
  const { processId } = await client.call('publishFlow', { body: flow });
  const acknowledged = new Map<string, number>();

  let next = 0;
  for (let kill = 0; kill <= KILLS; kill += 1) {
    const last = kill === KILLS;
    const until = last ? RUNS : Math.floor(((kill + 1) * RUNS) / (KILLS + 1));
    const starters = Array.from({ length: 8 }, async () => {
      while (next < until) {
        const number = next;
        next += 1;
        try {
          const started = await client.call('execProcess', { body: { processId, data: { number, sink: url } } });
          acknowledged.set(started.processInstanceId, number);
        } catch {
          // Without an answer it may have started or not; only what was acknowledged is asked for.
        }
      }
    });
    if (last) await Promise.all(starters);
    else {
      await Promise.race(starters);
      await daemon.kill();
      await Promise.all(starters);
      await daemon.start();
    }
  }

  for (const [id, number] of acknowledged) {
    let end: number | undefined;
    for await (const item of client.log(id)) if (item.kind === 'end') end = item.end.stateCd;
    const { data, stateCd } = await client.call('getInstance', { params: { processInstanceId: id } });
    if (end !== 1 || stateCd !== 1 || data['result'] !== number || data['inside'] !== number) {
      t.fail(`instance ${id} of run ${number} ended with ${stateCd}`, { data });
    }
  }
  t.ok(acknowledged.size > RUNS / 2, `${acknowledged.size} runs were acknowledged and completed`);
  await daemon.kill();
  await oncePerNode(t, daemon.home, acknowledged, calls);
});

/** The journal is the witness: no activation begins or ends twice, and each instance ends once. */
async function oncePerNode(
  t: Test,
  home: string,
  acknowledged: ReadonlyMap<string, number>,
  calls: ReadonlyMap<string, number>,
): Promise<void> {
  const log = { info() {}, warn() {} };
  const { journal, recovery } = await openJournal({ dir: join(home, 'journal'), log });
  for await (const _ of recovery.checkpoint);
  for await (const _ of recovery.frames);
  let works = 0;
  for (const id of acknowledged.keys()) {
    const seen = new Set<string>();
    for await (const part of journal.history(id)) {
      for (const event of unfolded(part.events as unknown as readonly Event[])) {
        if (event.type === 'instanceStarted') t.equal(event.format, EVENT_FORMAT);
        if (!/^(node(Started|Completed)|instance(Started|Ended))$/.test(event.type)) continue;
        const mark = `${event.type}:${'n' in event ? event.n : ''}`;
        if (seen.has(mark)) t.fail(`instance ${id} has ${mark} twice`);
        seen.add(mark);
        if (event.type === 'nodeStarted' && (event.node === 'one' || event.node === 'call')) {
          works += 1;
          if (!calls.has(`${id}:${event.node}:${event.n}`)) t.fail(`${id} never called out as ${event.node}`);
        }
      }
    }
    t.ok(seen.has('instanceEnded:'), 'it ended');
  }
  t.equal(works, acknowledged.size * 4, 'each piece of outside work was entered once');
  await journal.close();
}

import { setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { DueHeap } from '../../src/daemon/due-heap.ts';
import { lastMatch, nextTimes } from '../../src/daemon/triggers/matches.ts';
import { parseCron } from '../../src/engine/time.ts';
import { tempFolder } from '../folder.ts';
import { TestClock } from './clock.ts';
import { live, newFlowId } from './live.ts';
import { openServer, publish, type TestServer } from './server.ts';

t.setTimeout(240_000);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const at = (text: string): number => Date.parse(text);

interface ScheduleOptions {
  readonly id?: string;
  readonly cron?: string;
  readonly timezone?: string;
  readonly catchUp?: boolean;
  readonly overlap?: string;
  readonly waits?: boolean;
}

function flow({
  id = newFlowId(),
  cron = '0 * * * *',
  timezone = 'UTC',
  catchUp = false,
  overlap = 'allow',
  waits = false,
}: ScheduleOptions): string {
  return `id: ${id}
name: By the clock
triggers:
  - { type: schedule, cron: "${cron}", timezone: ${timezone}, catchUp: ${catchUp}, overlap: ${overlap} }
nodes:
  start: { type: startEvent, next: ${waits ? 'ask' : 'done'} }
  ${waits ? 'ask: { type: inputNode, inputType: textbox, next: done, errorFlow: done }' : ''}
  done: { type: endEvent }
`;
}

const times = async (server: TestServer, processId: string): Promise<unknown[]> => {
  const { items } = await server.runtime.instances({ organizationId: undefined, processId, limit: 500 });
  return items.map(({ trigger }) => trigger['scheduledTime']).reverse();
};
/** Waits for what is bound to come. */
async function started(server: TestServer, processId: string, count: number): Promise<unknown[]> {
  for (;;) {
    const found = await times(server, processId);
    if (found.length >= count) return found;
    await turn();
  }
}
/** Waits until a match was dealt with, whatever came of it. */
async function dealtWith(server: TestServer, match: number): Promise<void> {
  const states = () => [...server.runtime.facts.all('schedules').values()] as unknown as { match: number }[];
  while (!states().some((state) => state.match === match)) await turn();
}

/** Schedules count from when their flow was published, by the real clock: tests begin at the next full hour. */
const soon = Math.ceil(Date.now() / HOUR) * HOUR + 7 * MINUTE;
const hour = (n: number): string => new Date(soon - 7 * MINUTE + n * HOUR).toISOString();

async function opened(t: Test, now: number, dataDir?: string): Promise<{ server: TestServer; clock: TestClock }> {
  const clock = new TestClock(now);
  const server = await openServer(t, { clock, ...(dataDir === undefined ? {} : { dataDir }) });
  return { server, clock };
}

t.test('what is due at the same time comes in the order in which it was put in', async (t) => {
  const heap = new DueHeap<{ due: number; name: number }>();
  for (let name = 0; name < 200; name += 1) heap.push({ due: (name * 7) % 5, name });
  heap.keep(({ name }) => name % 3 !== 0);
  const names: number[][] = [];
  for (let first = heap.first; first !== undefined; first = heap.first) {
    names[first.due] = [...(names[first.due] ?? []), first.name];
    heap.pop();
  }
  t.equal(names.flat().length, 133);
  for (const list of names)
    t.strictSame(
      list,
      [...list].sort((a, b) => a - b),
    );
});

t.test('a schedule fires once a match', async (t) => {
  const { server, clock } = await opened(t, soon);
  const id = newFlowId();
  await publish(server, flow({ id }));
  clock.pass(52 * MINUTE);
  t.same(await times(server, id), [], 'not before its time');
  clock.pass(2 * HOUR + 2 * MINUTE);
  t.same(await started(server, id, 3), [hour(1), hour(2), hour(3)]);
  const { items } = await server.runtime.instances({ organizationId: 'default', processId: id, limit: 1 });
  t.match(items[0], {
    environment: 'PRODUCTION',
    processVersion: '1',
    trigger: { type: 'schedule', cron: '0 * * * *', timezone: 'UTC', scheduledTime: hour(3) },
  });

  t.test('and no more once it is withdrawn, or in a version that is not active', async (t) => {
    await publish(server, flow({ id, cron: '30 * * * *' }));
    clock.pass(HOUR);
    t.same((await started(server, id, 4)).slice(3), [new Date(at(hour(3)) + 30 * MINUTE).toISOString()]);
    await server.call('POST', `/process/${id}/unpublish`);
    clock.pass(3 * HOUR);
    await server.call('POST', `/process/${id}/activate`, { body: { version: '1' } });
    clock.pass(HOUR);
    t.same((await started(server, id, 5)).slice(4), [hour(8)]);
    t.equal((await times(server, id)).length, 5);
  });
});

t.test('a flow that is published in both environments runs in PRODUCTION alone', async (t) => {
  const { server, clock } = await opened(t, soon);
  const [both, development] = [newFlowId(), newFlowId()];
  await publish(server, flow({ id: both }));
  await server.call('POST', '/process/publish?environment=DEVELOPMENT', {
    body: flow({ id: development }),
    headers: { 'content-type': 'application/yaml' },
  });
  clock.pass(HOUR);
  await started(server, both, 1);
  await started(server, development, 1);
  const { items } = await server.runtime.instances({ organizationId: undefined, limit: 10 });
  t.same(
    new Map(items.map((item) => [item.processId, item.environment])),
    new Map([
      [both, 'PRODUCTION'],
      [development, 'DEVELOPMENT'],
    ]),
  );
  t.equal(items.length, 2);
});

t.test('across a restart', async (t) => {
  const dataDir = tempFolder(t);
  const [plain, catching, never] = [newFlowId(), newFlowId(), newFlowId()];
  await t.test('what was due before fires once', async (t) => {
    const { server, clock } = await opened(t, soon, dataDir);
    await publish(server, flow({ id: plain }));
    await publish(server, flow({ id: catching, catchUp: true }));
    clock.pass(HOUR);
    await started(server, plain, 1);
    await started(server, catching, 1);
  });
  await t.test('a restart at once fires nothing again', async (t) => {
    const { server, clock } = await opened(t, soon + HOUR, dataDir);
    await publish(server, flow({ id: never, catchUp: true, cron: '0 0 1 1 *' }));
    clock.pass(MINUTE);
    t.same(await times(server, plain), [hour(1)]);
    t.same(await times(server, catching), [hour(1)]);
  });
  await t.test('of what was missed only the last match is made up for, and only with catchUp', async (t) => {
    const { server, clock } = await opened(t, soon + 5 * HOUR, dataDir);
    t.same(await started(server, catching, 2), [hour(1), hour(5)]);
    clock.pass(HOUR);
    t.same(await started(server, catching, 3), [hour(1), hour(5), hour(6)]);
    t.same(await started(server, plain, 2), [hour(1), hour(6)]);
    t.same(await times(server, never), [], 'a match before it was published is not missed');
  });
});

t.test('when the clock is set', async (t) => {
  t.test('forward, or the machine slept: as if the daemon had been down', async (t) => {
    const { server, clock } = await opened(t, soon);
    const [plain, catching] = [newFlowId(), newFlowId()];
    await publish(server, flow({ id: plain }));
    await publish(server, flow({ id: catching, catchUp: true }));
    clock.set(soon + 4 * HOUR);
    t.same(await started(server, catching, 1), [hour(4)]);
    clock.pass(HOUR);
    t.same(await started(server, plain, 1), [hour(5)]);
  });

  t.test('back: what fired does not fire again', async (t) => {
    const { server, clock } = await opened(t, soon);
    const id = newFlowId();
    await publish(server, flow({ id }));
    clock.pass(2 * HOUR);
    await started(server, id, 2);
    clock.set(soon + 30 * MINUTE);
    clock.pass(3 * HOUR);
    t.same(await started(server, id, 3), [hour(1), hour(2), hour(3)]);
  });

  t.test('back by more than a day: it was wrong before', async (t) => {
    const { server, clock } = await opened(t, soon + 4000 * 24 * HOUR);
    const id = newFlowId();
    await publish(server, flow({ id }));
    clock.pass(HOUR);
    await started(server, id, 1);
    clock.set(soon);
    clock.pass(HOUR);
    t.same((await started(server, id, 2)).slice(1), [hour(1)]);
  });
});

t.test('while the last run still runs', async (t) => {
  const answer = async (server: TestServer, processId: string, n: number): Promise<void> => {
    const { items } = await server.runtime.instances({ organizationId: undefined, processId, limit: 10 });
    const run = items.at(-1 - n)?.processInstanceId ?? '';
    await server.runtime.submitTask({
      organizationId: undefined,
      processInstanceId: run,
      nodeId: 'ask',
      action: 'COMPLETE',
      data: { inputValue: 'x' },
    });
  };

  t.test('allow starts another', async (t) => {
    const { server, clock } = await opened(t, soon);
    const id = newFlowId();
    await publish(server, flow({ id, waits: true }));
    clock.pass(2 * HOUR);
    t.same(await started(server, id, 2), [hour(1), hour(2)]);
  });

  t.test('skip leaves it out', async (t) => {
    const { server, clock } = await opened(t, soon);
    const id = newFlowId();
    await publish(server, flow({ id, waits: true, overlap: 'skip' }));
    clock.pass(HOUR);
    await started(server, id, 1);
    clock.pass(HOUR);
    await dealtWith(server, at(hour(2)));
    t.same(await times(server, id), [hour(1)]);
    await answer(server, id, 0);
    clock.pass(HOUR);
    t.same(await started(server, id, 2), [hour(1), hour(3)]);
  });

  t.test('queue starts it afterwards, also after a restart', async (t) => {
    const dataDir = tempFolder(t);
    const id = newFlowId();
    await t.test('before', async (t) => {
      const { server, clock } = await opened(t, soon, dataDir);
      await publish(server, flow({ id, waits: true, overlap: 'queue' }));
      clock.pass(HOUR);
      await started(server, id, 1);
      clock.pass(HOUR);
      await dealtWith(server, at(hour(2)));
      clock.pass(HOUR);
      await dealtWith(server, at(hour(3)));
      t.same(await times(server, id), [hour(1)]);
      const [run] = (await server.call('GET', `/process/${id}/instances`)).body.items;
      const { body } = await server.call('GET', `/process/instance/${run.processInstanceId}/why`);
      t.same(body.queuedStarts, [hour(2), hour(3)], 'the run that they wait for tells of them');
      await answer(server, id, 0);
      t.same(await started(server, id, 2), [hour(1), hour(2)]);
    });
    await t.test('after', async (t) => {
      const { server } = await opened(t, soon + 3 * HOUR, dataDir);
      t.same(await times(server, id), [hour(1), hour(2)]);
      await answer(server, id, 1);
      t.same(await started(server, id, 3), [hour(1), hour(2), hour(3)]);
    });
  });
});

t.test('a time that does not exist fires right after the gap, one that comes twice fires once', async (t) => {
  for (const [begin, times] of [
    ['2027-03-28T00:00:00Z', ['2027-03-28T01:00:00.000Z', '2027-03-29T00:30:00.000Z']],
    ['2027-10-30T12:00:00Z', ['2027-10-31T00:30:00.000Z', '2027-11-01T01:30:00.000Z']],
  ] as const) {
    const { server, clock } = await opened(t, at(begin));
    const id = newFlowId();
    await publish(server, flow({ id, cron: '30 2 * * *', timezone: 'Europe/Berlin' }));
    clock.pass(40 * HOUR);
    t.same(await started(server, id, times.length), times);
  }
});

t.test('hundreds that are due in the same minute all start', async (t) => {
  const { server, clock } = await opened(t, soon);
  const triggers = Array.from(
    { length: 12 },
    (_, n) => `{ type: schedule, cron: "0 * * * *", timezone: Etc/GMT+${n} }`,
  );
  const ids = Array.from({ length: 40 }, () => newFlowId());
  for (const id of ids)
    await publish(server, `id: ${id}\nname: Many\ntriggers: [${triggers}]\nnodes: { start: { type: startEvent } }\n`);
  clock.pass(HOUR);
  for (const id of ids) t.equal((await started(server, id, 12)).length, 12);
});

t.test('the last match before now is found without stepping through years', async (t) => {
  const cron = (text: string) => {
    const read = parseCron(text);
    if ('problem' in read) throw new Error(read.problem);
    return read;
  };
  const now = at('2026-11-21T09:30:30Z');
  for (const [text, last] of [
    ['* * * * *', '2026-11-21T09:30:00Z'],
    ['0 9 * * *', '2026-11-21T09:00:00Z'],
    ['0 10 * * *', '2026-11-20T10:00:00Z'],
    ['0 0 1 * *', '2026-11-01T00:00:00Z'],
    ['0 0 1 1 *', '2026-01-01T00:00:00Z'],
    ['0 0 29 2 *', '2024-02-29T00:00:00Z'],
  ] as const)
    t.equal(lastMatch(cron(text), 0, now), at(last), text);
  t.equal(lastMatch(cron('0 9 * * *'), at('2026-11-21T09:00:00Z'), now), undefined, 'a match counts once');
  t.same(nextTimes('30 2 * * *', 'Europe/Berlin', at('2027-03-27T12:00:00Z'), 2), [
    '2027-03-28T01:00:00.000Z',
    '2027-03-29T00:30:00.000Z',
  ]);
});

t.test('a flow tells when it comes next', async (t) => {
  const { client } = await live(t);
  const id = newFlowId();
  await client.call('publishFlow', { body: flow({ id, cron: '0 9 * * 1-5', timezone: 'Europe/Berlin' }) });
  await client.call('publishFlow', { body: flow({ id, cron: '0 10 * * *' }), query: { environment: 'DEVELOPMENT' } });
  const shown = async (versionNumber: string) =>
    (await client.call('getFlow', { params: { processId: id }, query: { versionNumber } })).schedules[0];
  const first = await shown('1');
  t.match(first, { cron: '0 9 * * 1-5', timezone: 'Europe/Berlin', environment: 'PRODUCTION' });
  t.equal(first?.next.length, 5);
  for (const time of first?.next ?? []) t.match(time, /T0[78]:00:00\.000Z$/);
  t.match(await shown('2'), { environment: null }, 'version 2 runs by the API in DEVELOPMENT, but not by the clock');
});

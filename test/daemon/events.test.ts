import t from 'tap';
import { live } from './live.ts';

t.setTimeout(30_000);

const CATCH = (event: string) => `{ type: intermediateCatchEvent, ${event}, timeout: PT20S, timeoutFlow: late`;

for (const event of ['signal: now', 'message: now, correlationKey: k']) {
  const [kind] = event.split(':') as [string];

  t.test(`12, 13: a ${kind} reaches what began to wait in the very same commit`, async (t) => {
    const wfx = await live(t);
    const own = await wfx.run(`
  start: { type: startEvent, next: [wait, throw] }
  wait: ${CATCH(event)}, next: got }
  throw: { type: intermediateThrowEvent, ${event} }
  got: { type: setVariable, set: { got: true } }
  late: { type: task }`);
    t.match(own, { stateCd: 1, data: { got: true } });
    const above = await wfx.run(`
  start: { type: startEvent, next: child }
  child:
    type: subProcess
    timeout: PT20S
    timeoutFlow: late
    nodes:
      throw: { type: intermediateThrowEvent, ${event}, next: stay }
      stay: { type: userTask }
  edge: { type: boundaryEvent, attachedTo: child, ${event}, next: got }
  got: { type: setVariable, set: { got: true } }
  late: { type: task }`);
    t.match(above, { stateCd: 1, data: { got: true } });
  });

  t.test(`12, 13: a ${kind} does not reach what its own instance begins to wait for afterwards`, async (t) => {
    const wfx = await live(t);
    const { log } = await wfx.run(`
  start: { type: startEvent, next: throw }
  throw: { type: intermediateThrowEvent, ${event}, next: wait }
  wait: { type: intermediateCatchEvent, ${event}, timeout: PT0S, timeoutFlow: late, next: got }
  got: { type: task }
  late: { type: task }`);
    t.notOk(log.some((line) => line.includes('got')));
  });
}

t.test('12: after a restart too, the oldest that waits is first, whichever instance began first', async (t) => {
  const wfx = await live(t);
  const flow = await wfx.publish(`
  start: { type: startEvent, next: first }
  first: { type: userTask, next: wait }
  wait: { type: intermediateCatchEvent, message: go, correlationKey: k, next: done }
  done: { type: endEvent }`);
  const older = await wfx.start(flow);
  const newer = await wfx.start(flow);
  const answer = async (processInstanceId: string) => {
    await wfx.client.call('submitTask', { body: { processInstanceId, nodeId: 'first', action: 'COMPLETE' } });
    await wfx.logs(processInstanceId, /waiting for the message/);
  };
  await answer(newer);
  await answer(older);
  const again = await wfx.restart();
  const send = () => again.client.call('sendEvent', { body: { eventType: 'go', correlationKey: 'k' } });
  t.match(await send(), { processInstanceIds: [newer] });
  t.match(await send(), { processInstanceIds: [older] });
});

t.test('14: a subscription that stays open takes every message that waits, oldest first', async (t) => {
  const wfx = await live(t);
  const messages = 40;
  for (let n = 0; n < messages; n += 1)
    await wfx.client.call('sendEvent', {
      body: { eventType: 'poke', correlationKey: 'k', timeToLive: 'PT1M', data: { n } },
    });
  const id = await wfx.start(
    await wfx.publish(`
  start: { type: startEvent, next: stay }
  stay: { type: intermediateCatchEvent, message: stop, correlationKey: k, next: done }
  poked: { type: boundaryEvent, attachedTo: stay, message: poke, correlationKey: k, cancelActivity: false, next: note }
  note: { type: outputNode, output: { seen: "{n}" } }
  done: { type: endEvent }`),
  );
  await wfx.logs(id, new RegExp(`seen = ${messages - 1}$`));
  await wfx.client.call('sendEvent', { body: { eventType: 'stop', correlationKey: 'k' } });
  const { log } = await wfx.ended(id);
  const seen = log.map((line) => /seen = (\d+)/.exec(line)?.[1]).filter((n) => n !== undefined);
  t.strictSame(
    seen,
    [...Array(messages).keys()].map((n) => String(n)),
  );
});

t.test('a clock that was ahead for a moment holds no timer back', async (t) => {
  const wfx = await live(t);
  const flow = await wfx.publish(`
  start: { type: startEvent, next: pause }
  pause: { type: intermediateCatchEvent, timer: PT0.05S, next: done }
  done: { type: endEvent }`);
  const { now } = Date;
  t.teardown(() => {
    Date.now = now;
  });
  Date.now = () => now() + 24 * 3600_000;
  await wfx.start(flow);
  Date.now = now;
  t.equal((await wfx.ended(await wfx.start(flow))).stateCd, 1);
});

import t from 'tap';
import { live } from './live.ts';

t.setTimeout(30_000);

t.test('a retry takes up what stood beside the node that failed', async (t) => {
  const wfx = await live(t);
  const flow = await wfx.publish(`
  start: { type: startEvent, next: [first, ask, work] }
  first: { type: setVariable, set: { first: true }, next: both }
  ask: { type: userTask, next: both }
  work: { type: serviceTask, service: http, request: { url: "http://127.0.0.1:1/" }, errorFlow: caught }
  caught: { type: scriptTask, script: "if (!ok) throw { code: 'NOT_YET' }", next: both }
  both: { type: parallelGateway, next: done }
  done: { type: setVariable, set: { done: true } }`);
  const id = await wfx.start(flow, { ok: false });
  t.match(await wfx.ended(id), { stateCd: 2, error: { code: 'NOT_YET', nodeId: 'caught' } });

  const retry = async (body: { from?: string; data: { ok: boolean } }) => {
    const params = { processInstanceId: id };
    return (await wfx.client.call('retryInstance', { params, body })).processInstanceId;
  };
  const again = await retry({ data: { ok: true } });
  await wfx.client.call('submitTask', { body: { processInstanceId: again, nodeId: 'ask', action: 'COMPLETE' } });
  t.match(await wfx.ended(again), { stateCd: 1, data: { first: true, done: true } });

  const alone = await wfx.ended(await retry({ from: 'caught', data: { ok: true } }));
  t.match(alone, { stateCd: 2, error: { code: 'DEADLOCK' } }, 'a node that is named is the only one');
});

t.test('a retry begins at the failure that nothing caught, not at an earlier one', async (t) => {
  const wfx = await live(t);
  const flow = await wfx.publish(`
  start: { type: startEvent, next: work }
  work: { type: serviceTask, service: http, request: { url: "http://127.0.0.1:1/" }, errorFlow: refuse }
  refuse: { type: endEvent, error: REFUSED }`);
  const { id } = await wfx.ended(await wfx.start(flow));
  const params = { processInstanceId: id };
  const { processInstanceId } = await wfx.client.call('retryInstance', { params, body: {} });
  await wfx.ended(processInstanceId);
  const { nodes } = await wfx.client.call('getInstance', { params: { processInstanceId } });
  t.strictSame(
    nodes.map(({ nodeId }) => nodeId),
    ['refuse'],
  );
});

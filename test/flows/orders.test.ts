import t from 'tap';
import type { JsonObject } from '../../src/engine/json.ts';
import { outside, refusal, service, visits } from './service.ts';

t.test('order-with-payment', async (t) => {
  const stock = await outside(t);
  const own = await service(t, 'check-credit', 'send-survey', 'order-with-payment');
  const reservable = () => {
    let count = 0;
    stock.answer('POST /reservations', () => ({ id: `r${++count}` }));
  };
  let orders = 0;
  const order = (more: JsonObject = {}, orderId = `A-${++orders}`) =>
    own.start('order-with-payment', { orderId, stockUrl: stock.url, ...more }, orderId);
  const pay = (correlationKey: string, more = {}) =>
    own.client.call('sendEvent', { body: { eventType: 'payment-received', correlationKey, ...more } });
  reservable();

  await t.test('paid, reserved, shipped; nobody waits for the survey', async (t) => {
    const run = await order();
    await run.reached('awaitPayment');
    t.match(await pay(run.key, { data: { paid: 42 } }), { status: 'correlated', processInstanceIds: [run.id] });
    t.match((await run.task('ship')).form['title'], `Ship ${run.key} to Ada Lovelace`);
    await run.answer('ship');
    const ended = await run.ended();
    t.match(ended, { stateCd: 1, data: { outcome: 'shipped', payment: { paid: 42 }, paid: 42 } });
    t.equal((ended.data['reserved'] as string[]).length, 2);
    const survey = await run.task('ask');
    t.equal(survey.processInstanceId, ended.data['surveyId'], 'it goes on by itself');
    t.notOk(ended.children.includes(survey.processInstanceId));
    await run.submit(survey, 'COMPLETE', { stars: 5 });
    const params = { processInstanceId: survey.processInstanceId };
    t.match(await own.client.call('getInstance', { params }), {
      stateCd: 1,
      trigger: { type: 'callProcess', processInstanceId: run.id },
      data: { thanks: 'Ada Lovelace gave 5 stars' },
    });
  });

  await t.test('a payment that comes before the order waits for it', async (t) => {
    const early = await pay('early', { data: { paid: 42 }, timeToLive: 'PT1H' });
    t.match(early, { status: 'buffered', processInstanceIds: [] });
    const run = await order({}, 'early');
    await run.answer('ship');
    t.match((await run.ended()).data, { payment: { paid: 42 } });
  });

  await t.test('paid twice: the second finds nothing', async (t) => {
    const run = await order();
    await run.reached('awaitPayment');
    const message = { messageId: 'p-1', data: { paid: 42 } };
    t.match(await pay(run.key, message), { status: 'correlated' });
    t.match(await pay(run.key, message), { status: 'correlated', processInstanceIds: [run.id] }, 'the same message');
    t.equal(await refusal(pay(run.key, { messageId: 'p-2' })), 'NO_MATCHING_SUBSCRIPTION');
    await run.answer('ship');
    t.equal(visits(await run.ended())['awaitPayment'], 1);
  });

  await t.test('a payment for another order', async (t) => {
    const [one, other] = [await order(), await order()];
    await Promise.all([one.reached('awaitPayment'), other.reached('awaitPayment')]);
    t.equal(await refusal(pay('A-0')), 'NO_MATCHING_SUBSCRIPTION');
    await pay(other.key);
    await other.task('ship');
    t.strictSame(await one.tasks(), []);
  });

  await t.test('a payment that does not come releases the goods and cancels the order', async (t) => {
    const run = await order({ payWithin: 'PT0.5S' });
    const ended = await run.ended();
    t.match(ended, { stateCd: 1, data: { outcome: 'not paid' } });
    t.equal(visits(ended)['releaseItem'], (ended.data['reserved'] as string[]).length);
    t.equal(await refusal(pay(run.key)), 'NO_MATCHING_SUBSCRIPTION');
  });

  await t.test('goods that are not there: what was reserved is released, and nobody can pay any more', async (t) => {
    let count = 0;
    stock.answer('POST /reservations', ({ body }) =>
      (body as { sku: string }).sku === 'mug' ? 409 : { id: `s${++count}` },
    );
    const items = ['tea', 'cup', 'mug', 'pot'].map((sku) => ({ sku, count: 1 }));
    const from = stock.asked.length;
    const run = await order({ items });
    const ended = await run.ended();
    t.match(ended, {
      stateCd: 1,
      data: { outcome: 'out of stock', reserved: ['s1', 's2'], error: { code: 'HTTP_409' } },
    });
    const released = stock.asked.slice(from).filter(({ method }) => method === 'DELETE');
    t.strictSame(
      released.map(({ path }) => path),
      ['/reservations/s1', '/reservations/s2'],
    );
    t.match(
      ended.nodes.find(({ nodeId }) => nodeId === 'awaitPayment'),
      { statusCd: 4 },
    );
    t.equal(await refusal(pay(run.key)), 'NO_MATCHING_SUBSCRIPTION');
    reservable();
  });

  await t.test('no credit: nothing is reserved', async (t) => {
    const run = await order({ total: 900 });
    const decision = await run.task('decide');
    t.not(decision.processInstanceId, run.id, 'asked by an instance of its own');
    t.match(decision.form['title'], 'Does Ada Lovelace get credit for 900?');
    await run.answer('decide', { approved: false });
    const ended = await run.ended();
    t.match(ended, { stateCd: 1, data: { outcome: 'refused', credit: { approved: false } } });
    t.notOk('both' in visits(ended));
  });
});

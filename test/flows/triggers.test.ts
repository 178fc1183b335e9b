import { createHmac } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import type { Delivery } from '../../src/contract/types.ts';
import type { JsonObject } from '../../src/engine/json.ts';
import { TestClock } from '../daemon/clock.ts';
import { openServer, publish } from '../daemon/server.ts';
import { tempFolder } from '../folder.ts';
import { flowData, flowText, outside, Run, type Service, service } from './service.ts';

t.setTimeout(120_000);

const SECRET = 'between GitHub and us';

/** The webhook `github`, and GitHub at its other end. */
async function github(own: Service) {
  const webhook = await own.client.call('createWebhook', {
    body: { name: 'github', provider: 'GITHUB', secret: SECRET },
  });
  const { path = '' } = webhook.endpoints[0] ?? {};
  let sent = 0;
  return async (event: string, payload: unknown, deliveryId = `delivery-${sent++}`): Promise<Delivery> => {
    const body = Buffer.from(JSON.stringify(payload));
    const headers = {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': deliveryId,
      'x-hub-signature-256': `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`,
    };
    const { status } = await own.client.deliver(path, { headers, body });
    t.equal(status, 200);
    const { items } = await own.client.call('listDeliveries', { params: { webhookId: webhook.id } });
    return items[0] as Delivery;
  };
}

/** The run that a delivery started. */
async function runOf(own: Service, { verdict, processInstanceIds: [id = ''] }: Delivery): Promise<Run> {
  t.equal(verdict, 'STARTED');
  const { correlationKey } = await own.client.call('getInstance', { params: { processInstanceId: id } });
  return new Run(own, id, correlationKey as string);
}

t.test('ci-deploy, by a push to GitHub', async (t) => {
  const ci = await outside(t);
  const own = await service(t);
  await own.publish(flowText('ci-deploy').replaceAll('http://127.0.0.1:8080', ci.url).replace('PT15S', 'PT0.01S'));
  const send = await github(own);
  const push = flowData('ci-deploy')['webhookPayload'] as JsonObject;
  ci.answer('POST /builds', { id: 'b1' });
  ci.answer('GET /builds/b1', { result: 'SUCCESS' });

  const delivery = await send('push', push, 'first');
  const run = await runOf(own, delivery);
  t.match(await run.now(), {
    environment: 'PRODUCTION',
    trigger: { type: 'webhook', webhookName: 'github', deliveryId: delivery.deliveryId, eventId: 'first' },
  });
  await run.answer('approve', { inputValue: 'approve' });
  t.match(await run.ended(), { stateCd: 1, data: { outcome: 'deployed', webhookEventType: 'push' } });

  const before = ci.asked.length;
  t.match(await send('push', push, 'first'), { verdict: 'DUPLICATE', processInstanceIds: [] });
  t.match(await send('ping', { zen: 'Keep it logically awesome.' }), { verdict: 'NO_MATCH', eventType: 'ping' });
  for (const other of [
    { ...push, deleted: true },
    { ...push, ref: 'refs/heads/feature' },
  ])
    t.match((await (await runOf(own, await send('push', other))).ended()).data, { outcome: 'ignored' });
  t.equal(ci.asked.length, before);
});

t.test('llm-triage, by an issue at GitHub', async (t) => {
  const forge = await outside(t);
  const own = await service(t);
  // No model is set up: then a person is asked.
  await own.publish(flowText('llm-triage').replaceAll('http://127.0.0.1:8080', forge.url));
  await own.client.call('setEnvironment', { body: { name: 'SECRET', value: 's3cret', environment: 'PRODUCTION' } });
  const send = await github(own);
  const opened = flowData('llm-triage')['webhookPayload'] as { issue: JsonObject } & JsonObject;
  const title = 'Crash {env.SECRET} ${1+1} {webhookPayload.action}';
  const run = await runOf(
    own,
    await send('issues', { ...opened, action: 'opened', issue: { ...opened.issue, title } }),
  );
  const { form } = await run.task('review');
  t.match(form['title'], title, 'a stranger’s braces stay what they are');
  await run.answer('review', { formData: { label: 'bug', reply: 'Thank you.' } });
  const ended = await run.ended();
  t.match(ended, { stateCd: 1, data: { outcome: 'commented' } });
  t.notMatch(JSON.stringify([ended, forge.asked]), 's3cret');

  const closed = await runOf(own, await send('issues', { ...opened, action: 'closed' }));
  t.match((await closed.ended()).data, { outcome: 'open' });
});

t.test('regional-report, by the clock of Berlin', async (t) => {
  const text = flowText('regional-report');
  const id = /^id: (\S+)/m.exec(text)?.[1] ?? '';
  const HOUR = 3_600_000;
  const year = new Date().getUTCFullYear() + 1;
  /** The last Sunday of March, when clocks are set forward at 01:00 UTC. */
  const sunday = Date.UTC(year, 2, 31) - new Date(Date.UTC(year, 2, 31)).getUTCDay() * 24 * HOUR;
  const night = (days: number, hour: number) => sunday + days * 24 * HOUR + hour * HOUR;
  const friday = new Date(night(-2, 1.5)).toISOString();
  const monday = new Date(night(1, 0.5)).toISOString();
  const dataDir = tempFolder(t);
  const clock = new TestClock(night(-2, 0));
  const server = await openServer(t, { clock, dataDir });
  await publish(server, text);
  const runs = async () =>
    (await server.runtime.instances({ organizationId: undefined, processId: id, limit: 50 })).items;
  const times = async () => (await runs()).map(({ trigger }) => trigger['scheduledTime']).reverse();
  const state = () => [...server.runtime.facts.all('schedules').values()] as unknown as { match: number }[];
  const dealtWith = async (match: string) => {
    while (state()[0]?.match !== Date.parse(match)) await turn();
  };

  clock.pass(24 * HOUR);
  await dealtWith(friday);
  t.strictSame(await times(), [friday], '02:30 in winter');
  clock.pass(71 * HOUR);
  await dealtWith(monday);
  t.strictSame(await times(), [friday], 'not while the report before is made; not at weekends');

  const [run] = await runs();
  await server.call('POST', `/process/instance/${run?.processInstanceId}/cancel`);
  const tuesday = new Date(night(2, 0.5)).toISOString();
  clock.pass(2 * HOUR);
  await dealtWith(tuesday);
  t.strictSame(await times(), [friday, tuesday], '02:30 in summer');
});

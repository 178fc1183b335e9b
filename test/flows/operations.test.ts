import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import t, { type Test } from 'tap';
import { pure } from './pure.ts';
import { flowData, outside, refusal, service, serviceWith, visits } from './service.ts';

/** A mail server that takes every message; `received` are the raw ones. */
async function mailbox(t: Test) {
  const received: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    hideSTARTTLS: true,
    disableReverseLookup: true,
    onData(stream, _session, callback) {
      let raw = '';
      stream.on('data', (chunk) => {
        raw += String(chunk);
      });
      stream.on('end', () => {
        received.push(raw);
        callback();
      });
    },
  });
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  t.teardown(() => new Promise<void>((resolve) => server.close(resolve)));
  const { port } = server.server.address() as AddressInfo;
  return { received, smtp: { host: '127.0.0.1', port, from: 'wfx@acme.example' } };
}

t.test('ci-deploy', async (t) => {
  const ci = await outside(t);
  const own = await service(t, 'ci-deploy');
  const settings = { ciUrl: ci.url, chatUrl: `${ci.url}/chat`, pollEvery: 'PT0.01S' };
  const event = flowData('ci-deploy');
  const pushed = (more = {}) => own.start('ci-deploy', { ...event, ...settings, ...more });
  /** The build has a result after it was asked for `polls` times. */
  const building = (polls: number, result: string) => {
    let left = polls;
    ci.answer('POST /builds', { id: 'b1' });
    ci.answer('GET /builds/b1', () => (left-- > 1 ? { result: null } : { result }));
  };
  const told = () => ci.bodies('POST /chat').at(-1);

  await t.test('built, approved, deployed', async (t) => {
    building(3, 'SUCCESS');
    const run = await pushed();
    t.match((await run.task('approve')).form['title'], 'Deploy 9c1f0a7 of acme/shop?');
    await run.answer('approve', { inputValue: 'approve' });
    const ended = await run.ended();
    t.match(ended, { stateCd: 1, data: { outcome: 'deployed', buildResult: 'SUCCESS' } });
    t.match(visits(ended), { build: 1, ask: 3, deploy: 1, tell: 1 });
    t.match(ci.bodies('POST /builds'), [{ repository: 'acme/shop', commit: '9c1f0a7' }]);
    t.strictSame(told(), { text: '9c1f0a7: deployed' });
  });

  await t.test('a build that fails, or never ends, is told of', async (t) => {
    building(2, 'FAILURE');
    t.match((await (await pushed()).ended()).data, { outcome: 'not built', buildResult: 'FAILURE' });
    building(1000, 'SUCCESS');
    const ended = await (await pushed({ polls: 4 })).ended();
    t.match(ended.data, { outcome: 'not built', buildResult: null });
    t.equal(visits(ended)['ask'], 4);
    ci.answer('POST /builds', 422);
    t.strictSame((await (await pushed()).ended()).data['outcome'], 'not built');
    t.strictSame(told(), { text: '9c1f0a7: not built' });
  });

  await t.test('rejected, and cancelled by its people', async (t) => {
    building(1, 'SUCCESS');
    const rejected = await pushed();
    await rejected.answer('approve', { inputValue: 'reject' });
    const cancelled = await pushed();
    await cancelled.cancelTask('approve');
    for (const run of [rejected, cancelled]) t.match((await run.ended()).data, { outcome: 'rejected' });
  });

  await t.test('a deployment that fails for good is told of', async (t) => {
    building(1, 'SUCCESS');
    ci.answer('POST /deployments', 409);
    const run = await pushed();
    await run.answer('approve', { inputValue: 'approve' });
    t.match((await run.ended()).data, { outcome: 'not deployed', error: { code: 'HTTP_409' } });
    t.strictSame(told(), { text: '9c1f0a7: not deployed' });
    ci.answer('POST /deployments', {});
  });

  await t.test('nobody approves in time', async (t) => {
    building(1, 'SUCCESS');
    const run = await pushed({ approvalTime: 'PT0.05S' });
    const ended = await run.ended();
    t.match(ended.data, { outcome: 'expired' });
    t.match(
      ended.nodes.find(({ nodeId }) => nodeId === 'approve'),
      { statusCd: 4 },
    );
  });

  await t.test('an approval that races with the time is taken or refused, never both', async (t) => {
    building(1, 'SUCCESS');
    const races = Array.from({ length: 20 }, async () => {
      const run = await pushed({ approvalTime: 'PT0.1S' });
      await run.reached('approve');
      const { startTime } = (await run.now()).nodes.find(({ nodeId }) => nodeId === 'approve') ?? {};
      await new Promise((due) => setTimeout(due, Date.parse(String(startTime)) + 100 - Date.now()));
      const code = await refusal(
        run.submit({ processInstanceId: run.id, nodeId: 'approve' }, 'COMPLETE', { inputValue: 'approve' }),
      );
      return { code, ended: await run.ended() };
    });
    for (const { code, ended } of await Promise.all(races)) {
      t.equal(ended.data['outcome'], code === undefined ? 'deployed' : 'expired');
      t.ok(code === undefined || code === 'TASK_NOT_WAITING', `${code}`);
      t.equal(visits(ended)['tell'], 1);
    }
  });

  await t.test('what is no push to main is ignored: other branches, deletions, pings', async (t) => {
    const payload = event['webhookPayload'] as object;
    const before = ci.asked.length;
    for (const data of [
      { webhookPayload: { ...payload, ref: 'refs/heads/feature' } },
      { webhookPayload: { ...payload, deleted: true } },
      { webhookPayload: { zen: 'Keep it logically awesome.' }, webhookHeaders: { 'x-github-event': 'ping' } },
    ]) {
      t.match((await (await pushed(data)).ended()).data, { outcome: 'ignored' });
    }
    t.equal(ci.asked.length, before);
    const { deleted: _, ...unsaid } = payload as { deleted: boolean };
    building(1, 'SUCCESS');
    await (await pushed({ webhookPayload: unsaid })).answer('approve', { inputValue: 'reject' });
  });

  await t.test('the same delivery starts one run', async (t) => {
    const body = { processId: '0d2c7a52-4f5e-4c0e-9a57-7f0a1f0f6a15', data: { ...event, ...settings } };
    const options = { idempotencyKey: '72d3162e-cc78-11e3-81ab-4c9367dc0958' };
    const starts = await Promise.all([1, 2, 3].map(() => own.client.call('execProcess', { body }, options)));
    t.equal(new Set(starts.map(({ processInstanceId }) => processInstanceId)).size, 1);
  });
});

t.test('incident-runbook', async (t) => {
  const world = await outside(t);
  const own = await service(t, 'incident-runbook');
  world.answer('POST /tickets', () => ({ id: `INC-${world.bodies('POST /tickets').length}` }));
  const urls = { ticketUrl: world.url, chatUrl: `${world.url}/chat`, pagerUrl: `${world.url}/page` };
  const incident = (severity: string, more = {}) => own.start('incident-runbook', { severity, ...urls, ...more });
  const green = (ticketId: unknown) =>
    own.client.call('sendEvent', { body: { eventType: 'monitor-green', correlationKey: String(ticketId) } });
  const investigated = async (run: Awaited<ReturnType<typeof incident>>) => {
    await run.answer('hardware');
    await run.answer('software');
  };

  await t.test('the severity says who is told', async (t) => {
    for (const [severity, told] of [
      ['P1', ['/page', '/chat']],
      ['P2', ['/chat']],
      ['P4', []],
    ] as const) {
      const from = world.asked.length;
      const run = await incident(severity);
      await investigated(run);
      await run.reached('awaitGreen');
      const { data, nodes } = await run.now();
      t.strictSame(
        world.asked
          .slice(from + 1)
          .map(({ path }) => path)
          .sort(),
        [...told].sort(),
        severity,
      );
      t.equal(data['notice'] === undefined, severity !== 'P4');
      t.equal(nodes.filter(({ nodeId }) => nodeId === 'investigate').length, 1, 'joined once');
      t.match(world.bodies('POST /tickets').at(-1), { title: `[${severity}] shop` });
    }
  });

  await t.test('investigated, green again, written down', async (t) => {
    const run = await incident('P1');
    await investigated(run);
    await run.reached('awaitGreen');
    const { ticketId } = (await run.now()).data;
    t.equal(await refusal(green('INC-0')), 'NO_MATCHING_SUBSCRIPTION', 'of another incident');
    await green(ticketId);
    t.equal(await refusal(green(ticketId)), 'NO_MATCHING_SUBSCRIPTION', 'taken already');
    t.match((await run.task('postmortem')).form['title'], `${ticketId}: what happened to shop, and why?`);
    await run.answer('postmortem', { cause: 'a full disk' });
    t.match(await run.ended(), { stateCd: 1, data: { cause: 'a full disk' } });
  });

  await t.test('escalated while the investigation goes on', async (t) => {
    const run = await incident('P4', { escalateAt: 'PT0.05S' });
    await run.reached('told');
    t.match(
      (await run.tasks()).map(({ nodeId }) => nodeId),
      ['hardware', 'software'],
    );
    t.match(world.bodies('POST /chat').at(-1), { channel: '#managers' });
    await investigated(run);
    await run.reached('awaitGreen');
  });

  await t.test('an escalation that nobody hears does not end the incident', async (t) => {
    world.answer('POST /chat', 400);
    const run = await incident('P4', { escalateAt: 'PT0.05S' });
    await run.reached('told');
    await investigated(run);
    await run.reached('awaitGreen');
    t.match(
      (await run.now()).nodes.find(({ nodeId }) => nodeId === 'tellManagers'),
      { statusCd: 3, attempt: 3 },
    );
    world.answer('POST /chat', {});
  });

  await t.test('an investigation that takes too long is cancelled, and managers take over', async (t) => {
    const run = await incident('P4', { patience: 'PT0.2S' });
    await run.task('takeOver');
    t.match(
      (await run.tasks()).map(({ nodeId }) => nodeId),
      ['takeOver'],
    );
    const { children } = await run.now();
    const params = { processInstanceId: String(children[0]) };
    const stale = run.submit({ ...params, nodeId: 'software' }, 'COMPLETE', {});
    t.equal(await refusal(stale), 'TASK_NOT_WAITING');
    t.equal((await own.client.call('getInstance', { params })).stateCd, 3);
    await run.answer('takeOver');
    await run.reached('awaitGreen');
  });

  await t.test('still red: the investigation begins anew', async (t) => {
    const run = await incident('P4', { greenWithin: 'PT0.05S' });
    await investigated(run);
    await run.reached('investigate', 2);
    const { data } = await run.now();
    t.equal(await refusal(green(data['ticketId'])), 'NO_MATCHING_SUBSCRIPTION', 'nothing waits meanwhile');
    t.match((await run.task('hardware')).form['title'], /INC-\d+/);
  });
});

t.test('incident-runbook: as long as it is investigated it is escalated at each quarter of an hour', async (t) => {
  const { world, run } = pure('incident-runbook', { severity: 'P4' });
  run.finish('createTicket', { status: 201, headers: {}, body: { id: 'INC-1' } });
  const escalations = () => run.nodes.filter((node) => node.startsWith('escalate ')).length;
  for (const [time, count] of [
    ['PT14M', 0],
    ['PT1M', 1],
    ['PT15M', 2],
    ['PT1H', 6],
  ] as const) {
    world.advance(time);
    t.equal(escalations(), count);
  }
  const [child] = run.children();
  child?.complete('hardware');
  child?.complete('software');
  world.advance('PT29M');
  t.equal(escalations(), 6, 'not any more');
  t.ok(run.active.includes('awaitGreen'));
  world.advance('PT1M');
  t.ok(run.active.includes('investigate'), 'still red after half an hour');
  world.advance('PT4H');
  t.ok(run.active.includes('takeOver'), 'a new investigation has four hours of its own');
});

t.test('regional-report', async (t) => {
  const answer = (region: string, amount: number) => ({ status: 200, headers: {}, body: { region, amount } });

  await t.test('the rows of all regions are added up and mailed', async (t) => {
    const { run } = pure('regional-report');
    t.strictSame(run.active, ['collect', 'fetch', 'fetch', 'fetch'], 'several at once');
    for (const [region, amount] of Object.entries({ north: 10, south: 0, west: 5 }))
      run.finish('fetch', answer(region, amount));
    t.strictSame(run.variables['rows'], [
      { region: 'north', amount: 10 },
      { region: 'south', amount: 0 },
      { region: 'west', amount: 5 },
    ]);
    run.finish('aggregate', { rows: [{ region: 'north', amount: 10 }], total: 10, text: 'north: 10' });
    run.finish('mail');
    t.equal(run.outcome, 'Completed');
    t.equal(run.variables['outcome'], 'sent');
  });

  await t.test('a mail that can not be sent is told of', async (t) => {
    const { world, run } = pure('regional-report', { regions: [] });
    run.finish('aggregate', { rows: [{ region: 'north', amount: 10 }], total: 10, text: 'north: 10' });
    for (let tries = 5; tries > 0; tries -= 1) {
      run.fail('mail', 'EMAIL_REFUSED');
      world.advance('PT80S');
    }
    t.strictSame(run.active, ['alert']);
    t.match(run.variables['error'], { code: 'EMAIL_REFUSED', nodeId: 'mail' });
  });

  await t.test('it runs on working nights, one run at a time, and makes up for a night that was missed', async (t) => {
    t.match(pure('regional-report').flow.triggers, [
      { type: 'schedule', cron: '30 2 * * 1-5', timezone: 'Europe/Berlin', overlap: 'skip', catchUp: true },
    ]);
  });

  const sales = await outside(t);
  const mails = await mailbox(t);
  const own = await serviceWith(t, { smtp: mails.smtp }, 'regional-report');
  const report = (regions: string[]) =>
    own.start('regional-report', { regions, salesUrl: sales.url, alertUrl: `${sales.url}/alerts` });

  await t.test('the totals come by mail', async (t) => {
    sales.answer('GET /sales', ({ query }) => ({ region: query.get('region'), amount: 7 }));
    t.match((await (await report(['north', 'west'])).ended()).data, { outcome: 'sent', report: { total: 14 } });
    const [mail = ''] = mails.received;
    t.match(mail, /^To: sales@acme\.example\r$/m);
    t.match(mail, /^Subject: Sales: 14\r$/m);
    t.match(mail, /\r\nnorth: 7\r\nwest: 7\r\nTotal: 14\r\n/);
    mails.received.length = 0;
  });

  await t.test('no regions, or nothing sold: no mail', async (t) => {
    sales.answer('GET /sales', ({ query }) => ({ region: query.get('region'), amount: 0 }));
    t.match((await (await report([])).ended()).data, { outcome: 'no data', rows: [] });
    const ended = await (await report(['north & south', 'west'])).ended();
    t.match(ended.data, { outcome: 'no data', rows: [{ region: 'north & south' }, { region: 'west' }] });
    t.strictSame(mails.received, []);
  });

  await t.test(
    'a region that fails once is asked again; one that fails for good ends the night, handled',
    async (t) => {
      let left = 2;
      sales.answer('GET /sales', ({ query }) => {
        const region = query.get('region');
        return region === 'south' && left-- > 0 ? 503 : { region, amount: 0 };
      });
      t.match((await (await report(['north', 'south'])).ended()).data, { outcome: 'no data' });
      left = 3;
      const ended = await (await report(['north', 'south', 'west'])).ended();
      t.match(ended, { stateCd: 1, data: { outcome: 'failed and handled', error: { code: 'HTTP_503' } } });
      t.match(sales.bodies('POST /alerts'), [{ text: /^No report: HTTP_503: GET/ }]);
      t.notOk('aggregate' in visits(ended));
    },
  );
});

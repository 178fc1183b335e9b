import t from 'tap';
import { flowText, outside, refusal, service, visits } from './service.ts';

t.test('invoice-approval', async (t) => {
  const archive = await outside(t);
  const own = await service(t, 'review-invoice', 'invoice-approval');
  const invoice = (amount: number, more = {}) =>
    own.start('invoice-approval', { amount, archiveUrl: archive.url, ...more });

  await t.test('the amount and the category say who may approve', async (t) => {
    for (const [amount, category, candidates] of [
      [249, 'Travel Expenses', ['accounting']],
      [250, 'Travel Expenses', ['accounting', 'sales']],
      [1000, 'Travel Expenses', ['accounting', 'sales']],
      [1000, 'Misc', ['accounting']],
      [1000.01, 'Misc', ['management']],
    ] as const) {
      const run = await invoice(amount, { invoiceCategory: category });
      const task = await run.task('approveInvoice');
      t.strictSame(task.candidates, candidates, `${amount} ${category}`);
      t.equal(task.form['title'], `Approve invoice GPFE-23232323 of Great Pizza for Everyone Inc. over ${amount}?`);
    }
  });

  await t.test('approved at once', async (t) => {
    const run = await invoice(30);
    await run.answer('approveInvoice', { approved: true });
    await run.answer('prepareBankTransfer');
    const { stateCd, data, children } = await run.ended();
    t.equal(stateCd, 1);
    t.equal(data['outcome'], 'processed');
    t.strictSame(children, []);
    t.match(archive.bodies('POST /invoices').at(-1), { invoiceNumber: 'GPFE-23232323', amount: 30 });
  });

  await t.test('refused and clarified, twice, then approved', async (t) => {
    const run = await invoice(300);
    for (const reviewer of ['ada', 'alan']) {
      await run.answer('approveInvoice', { approved: false });
      await run.answer('assignReviewer', { reviewer });
      t.equal((await run.task('reviewInvoice')).assignee, reviewer);
      await run.answer('reviewInvoice', { clarified: true, comment: 'fine' });
    }
    await run.answer('approveInvoice', { approved: true });
    await run.answer('prepareBankTransfer');
    const ended = await run.ended();
    t.match(ended, { stateCd: 1, data: { outcome: 'processed', review: { clarified: true } } });
    t.match(visits(ended), { approveInvoice: 3, reviewInvoice: 2 });
    t.equal(ended.children.length, 2, 'each review is an instance of its own');
    t.equal(ended.data['comment'], undefined, 'what the review set stays in its result');
  });

  await t.test('refused and not clarified: never paid', async (t) => {
    const before = archive.asked.length;
    const run = await invoice(300);
    await run.answer('approveInvoice', { approved: false });
    await run.answer('assignReviewer', { reviewer: 'ada' });
    await run.answer('reviewInvoice', { clarified: false });
    t.match(await run.ended(), { stateCd: 1, data: { outcome: 'not processed' } });
    t.equal(archive.asked.length, before);
  });

  await t.test('the answer must say whether it is approved', async (t) => {
    const run = await invoice(30);
    const task = await run.task('approveInvoice');
    t.equal(await refusal(run.submit(task, 'COMPLETE', {})), 'VALIDATION_ERROR');
    t.equal(await refusal(run.submit(task, 'COMPLETE', { approved: 'yes' })), 'VALIDATION_ERROR');
    t.match(await run.tasks(), [{ nodeId: 'approveInvoice' }], 'a refused answer changes nothing');
  });

  await t.test('an archive that fails is asked again, with the same key, and once more by hand', async (t) => {
    const failing = (times: number) => {
      let left = times;
      return () => (left-- > 0 ? 503 : {});
    };
    const archived = async () => {
      const from = archive.asked.length;
      const run = await invoice(30);
      await run.answer('approveInvoice', { approved: true });
      await run.answer('prepareBankTransfer');
      return { run, ended: await run.ended(), keys: archive.asked.slice(from).map((asked) => asked.idempotencyKey) };
    };
    archive.answer('POST /invoices', failing(2));
    const mended = await archived();
    t.equal(mended.ended.stateCd, 1);
    t.equal(mended.keys.length, 3);
    t.equal(new Set(mended.keys).size, 1, 'it can tell that it is the same invoice');

    archive.answer('POST /invoices', failing(3));
    const { run, ended } = await archived();
    t.match(ended, { stateCd: 2, error: { code: 'HTTP_503', nodeId: 'archiveInvoice' } });
    const params = { processInstanceId: run.id };
    const { processInstanceId } = await own.client.call('retryInstance', { params, body: {} });
    const again = await own.until(async () => {
      const instance = await own.client.call('getInstance', { params: { processInstanceId } });
      return instance.stateCd === 0 ? undefined : instance;
    });
    t.match(again, { stateCd: 1, retryOf: run.id, data: { outcome: 'processed' } });
    t.notOk('approveInvoice' in visits(again), 'nobody is asked twice');
  });

  await t.test('an instance keeps the version that it began with', async (t) => {
    const [before, after] = [await invoice(30), flowText('invoice-approval')];
    const second = after
      .replace('{ to: notifyCreditor,', '{ to: prepareBankTransfer,')
      .replace(/^ {2}notifyCreditor: .*\n/m, '');
    t.equal(await own.publish(second), '2');
    const since = await invoice(30);
    for (const run of [before, since]) {
      await run.answer('approveInvoice', { approved: true });
      await run.answer('prepareBankTransfer');
    }
    const [old, recent] = [await before.ended(), await since.ended()];
    t.match([old.processVersion, recent.processVersion], ['1', '2']);
    t.match(old.data['notice'], /is on its way/);
    t.equal(recent.data['notice'], undefined);
  });
});

t.test('leave-request', async (t) => {
  const mail = await outside(t);
  const own = await service(t, 'leave-request');
  const asked = () => own.start('leave-request', { numberOfDays: 10, mailUrl: `${mail.url}/mail` });

  await t.test('approved: true and "true" are the same', async (t) => {
    for (const vacationApproved of [true, 'true']) {
      const run = await asked();
      await run.answer('handleRequest', { vacationApproved });
      t.match(await run.ended(), { stateCd: 1, data: { outcome: 'granted' } });
    }
    t.match(mail.bodies('POST /mail'), [{ to: 'Ada', text: /10 days/ }, {}]);
  });

  await t.test('not approved, adjusted, decided again', async (t) => {
    const run = await asked();
    await run.answer('handleRequest', { vacationApproved: false, managerMotivation: 'too busy' });
    t.match((await run.task('adjustRequest')).form['title'], /too busy/);
    await run.answer('adjustRequest', { resendRequest: 'true', numberOfDays: 3 });
    t.match((await run.task('handleRequest')).form['title'], /^Approve 3 days/);
    await run.answer('handleRequest', { vacationApproved: 'false' });
    await run.answer('adjustRequest', { resendRequest: true });
    await run.answer('handleRequest', { vacationApproved: true });
    const ended = await run.ended();
    t.match(ended, { stateCd: 1, data: { outcome: 'granted', numberOfDays: 3 } });
    t.match(visits(ended), { handleRequest: 3, adjustRequest: 2 });
  });

  await t.test('not approved, withdrawn', async (t) => {
    const run = await asked();
    await run.answer('handleRequest', { vacationApproved: false });
    await run.answer('adjustRequest', { resendRequest: false });
    t.match(await run.ended(), { stateCd: 1, data: { outcome: 'withdrawn' } });
  });

  await t.test('an answer that is neither finds no way', async (t) => {
    for (const vacationApproved of ['yes', 'TRUE', '']) {
      const run = await asked();
      await run.answer('handleRequest', { vacationApproved });
      t.match(await run.ended(), { stateCd: 2, error: { code: 'NO_FLOW_SELECTED', nodeId: 'isApproved' } });
    }
  });

  await t.test('a boolean makes a boolean of what it is compared with', async (t) => {
    await own.publish(flowText('leave-request').replaceAll("== 'false'", "== 'no'"));
    const run = await asked();
    await run.answer('handleRequest', { vacationApproved: false });
    await run.answer('adjustRequest', { resendRequest: false });
    t.match(
      await run.ended(),
      { stateCd: 1, data: { outcome: 'withdrawn' } },
      "'no' is as false as any text but 'true'",
    );
  });

  await t.test('an answer that does not come up: the condition fails with its reason', async (t) => {
    const run = await asked();
    await run.answer('handleRequest', {});
    t.match(await run.ended(), { stateCd: 2, error: { code: 'EXPRESSION_ERROR', message: /vacationApproved/ } });
  });
});

t.test('sales-lead-review', async (t) => {
  const crm = await outside(t);
  const own = await service(t, 'sales-lead-review');
  const provided = async (customerName: string) => {
    const run = await own.start('sales-lead-review', { crmUrl: crm.url });
    await run.answer('provideLead', { customerName, potentialProfit: 1000 });
    return run;
  };

  await t.test('enough information: both reviews, in any order', async (t) => {
    for (const first of ['reviewProfitability', 'reviewCustomerRating']) {
      const run = await provided('Alfresco');
      const answers = { reviewProfitability: { notEnoughInformation: false }, reviewCustomerRating: { rating: 5 } };
      await run.answer(first, answers[first as keyof typeof answers]);
      const second = first === 'reviewProfitability' ? 'reviewCustomerRating' : 'reviewProfitability';
      await run.answer(second, answers[second]);
      t.match(await run.ended(), { stateCd: 1, data: { lead: { customer: 'Alfresco', profit: 1000, rating: 5 } } });
      t.match(crm.bodies('POST /leads').at(-1), { lead: { rating: 5 }, details: '' });
    }
  });

  await t.test('three rounds: the error cancels the other review, and two fresh tasks follow', async (t) => {
    const run = await provided('Camunda');
    const dead = [];
    for (const details of ['first', 'second', 'third']) {
      dead.push(await run.answer('reviewCustomerRating', { rating: 1 }));
      dead.push(await run.answer('reviewProfitability', { notEnoughInformation: true }));
      const left = await run.task('provideDetails');
      t.equal((await run.tasks()).length, 1, 'nothing of the review waits any more');
      await run.submit(left, 'COMPLETE', { details });
    }
    const unrated = await run.task('reviewCustomerRating');
    dead.push(await run.answer('reviewProfitability', { notEnoughInformation: true }), unrated);
    await run.answer('provideDetails', { details: 'all' });
    for (const task of dead)
      t.equal(await refusal(run.submit(task, 'COMPLETE', { rating: 2 })), 'TASK_NOT_WAITING', 'old tasks are dead');
    const [one, other] = [await run.task('reviewProfitability'), await run.task('reviewCustomerRating')];
    t.notOk(dead.some(({ processInstanceId }) => processInstanceId === one.processInstanceId));
    t.match(one.form['title'], /worth 1000\? all$/);
    await run.submit(other, 'COMPLETE', { rating: 4 });
    await run.submit(one, 'COMPLETE', { notEnoughInformation: false });
    const ended = await run.ended();
    t.match(ended, { stateCd: 1, data: { lead: { rating: 4 }, details: 'all' } });
    t.equal(ended.children.length, 5);
    t.match(crm.bodies('POST /leads').at(-1), { lead: { rating: 4 }, details: 'all' }, 'stored once, at the end');
  });
});

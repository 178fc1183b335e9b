import { setTimeout } from 'node:timers/promises';
import t from 'tap';
import { prepareWork } from '../../src/engine/index.ts';
import type { JsonObject } from '../../src/engine/json.ts';
import { mailServer, message, PASSWORD, USER } from '../daemon/imap.ts';
import { models } from '../daemon/models.ts';
import { pure } from './pure.ts';
import { flowData, outside, Run, refusal, service, serviceWith } from './service.ts';

t.test('invoice-intake', async (t) => {
  const archive = await outside(t);
  const own = await service(t, 'review-invoice', 'invoice-approval', 'invoice-intake');
  const email = (more: JsonObject) =>
    own.start('invoice-intake', { ...flowData('invoice-intake'), archiveUrl: archive.url, ...more });
  const entryOf = async (run: Awaited<ReturnType<typeof email>>) => (await run.ended()).data['entry'];

  await t.test('a small invoice of a known sender needs nobody', async (t) => {
    const run = await email({ emailBody: 'Hello,\r\n\r\nAmount: 250\r\nThank you\r\n' });
    t.match(await entryOf(run), { invoice: { amount: 250, number: 'AC-1042' }, status: 'accepted' });
  });

  await t.test('amounts are read as people write them', async (t) => {
    for (const [written, amount] of [
      ['Amount: EUR 1.234,50', 1234.5],
      ['Total: $1,234.50', 1234.5],
      ["Total 1'234.5 CHF", 1234.5],
      ['amount 12.345', 12345],
      ['Betrag: 99,9', 99.9],
      ['Amount:\r\n7', 7],
    ] as const) {
      const run = await email({ emailBody: written, emailSender: 'x@y.example' });
      const { title } = (await run.task('approveInvoice')).form as { title: string };
      t.equal(title, `Approve invoice AC-1042 of x@y.example over ${amount}?`, written);
    }
  });

  await t.test('a large one, or one of a stranger, is approved by the other flow', async (t) => {
    const large = await email({});
    t.strictSame((await large.task('approveInvoice')).candidates, ['management']);
    await large.answer('approveInvoice', { approved: true });
    await large.answer('prepareBankTransfer');
    t.match(await entryOf(large), { invoice: { amount: 1234.5 }, status: 'processed' });
    t.match(archive.bodies('POST /invoices'), [{ invoiceNumber: 'AC-1042', amount: 1234.5 }]);

    const strange = await email({ emailBody: 'Total: 5', emailSender: 'someone@else.example' });
    t.strictSame((await strange.task('approveInvoice')).candidates, ['accounting']);
    await strange.answer('approveInvoice', { approved: false });
    await strange.answer('assignReviewer', { reviewer: 'ada' });
    await strange.answer('reviewInvoice', { clarified: false });
    t.match(await entryOf(strange), { status: 'not processed' });
  });

  await t.test('what can not be read is mended by a person', async (t) => {
    for (const more of [
      { emailBody: 'As agreed.' },
      { emailBody: 'Amount: 0' },
      { emailSubject: 'Invoice', emailBody: 'Amount: 3' },
    ]) {
      const run = await email(more);
      const task = await run.task('fixData');
      t.equal(await refusal(run.submit(task, 'COMPLETE', { amount: '1.234,50', number: 'X-1' })), 'VALIDATION_ERROR');
      await run.submit(task, 'COMPLETE', { amount: '250', number: 'X-1' });
      t.match(await entryOf(run), { invoice: { amount: 250, number: 'X-1' } }, 'a text with digits is a number');
    }
    const dropped = await email({ emailBody: '' });
    await dropped.cancelTask('fixData');
    t.match((await dropped.ended()).data, { status: 'dropped' });
  });

  await t.test('an email is text: braces, encoded words and line ends stay as they are', async (t) => {
    const mail = {
      emailSubject: 'Invoice {env.SECRET} ${1+1} {{emailSender}} =?utf-8?Q?Rechnung_=C3=A9?= Rechnung é AC-7',
      emailBody: 'Amount: 10\r\n\r\n{emailSender}',
      emailRecipients: ['a@x.example', 'b@x.example'],
    };
    t.match(await entryOf(await email(mail)), {
      subject: mail.emailSubject,
      recipients: mail.emailRecipients,
      invoice: { amount: 10, number: 'AC-7' },
    });
    const asked = await email({ ...mail, emailBody: '{emailSender}' });
    t.equal(
      (await asked.task('fixData')).form['title'],
      `What does "${mail.emailSubject}" of billing@acme.example say?`,
    );
  });
});

t.test('invoice-intake, from a real inbox', async (t) => {
  const mail = await mailServer(t);
  const own = await service(t, 'review-invoice', 'invoice-approval', 'invoice-intake');
  const place = { host: '127.0.0.1', port: mail.port, tls: false, user: USER, password: PASSWORD };
  const { id: connectionId } = await own.client.call('createEmailConnection', { body: { name: 'invoices', ...place } });
  const isOpen = async () => {
    const { status, flows } = await own.client.call('getEmailConnection', { params: { connectionId } });
    return status.state === 'CONNECTED' && flows.length === 1;
  };
  while (!(await isOpen())) await setTimeout(5);

  const known = {
    From: 'Acme Billing <billing@acme.example>',
    To: 'invoices@shop.example, Books <books@shop.example>',
  };
  mail.deliver(message({ ...known, Subject: 'Newsletter' }, 'Amount: 1'));
  mail.deliver(message({ ...known, Subject: 'Your invoice AC-1' }, 'Hello,\n\nAmount: 250\nThank you\n'));
  const encoded = '=?utf-8?Q?Invoice_{env.SECRET}_f=C3=BCr_AC-2?=';
  mail.deliver(message({ ...known, Subject: encoded }, 'Amount: EUR 1.234,50\n'));
  mail.deliver(message({ ...known, Subject: 'Invoice' }, 'As agreed.'));

  const runs = await own.until(async () => {
    const { items } = await own.client.call('listInstances', { query: { limit: 10 } });
    const mine = items.filter(({ processName }) => processName === 'Invoice intake').reverse();
    return mine.length === 3 ? mine.map(({ processInstanceId }) => new Run(own, processInstanceId, '')) : undefined;
  });
  const [small, large, unreadable] = runs as [Run, Run, Run];
  t.match((await small.ended()).data['entry'], {
    subject: 'Your invoice AC-1',
    recipients: ['invoices@shop.example', 'books@shop.example'],
    invoice: { amount: 250, number: 'AC-1' },
    status: 'accepted',
  });
  t.match((await small.now()).trigger, { type: 'email', connectionName: 'invoices', uid: 2 });
  await large.reached('approval');
  t.match((await large.now()).data, {
    emailSubject: 'Invoice {env.SECRET} für AC-2',
    invoice: { amount: 1234.5, number: 'AC-2' },
  });
  await unreadable.reached('fixData');
  await unreadable.submit({ processInstanceId: unreadable.id, nodeId: 'fixData' }, 'CANCEL', {});
  t.match((await unreadable.ended()).data, { status: 'dropped' });
});

t.test('llm-triage, up to the model', async (t) => {
  const issue = (title: string) => {
    const data = flowData('llm-triage');
    const payload = data['webhookPayload'] as { issue: JsonObject } & JsonObject;
    return { ...data, webhookPayload: { ...payload, issue: { ...payload.issue, title } } };
  };
  /** A run whose model has answered. */
  const answered = (answer: unknown) => {
    const { world, run } = pure('llm-triage', issue('Totals are wrong'));
    run.finish('fetch', { status: 200, headers: {}, body: 'Be kind.' });
    run.finish('ask', answer as never);
    return { world, run };
  };
  /** What `parse` makes of the model's answer; the sandbox runs it below. */
  const read = (run: ReturnType<typeof answered>['run'], triage: JsonObject) => {
    run.finish('parse', { reply: 'Thank you.', ...triage });
    return run.active;
  };

  await t.test('an issue is text: nothing in it is resolved again', async (t) => {
    const title = 'Crash {env.SECRET} {forgeUrl} ${1+1}';
    const { run, flow } = pure('llm-triage', issue(title));
    run.finish('fetch', { status: 200, headers: {}, body: '{env.SECRET}' });
    const { input, warnings } = prepareWork(flow, run.state, run.activation('ask').n, () => 's3cret');
    t.match(input['prompt'], `# ${title}\n\nSince yesterday`);
    t.match(input['system'], 'guidelines:\n{env.SECRET}\nAnswer only with JSON: {"label": text,');
    t.notMatch(JSON.stringify(input), 's3cret');
    t.strictSame(warnings, []);
  });

  await t.test('sure enough: 0.9 and more, as a number or as text', async (t) => {
    for (const confidence of [0.9, 1, '0.95']) {
      t.strictSame(read(answered('').run, { label: 'bug', confidence }), ['comment'], `${confidence}`);
    }
    for (const [label, confidence] of [
      ['bug', 0.89],
      ['bug', '0.5'],
      ['bug', null],
      ['security', 1],
      [null, null],
    ] as const) {
      t.strictSame(read(answered('').run, { label, confidence }), ['review'], `${label} ${confidence}`);
    }
    t.strictSame(read(answered('').run, { label: 'bug', confidence: 'very' }), ['review'], 'a word is no number');
  });

  await t.test('a model that fails leaves it to a person', async (t) => {
    const { world, run } = pure('llm-triage', issue('x'));
    run.finish('fetch', { status: 200, headers: {}, body: '' });
    for (const wait of ['PT5S', 'PT10S', 'PT0S']) {
      run.fail('ask', 'AI_UNAVAILABLE');
      world.advance(wait);
    }
    t.strictSame(run.active, ['review']);
  });

  await t.test('a person answers, leaves it, or does not come', async (t) => {
    const form = answered('');
    read(form.run, { label: 'bug', confidence: 0.1 });
    form.run.complete('review', { label: 'question', reply: 'Which browser?' });
    t.match(form.run.variables['triage'], { label: 'question', reply: 'Which browser?' });
    t.strictSame(form.run.active, ['comment']);
    form.run.finish('comment');
    t.equal(form.run.variables['outcome'], 'commented');

    const left = answered('');
    read(left.run, { label: 'bug', confidence: 0.1 });
    left.run.cancelTask('review');
    t.match([left.run.outcome, left.run.variables['outcome']], ['Completed', 'left alone']);

    const late = answered('');
    read(late.run, { label: 'bug', confidence: 0.1 });
    late.world.advance('P2D');
    t.strictSame(late.run.active, ['comment']);
    t.match(late.run.variables['triage'], { reply: 'We will look at it.' });
  });

  await t.test('only what was just opened is triaged', async (t) => {
    const data = flowData('llm-triage');
    const closed = { ...(data['webhookPayload'] as JsonObject), action: 'closed' };
    t.equal(pure('llm-triage', { ...data, webhookPayload: closed }).run.outcome, 'Completed');
  });
});

t.test('llm-triage, with a model', async (t) => {
  const forge = await outside(t);
  forge.answer('GET /guidelines', { tone: 'kind' });
  let given = '';
  const model = await models(t, () => ({ text: given }));
  const local = { type: 'openai-compatible', baseURL: `${model.url}/v1`, model: 'small' };
  const own = await serviceWith(t, { ai: { providers: { local } } }, 'llm-triage');
  const answered = (answer: string, data = flowData('llm-triage')) => {
    given = answer;
    return own.start('llm-triage', { ...data, forgeUrl: forge.url });
  };

  await t.test('JSON, by itself or in a code fence', async (t) => {
    const triage = { label: 'bug', confidence: 0.95, reply: 'Thank you.' };
    const text = JSON.stringify(triage);
    for (const answer of [text, `\`\`\`json\n${text}\n\`\`\``, text.replace('0.95', '"0.95"')]) {
      const run = await answered(answer);
      t.match((await run.ended()).data, { outcome: 'commented', triage: { label: 'bug' } });
      t.strictSame(forge.bodies('POST /issues/17/comments').at(-1), { label: 'bug', text: 'Thank you.' });
    }
    t.match(model.asked[0]?.body.messages, [
      { role: 'system', content: /guidelines:\n\{"tone":"kind"\}/ },
      { role: 'user', content: /^# Totals are wrong\n\nSince yesterday/ },
    ]);
  });

  await t.test('no JSON, or nothing sure in it: a person is asked', async (t) => {
    const before = forge.bodies('POST /issues/17/comments').length;
    for (const answer of ['I think this is a bug.', '', 'null', '{"label":"bug","confidence":null}', '{}', '[]']) {
      const run = await answered(answer);
      t.match((await run.task('review')).form['title'], 'Issue 17: Totals are wrong', answer);
      await run.cancelTask('review');
      t.match((await run.ended()).data, { outcome: 'left alone' });
    }
    t.equal(forge.bodies('POST /issues/17/comments').length, before);
  });

  await t.test('braces of a stranger go to the model, and into the comment, as they are', async (t) => {
    await own.client.call('setEnvironment', { body: { name: 'TOKEN', value: 'xyzzy' } });
    const data = flowData('llm-triage');
    const payload = data['webhookPayload'] as { issue: JsonObject } & JsonObject;
    const title = 'Crash {env.TOKEN} {forgeUrl}';
    const answer = { label: 'bug', confidence: 1, reply: 'About {env.TOKEN}: thank you.' };
    const webhookPayload = { ...payload, issue: { ...payload.issue, title } };
    await (await answered(JSON.stringify(answer), { ...data, webhookPayload })).ended();
    t.match(JSON.stringify(model.asked.at(-1)?.body), title);
    t.match(forge.bodies('POST /issues/17/comments').at(-1), { text: answer.reply });
    t.notMatch(JSON.stringify([model.asked.at(-1)?.body, forge.asked]), /xyzzy/);
  });
});

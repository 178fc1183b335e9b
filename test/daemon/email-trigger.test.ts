import { setTimeout as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { EmailConnection } from '../../src/contract/types.ts';
import type { InstanceView } from '../../src/daemon/runtime/door.ts';
import type { Clock } from '../../src/daemon/triggers/clock.ts';
import { tempFolder } from '../folder.ts';
import { type MailServer, mailServer, message, PASSWORD, USER } from './imap.ts';
import { newFlowId } from './live.ts';
import { openServer, publish, type Setup, type TestServer } from './server.ts';

t.setTimeout(120_000);

/** The real time, in which nobody waits long. */
const clock: Clock = {
  now: () => Date.now(),
  after(ms, ring) {
    const timer = setTimeout(ring, Math.min(ms, 5));
    return () => clearTimeout(timer);
  },
};
const opened = (t: Test, setup: Setup = {}) => openServer(t, { clock, ...setup });

const flow = (filters = '', id = newFlowId()): string => `id: ${id}
name: By mail
triggers: [{ type: email, connection: inbox${filters} }]
nodes:
  start: { type: startEvent, next: done }
  done: { type: endEvent }
`;
const idIn = (source: string): string => /^id: (\S+)/.exec(source)?.[1] ?? '';

/** A connection to a mail server, open unless it is said that it can't be. */
async function connect(server: TestServer, { port }: Pick<MailServer, 'port'>, more: object = {}): Promise<string> {
  const settings = { name: 'inbox', host: '127.0.0.1', port, tls: false, user: USER, password: PASSWORD, ...more };
  const { status, body } = await server.call('POST', '/admin/email-connections', { body: settings });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.id;
}
const shown = async (server: TestServer, id: string): Promise<EmailConnection> =>
  (await server.call('GET', `/admin/email-connections/${id}`)).body;

/** Waits for what is bound to come. */
async function until<T>(look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await turn(2);
  }
}
const inState = (server: TestServer, id: string, state: string): Promise<EmailConnection> =>
  until(async () => {
    const connection = await shown(server, id);
    return connection.status.state === state ? connection : undefined;
  });

/** The runs of a flow, oldest first, as soon as there are so many. */
async function runs(server: TestServer, processId: string, count: number): Promise<InstanceView[]> {
  const items = await until(async () => {
    const page = await server.runtime.instances({ organizationId: undefined, processId, limit: 500 });
    return page.items.length >= count ? page.items : undefined;
  });
  const views = await Promise.all(items.map((one) => server.runtime.instance(undefined, one.processInstanceId)));
  return views.reverse() as InstanceView[];
}
const subjects = async (server: TestServer, processId: string, count: number): Promise<unknown[]> =>
  (await runs(server, processId, count)).map(({ data }) => data['emailSubject']);

t.test('a message starts the flow, with all that it says', async (t) => {
  const mail = await mailServer(t, { messages: [message({ Subject: 'Before' })] });
  const server = await opened(t);
  const source = flow();
  await publish(server, source);
  const id = await connect(server, mail);
  await inState(server, id, 'CONNECTED');
  const uid = mail.deliver(
    message(
      { Subject: 'Hello', Cc: 'Books <books@shop.example>, invoices@shop.example', 'Message-ID': '<1@x>' },
      'One\nTwo\n',
    ),
  );
  const [run] = await runs(server, idIn(source), 1);
  t.match(run?.data, {
    emailSubject: 'Hello',
    emailBody: 'One\nTwo\n',
    emailSender: 'ada@acme.example',
    emailRecipients: ['invoices@shop.example', 'books@shop.example'],
    emailAttachments: [],
    emailMessageId: '<1@x>',
    emailTruncated: false,
  });
  t.match(run?.trigger, {
    type: 'email',
    connectionId: id,
    connectionName: 'inbox',
    messageId: '<1@x>',
    mailbox: 'INBOX',
    uidValidity: '1',
    uid,
  });
  t.equal(run?.environment, 'PRODUCTION');
});

t.test('each message starts its flow once', async (t) => {
  const mail = await mailServer(t, { messages: [message({ Subject: 'Before' })] });
  const dataDir = tempFolder(t);
  const source = flow();
  const processId = idIn(source);

  await t.test('also when the connection drops, and what came meanwhile too', async (t) => {
    const server = await opened(t, { dataDir });
    await publish(server, source);
    const id = await connect(server, mail);
    await inState(server, id, 'CONNECTED');
    mail.deliver(message({ Subject: 'One' }));
    t.strictSame(await subjects(server, processId, 1), ['One']);
    const up = await mail.down();
    const { status } = await inState(server, id, 'RETRYING');
    t.match(status.problem, /^127\.0\.0\.1:\d+ broke off|^Nothing listens at 127\.0\.0\.1:\d+/);
    t.ok(status.retryAt);
    mail.deliver(message({ Subject: 'Two' }));
    await up();
    t.strictSame(await subjects(server, processId, 2), ['One', 'Two']);
    t.equal((await inState(server, id, 'CONNECTED')).status.problem, null);
  });

  await t.test('also across restarts, and what came meanwhile too', async (t) => {
    mail.deliver(message({ Subject: 'Three' }));
    const server = await opened(t, { dataDir });
    t.strictSame(await subjects(server, processId, 3), ['One', 'Two', 'Three']);
  });

  await t.test('also when it is copied, or moved away and back', async (t) => {
    const server = await opened(t, { dataDir });
    const copied = message({ Subject: 'Four' });
    mail.deliver(copied);
    mail.deliver(copied);
    mail.deliver(message({ Subject: 'Five' }));
    t.strictSame((await subjects(server, processId, 5)).slice(3), ['Four', 'Five']);
  });

  await t.test('also when the folder numbers its messages anew', async (t) => {
    const server = await opened(t, { dataDir });
    const [id = ''] = [...server.stores.emailConnections.list(undefined)].map((one) => one.id);
    for (const [at, more] of [{}, { copied: true }].entries()) {
      await inState(server, id, 'CONNECTED');
      mail.deliver(message({ Subject: `Unnumbered ${at}`, 'Message-ID': undefined }));
      await runs(server, processId, 6 + 2 * at);
      const up = await mail.down();
      const [late, old] = [message({ Subject: `Late ${at}` }), message({ Date: 'Thu, 01 Jan 2026 00:00:00 +0000' })];
      mail.deliver(late);
      mail.deliver(old);
      mail.renumber(more);
      await up();
      const found = await subjects(server, processId, 7 + 2 * at);
      t.strictSame(found.slice(5 + 2 * at), [`Unnumbered ${at}`, `Late ${at}`], JSON.stringify(more));
    }
    mail.deliver(message({ Subject: 'Last', Date: 'Thu, 01 Jan 2026 00:00:00 +0000' }));
    t.strictSame((await subjects(server, processId, 10)).slice(9), ['Last'], 'what is new may be of any date');

    const up = await mail.down();
    mail.lose();
    mail.deliver(message({ Subject: 'After the loss' }));
    await up();
    t.strictSame((await subjects(server, processId, 11)).slice(10), ['After the loss']);
  });
});

t.test('filters, flows and environments', async (t) => {
  const mail = await mailServer(t);
  const server = await opened(t);
  const [bySubject, bySender, byBoth] = [
    flow(', subjectContains: invoice'),
    flow(', senderMatches: "@acme.example"'),
    flow(', subjectContains: "RÉSUMÉ", senderMatches: "*.doe*@*.example"'),
  ] as const;
  for (const source of [bySubject, bySender, byBoth]) await publish(server, source);
  const drafted = flow();
  const only = { headers: { 'content-type': 'application/yaml' }, body: drafted };
  await server.call('POST', '/process/publish?environment=DEVELOPMENT', only);
  const twice = flow(' }, { type: email, connection: inbox');
  await publish(server, twice);
  const id = await connect(server, mail);
  t.equal((await inState(server, id, 'CONNECTED')).flows.length, 6, 'it says what it starts');

  for (const [subject, from] of [
    ['Your INVOICE 7', 'x@other.example'],
    ['Hello', 'Bob <Bob@ACME.example>'],
    ['Hello', 'bob@notacme.example'],
    ['=?utf-8?Q?My_r=C3=A9sum=C3=A9?=', 'j.doe.2@hr.example'],
    ['My résumé', 'doe@hr.example'],
    ['Invoice', 'eve@acme.example'],
  ] as const)
    mail.deliver(message({ Subject: subject, From: from }));
  t.equal((await subjects(server, idIn(twice), 6)).length, 6, 'two triggers that fit start one run');
  t.strictSame(await subjects(server, idIn(bySubject), 2), ['Your INVOICE 7', 'Invoice']);
  t.strictSame(await subjects(server, idIn(bySender), 2), ['Hello', 'Invoice']);
  t.strictSame(await subjects(server, idIn(byBoth), 1), ['My résumé']);
  const drafts = await runs(server, idIn(drafted), 6);
  t.ok(
    drafts.every(({ environment }) => environment === 'DEVELOPMENT'),
    'until it is published in PRODUCTION',
  );
});

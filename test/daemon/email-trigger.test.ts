import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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

/** A message with these parts, each with its own headers. */
function multipart(headers: Readonly<Record<string, string>>, parts: readonly string[]): string {
  const body = parts.map((part) => `--cut\n${part}\n`).join('');
  return message(
    { 'MIME-Version': '1.0', 'Content-Type': 'multipart/mixed; boundary=cut', ...headers },
    `${body}--cut--\n`,
  );
}
const attached = (name: string, type: string, content: Buffer | string): string =>
  `Content-Type: ${type}\nContent-Disposition: attachment; ${name}\nContent-Transfer-Encoding: base64\n\n${Buffer.from(
    content,
  )
    .toString('base64')
    .replace(/.{76}/g, '$&\n')}`;

t.test('attachments are files', async (t) => {
  const mail = await mailServer(t);
  const server = await opened(t, { maxFileBytes: 100_000 });
  const source = flow();
  await publish(server, source);
  await inState(server, await connect(server, mail), 'CONNECTED');

  const pdf = Buffer.from(Array.from({ length: 90_000 }, (_, at) => at % 251));
  const parts = [
    'Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\nGr=FC=DFe',
    attached('filename="..\\\\..\\\\C:\\\\bills/in voice.pdf"', 'application/pdf', pdf),
    attached("filename*=UTF-8''r%C3%A9sum%C3%A9.txt", 'text/plain', 'I am'),
    attached('filename=".."', 'no type', ''),
  ];
  mail.deliver(multipart({ Subject: 'Whole' }, parts));
  mail.deliver(multipart({ Subject: 'Part' }, [...parts, attached('filename=big.bin', 'a/b', Buffer.alloc(100_001))]));
  mail.deliver(multipart({ Subject: 'Many' }, Array(60).fill(attached('filename=x', 'a/b', 'x'))));
  const [whole, part, many] = await runs(server, idIn(source), 3);
  t.match(whole?.data, { emailBody: 'Grüße', emailTruncated: false });
  const files = whole?.data['emailAttachments'] as unknown as { id: string }[];
  t.match(files, [
    { name: 'in voice.pdf', contentType: 'application/pdf', size: 90_000 },
    { name: 'résumé.txt', contentType: 'text/plain', size: 4 },
    { name: 'attachment-3', contentType: 'application/octet-stream', size: 0 },
  ]);
  const kept = await fetch(`${server.url}/process/files/${files[0]?.id}`, { headers: { 'x-api-key': server.admin } });
  t.ok(Buffer.from(await kept.arrayBuffer()).equals(pdf), 'byte for byte');
  t.match(part?.data, { emailAttachments: { length: 3 }, emailTruncated: true }, 'one that is too large is left out');
  t.match(many?.data, { emailAttachments: { length: 50 }, emailTruncated: true });
});

t.test('mail that breaks the rules is read as well as can be', async (t) => {
  const mail = await mailServer(t, { plugins: [] });
  const server = await opened(t);
  const source = flow();
  await publish(server, source);
  await inState(server, await connect(server, mail), 'CONNECTED');
  const up = await mail.down();
  const deep = Array.from({ length: 200 }, (_, at) => `Content-Type: multipart/mixed; boundary=b${at}\n\n--b${at}\n`);
  const odd: [string, object][] = [
    [
      '',
      { emailSubject: '', emailSender: '', emailBody: '', emailRecipients: [], emailMessageId: null, emailDate: null },
    ],
    ['no header at all', {}],
    ['Subject: =?utf-8?B?4pyTIHllcw==?=\nDate: yesterday\nFrom: <>\n\nx', { emailSubject: '✓ yes', emailDate: null }],
    [
      'From: a@x.example, b@x.example\nTo: team: c@x.example, D <d@x.example>;\n\nx',
      {
        emailSender: 'a@x.example',
        emailRecipients: ['c@x.example', 'd@x.example'],
      },
    ],
    [
      'Subject: one\n two\nContent-Type: text/html\n\n<p>Pay <b>7</b>&nbsp;EUR</p><script>x()</script>',
      {
        emailSubject: 'one two',
        emailBody: 'Pay 7\u00a0EUR',
      },
    ],
    [message({ Subject: 'long' }, 'x'.repeat(1_100_000)), { emailSubject: 'long', emailTruncated: true }],
    [deep.join(''), {}],
    [
      `Subject: {env.SECRET} \${1+1}\nContent-Type: text/plain; charset=nonsense\n\n\u0001{emailSender}`,
      {
        emailSubject: '{env.SECRET} ${1+1}',
        emailBody: '\u0001{emailSender}',
      },
    ],
    ['Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain\n\ncut off', { emailBody: 'cut off' }],
  ];
  for (const [raw] of odd) mail.deliver(raw);
  await up();
  const found = await runs(server, idIn(source), odd.length);
  for (const [at, [, expected]] of odd.entries()) t.match(found[at]?.data, expected, `message ${at}`);
});

t.test('a message with much text is cut to what fits into one commit with all its flows', async (t) => {
  const mail = await mailServer(t);
  const server = await opened(t);
  const sources = Array.from({ length: 9 }, () => flow());
  for (const source of sources) await publish(server, source);
  await inState(server, await connect(server, mail), 'CONNECTED');
  mail.deliver(message({ To: `${'a'.repeat(400)}@x.example, b@x.example` }, 'x'.repeat(1_000_000)));
  for (const source of sources) {
    const [run] = await runs(server, idIn(source), 1);
    t.equal(String(run?.data['emailBody']).length, 932_067);
    t.match(run?.data, { emailTruncated: true, emailRecipients: ['b@x.example'] });
  }
});

t.test('what can be wrong with a connection is told in a sentence', async (t) => {
  const mail = await mailServer(t, { plugins: ['STARTTLS'] });
  const plain = await mailServer(t);
  const server = await opened(t);
  const rows: [object, RegExp][] = [
    [
      { host: 'mail.invalid' },
      /^(There is no host mail\.invalid: check its name|The host mail\.invalid can't be looked up)/,
    ],
    [{ port: 1 }, /^Nothing listens at 127\.0\.0\.1:1: check host and port/],
    [{ tls: true }, /^127\.0\.0\.1:\d+ does not speak TLS from the start: use its TLS port/],
    [{ password: 'hunter2' }, /^127\.0\.0\.1 refuses the login of testuser \(.*\): check user and password/],
    [{ mailbox: 'Bills' }, /^testuser has no folder Bills .*: choose one of INBOX, Archive\.$/],
    // Not called by its loopback name, a server is taken for one across the network.
    [{ host: '0.0.0.0' }, /^The certificate of 0\.0\.0\.0:\d+ is not trusted \(.*\): .*NODE_EXTRA_CA_CERTS\.$/],
    [{ host: '0.0.0.0', port: plain.port }, /offers no STARTTLS, and without it the password would cross the network/],
  ];
  for (const [at, [more, sentence]] of rows.entries()) {
    const id = await connect(server, mail, { name: `c${at}`, ...more });
    const { body } = await server.call('POST', `/admin/email-connections/${id}/test`);
    t.match(body, { ok: false, problem: sentence, messages: null }, JSON.stringify(more));
    const { status } = await inState(server, id, 'RETRYING');
    t.match(status.problem, sentence);
    t.notMatch(JSON.stringify(await shown(server, id)), /correct horse|hunter2/);
  }
  const id = await connect(server, mail);
  const { body } = await server.call('POST', `/admin/email-connections/${id}/test`);
  t.strictSame(body, { ok: true, problem: null, messages: 0 });
});

t.test('connections are for those who may manage them, in their organization', async (t) => {
  const mail = await mailServer(t);
  const dataDir = tempFolder(t);
  const server = await opened(t, { dataDir });
  const source = flow();
  await publish(server, source);
  const other = { organizationId: 'other', name: 'Other' };
  await server.call('POST', '/admin/organizations', { key: server.system, body: other });
  const [foreign, runner] = [await server.keyWith(['admin'], 'other'), await server.keyWith(['runner'])];
  const id = await connect(server, mail, { name: 'mine' });
  const path = `/admin/email-connections/${id}`;

  t.equal((await server.call('GET', '/admin/email-connections', { key: runner })).status, 403);
  for (const [method, at] of [
    ['GET', path],
    ['PATCH', path],
    ['DELETE', path],
    ['POST', `${path}/test`],
  ] as const)
    t.match(await server.call(method, at, { key: foreign, ...(method === 'PATCH' && { body: {} }) }), { status: 404 });
  t.strictSame((await server.call('GET', '/admin/email-connections', { key: foreign })).body.items, []);
  t.equal((await server.call('GET', '/admin/email-connections', { key: server.system })).body.items.length, 1);

  const settings = { name: 'inbox', host: '127.0.0.1', port: mail.port, tls: false, user: USER, password: PASSWORD };
  const theirs = await server.call('POST', '/admin/email-connections', { key: foreign, body: settings });
  t.match(theirs, { status: 201, body: { flows: [] } }, 'a flow of another organization is not started');
  for (const [name, value] of [
    ['host', 'a b'],
    ['user', 'a\r\nb'],
    ['port', 0],
    ['password', ''],
    ['pass', 'x'],
  ])
    t.match(await server.call('POST', '/admin/email-connections', { body: { ...settings, [name as string]: value } }), {
      status: 400,
      body: { error: 'VALIDATION_ERROR' },
    });

  t.equal((await server.call('PATCH', path, { body: { name: 'inbox', mailbox: 'Archive' } })).body.name, 'inbox');
  await inState(server, id, 'CONNECTED');
  mail.deliver(message({ Subject: 'Put away' }), { folder: 'Archive' });
  t.strictSame(await subjects(server, idIn(source), 1), ['Put away']);
  t.equal((await server.call('DELETE', path)).status, 204);
  t.equal((await server.call('GET', path)).status, 404);
  t.strictSame([...server.stores.collections.all('emailPositions').keys()], [theirs.body.id]);
  for (const name of readdirSync(dataDir, { recursive: true, withFileTypes: true }))
    if (name.isFile()) t.notMatch(readFileSync(join(name.parentPath, name.name), 'latin1'), PASSWORD, name.name);
});

t.test('a trigger is tried by hand, along its own path', async (t) => {
  const server = await opened(t);
  const id = newFlowId();
  const source = `id: ${id}
name: By any means
triggers:
  - { type: email, connection: inbox, subjectContains: invoice }
  - { type: email, connection: second, senderMatches: ada@acme.example }
  - { type: webhook, registration: repo, eventType: push }
  - { type: webhook, registration: other }
  - { type: schedule, cron: "0 9 * * 1", timezone: Europe/Berlin }
nodes:
  start: { type: startEvent, next: done }
  done: { type: endEvent }
`;
  await server.call('POST', '/process/publish?environment=DEVELOPMENT', {
    body: source,
    headers: { 'content-type': 'application/yaml' },
  });
  const attempt = (body: object, key = server.admin) => server.call('POST', `/process/${id}/trigger`, { body, key });
  const started = async (body: object) => {
    const { status, body: answer } = await attempt(body);
    t.match([status, answer], [200, { version: '1', environment: 'DEVELOPMENT', reason: null }]);
    return server.runtime.instance(undefined, answer.processInstanceId);
  };
  const base64 = (text: string) => Buffer.from(text).toString('base64');

  const mail = multipart({ Subject: 'Invoice {x}', From: 'bob@x.example' }, [
    '\nPay',
    attached('filename=a', 'a/b', 'x'),
  ]);
  const byMail = await started({ type: 'email', payload: base64(mail) });
  t.match(byMail?.data, { emailSubject: 'Invoice {x}', emailBody: 'Pay', emailAttachments: [{ name: 'a', size: 1 }] });
  t.match(byMail?.trigger, { type: 'email', byHand: true, keyId: String, connection: 'inbox' });
  const unwanted = { type: 'email', payload: base64(message({ From: 'eve@x.example', Subject: 'Hi' })) };
  t.match(await attempt(unwanted), { status: 200, body: { processInstanceId: null, reason: /“Hi” of eve@x.example/ } });
  t.match(await attempt({ type: 'email', link: 'second', payload: base64(mail) }), {
    body: { processInstanceId: null },
  });

  const push = { type: 'webhook', payload: base64('{"ref":"main"}') };
  t.match(await attempt(push), { status: 409, body: { error: 'CONFLICT', message: /names the webhook repo/ } });
  await server.call('POST', '/admin/webhooks', { body: { name: 'repo', provider: 'GITHUB' } });
  const byEvent = await started({ ...push, headers: { 'X-GitHub-Event': 'push', 'X-GitHub-Delivery': 'd1' } });
  t.match(byEvent?.data, {
    webhookPayload: { ref: 'main' },
    webhookEventType: 'push',
    webhookEventId: 'd1',
    webhookProvider: 'GITHUB',
    webhookRawBody: push.payload,
    webhookHeaders: { 'x-github-event': 'push' },
  });
  t.match(byEvent?.trigger, { type: 'webhook', byHand: true, registration: 'repo', eventType: 'push' });
  t.match(await attempt({ ...push, link: 'repo', headers: { 'X-GitHub-Event': 'ping' } }), {
    body: { processInstanceId: null, reason: /no trigger wants it, only: push \(this is ping\)/ },
  });
  t.match((await started({ ...push, link: 'other', provider: 'CUSTOM' }))?.trigger, { registration: 'other' });
  const broken = { ...push, payload: base64('{'), headers: { 'content-type': 'application/json' } };
  t.match(await attempt({ ...broken, link: 'repo' }), { body: { processInstanceId: null, reason: /sent as JSON/ } });

  const byClock = await started({ type: 'schedule' });
  t.match(byClock?.trigger, { type: 'schedule', byHand: true, cron: '0 9 * * 1', timezone: 'Europe/Berlin' });

  const foreign = await server.keyWith(['admin'], 'other');
  t.equal((await attempt({ type: 'schedule' }, foreign)).body.error, 'PROCESS_NOT_FOUND');
  t.equal((await attempt({ type: 'schedule' }, await server.keyWith(['viewer']))).status, 403);
  t.equal((await attempt({ type: 'schedule', environment: 'PRODUCTION' })).body.error, 'NOT_PUBLISHED');
  t.equal((await attempt({ type: 'schedule', versionNumber: '2' })).body.error, 'VERSION_NOT_FOUND');
  t.match(await attempt({ type: 'schedule', link: '* * * * *' }), { status: 400, body: { message: /0 9 \* \* 1/ } });
});

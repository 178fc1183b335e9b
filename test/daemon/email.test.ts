import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { Readable } from 'node:stream';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import t, { type Test } from 'tap';
import type { Outcome, WorkItem } from '../../src/daemon/ports.ts';
import { createWork, type SmtpSettings } from '../../src/daemon/work/index.ts';
import type { FileStore } from '../../src/daemon/work/ports.ts';
import type { JsonObject } from '../../src/engine/json.ts';

interface Received {
  readonly from: string;
  readonly to: readonly string[];
  readonly user: string | undefined;
  /** The raw message. */
  readonly raw: string;
}

interface Post {
  readonly smtp: SmtpSettings;
  readonly received: Received[];
}

/** A mail server that takes every message; `options` make it refuse some. */
async function post(test: Test, options: SMTPServerOptions = {}): Promise<Post> {
  const received: Received[] = [];
  const server = new SMTPServer({
    authOptional: true,
    hideSTARTTLS: true,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    onAuth: ({ username, password }, _, callback) =>
      password === 'right' ? callback(null, { user: username }) : callback(new Error('wrong password')),
    onData(stream, session, callback) {
      let raw = '';
      stream.on('data', (chunk) => {
        raw += String(chunk);
      });
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom === false ? '' : mailFrom.address;
        received.push({
          from,
          to: rcptTo.map(({ address }) => address),
          user: session.user as string | undefined,
          raw,
        });
        callback();
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  test.teardown(() => new Promise<void>((resolve) => server.close(resolve)));
  const { port } = server.server.address() as AddressInfo;
  return { smtp: { host: '127.0.0.1', port, from: 'Shop <shop@example.com>' }, received };
}

const FILES: FileStore = {
  save: () => Promise.reject(new Error('sending keeps no file')),
  async open(organizationId, fileId) {
    if (organizationId !== 'default' || fileId !== 'f1') return undefined;
    const content = Readable.from([Buffer.from('from '), Buffer.from('the store')]);
    return { name: 'größe.txt', contentType: 'text/plain', size: 14, content };
  },
};

function sender(test: Test, smtp?: SmtpSettings) {
  const work = createWork({
    settings: { allowCommands: false, ...(smtp && { smtp }) },
    environment: () => ({ values: () => undefined, secrets: ['hush-hush'] }),
    log: { error: (fields) => test.fail('an unexpected error', fields) },
    ports: { files: () => FILES },
  });
  test.teardown(() => work.close());
  const item = (input: JsonObject, changes: Partial<WorkItem>): WorkItem => ({
    instanceId: 'i1',
    nodeId: 'mail',
    activation: 1,
    attempt: 1,
    idempotencyKey: 'i1:mail:1',
    organizationId: 'default',
    environment: 'PRODUCTION',
    processId: 'p1',
    kind: 'email',
    prepare: () => ({ input, warnings: [] }),
    progress: [],
    record: async () => undefined,
    ...changes,
  });
  return {
    work,
    item,
    send: (input: JsonObject, changes: Partial<WorkItem> = {}): Promise<Outcome> =>
      new Promise((resolve) => work.start(item(input, changes), resolve)),
  };
}

/** A header's value, unfolded. */
function header(raw: string, name: string): string | undefined {
  const head = raw.slice(0, raw.indexOf('\r\n\r\n')).replace(/\r\n[ \t]+/g, ' ');
  return new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1];
}

t.test('a message arrives as it was written', async (t) => {
  const { smtp, received } = await post(t);
  const { send } = sender(t, { ...smtp, user: 'me', password: 'right' });
  const outcome = await send({
    to: ['Zoë Q. <zoe@example.org>', { name: 'A, B', address: 'ab@example.org' }],
    cc: 'c@example.org, d@example.org',
    bcc: ['hidden@example.org'],
    subject: 'Größe ✓',
    text: 'plain\n.\ndots stay',
    html: '<b>bold</b>',
    attachments: [
      { filename: 'a.json', content: { a: 1 }, contentType: 'application/json' },
      { filename: 'b.bin', base64: 'AP8B' },
      { id: 'f1', name: 'ignored' },
    ],
  });
  t.ok(outcome.ok);
  const messageId = outcome.ok && (outcome.value as { messageId: string }).messageId;
  const everyone = ['zoe', 'ab', 'c', 'd', 'hidden'].map((name) => `${name}@example.org`);
  t.same(outcome.ok && outcome.value, { messageId, accepted: everyone, rejected: [] });
  const [{ from, to, user, raw }] = received as [Received];
  t.equal(from, 'shop@example.com');
  t.same(to, everyone);
  t.equal(user, 'me');
  t.equal(header(raw, 'message-id'), messageId);
  t.match(messageId, /^<[0-9a-f]{40}@example\.com>$/);
  t.match(header(raw, 'to'), /zoe@example\.org.*"A, B" <ab@example\.org>/);
  t.equal(header(raw, 'cc'), 'c@example.org, d@example.org');
  t.notMatch(raw, 'hidden');
  t.equal(header(raw, 'subject'), `=?UTF-8?B?${Buffer.from('Größe ✓').toString('base64')}?=`);
  for (const part of [
    'plain',
    '<b>bold</b>',
    'filename=a.json',
    'eyJhIjoxfQ==',
    'AP8B',
    Buffer.from('from the store').toString('base64'),
  ])
    t.match(raw, part);
});

t.test('the message id is the same for every attempt, and for no other message', async (t) => {
  const { smtp, received } = await post(t);
  const { send } = sender(t, smtp);
  const input = { to: ['a@example.org'], subject: 's', text: 't' };
  await send(input, { attempt: 1 });
  await send(input, { attempt: 2 });
  await send(input, { idempotencyKey: 'i1:mail:2' });
  const [first, second, third] = received.map(({ raw }) => header(raw, 'message-id'));
  t.equal(first, second);
  t.not(first, third);
});

t.test('no value can add a header, a recipient or a file', async (t) => {
  const { smtp, received } = await post(t);
  const { send } = sender(t, smtp);
  const good = { to: ['a@example.org'], subject: 's', text: 't' };
  const breaks = ['\r\nBcc: evil@example.org', '\nX: y', '\rX: y', '\u2028X: y', '\0'];
  for (const evil of breaks) {
    const wrong: JsonObject[] = [
      { subject: `s${evil}` },
      { from: `a@example.org${evil}` },
      { to: [`a@example.org${evil}`] },
      { to: [{ name: `A${evil}`, address: 'a@example.org' }] },
      { attachments: [{ filename: `f${evil}`, content: 'x' }] },
      { attachments: [{ filename: 'f', contentType: `text/plain${evil}`, content: 'x' }] },
    ];
    for (const each of wrong)
      t.match(
        await send({ ...good, ...each }),
        { ok: false, error: { code: 'EMAIL_REJECTED', message: /node 'mail'/ } },
        encodeURI(JSON.stringify(each)),
      );
  }
  for (const to of [
    ['a@example.org, evil@example.org'],
    ['nobody'],
    ['group: a@example.org, b@example.org;'],
    [''],
    [],
    [5],
    '@',
    'a@b@c',
  ])
    t.match(await send({ ...good, to }), { ok: false, error: { code: 'EMAIL_REJECTED' } }, JSON.stringify(to));
  for (const attachment of [
    'f2',
    { path: '/etc/passwd' },
    { filename: 'x', href: 'http://127.0.0.1/' },
    7,
    { id: '../../etc/passwd' },
  ])
    t.match(
      await send({ ...good, attachments: attachment }),
      { ok: false, error: { code: 'EMAIL_REJECTED' } },
      JSON.stringify(attachment),
    );
  t.match(await send({ ...good, attachments: ['f1'] }, { organizationId: 'other' }), {
    ok: false,
    error: { code: 'EMAIL_REJECTED' },
  });
  t.same(received, []);
  await send({ ...good, text: 'a\r\n.\r\nMAIL FROM:<evil@example.org>', html: { path: '/etc/passwd' } });
  t.equal(received.length, 1);
  t.notMatch(received[0]?.raw, 'root:');
});

t.test('what the server refuses', async (t) => {
  const refusing = await post(t, {
    onRcptTo: ({ address }, _, callback) =>
      address.startsWith('no')
        ? callback(Object.assign(new Error(`no mailbox ${address}, hush-hush`), { responseCode: 550 }))
        : callback(),
  });
  const { send } = sender(t, refusing.smtp);
  const partly = await send({ to: ['yes@example.org', 'no@example.org'], subject: 's', text: 't' });
  t.match(partly, {
    ok: true,
    value: { accepted: ['yes@example.org'], rejected: ['no@example.org'] },
    logs: [{ level: 'WARN', message: /no@example\.org/ }],
  });
  const wholly = await send({ to: ['no@example.org'], subject: 's', text: 't' });
  t.match(wholly, { ok: false, error: { code: 'EMAIL_REJECTED', message: /no mailbox no@example\.org, \*\*\*/ } });

  const guarded = await post(t, { authOptional: false });
  const wrong = sender(t, { ...guarded.smtp, user: 'me', password: 'wrong' });
  t.match(await wrong.send({ to: ['a@example.org'], subject: 's' }), { ok: false, error: { code: 'EMAIL_REJECTED' } });
  t.same(guarded.received, []);
});

t.test('servers that are not there, or not set', async (t) => {
  const input = { to: ['a@example.org'], subject: 's', text: 't' };
  const unset = sender(t);
  t.match(await unset.send(input), { ok: false, error: { code: 'EMAIL_NOT_CONFIGURED', message: /smtp/ } });
  const { smtp } = await post(t);
  const named = sender(t, smtp);
  t.match(await named.send({ ...input, connection: 'other' }), {
    ok: false,
    error: { code: 'EMAIL_NOT_CONFIGURED', message: /'other'/ },
  });
  const senderless = sender(t, { host: '127.0.0.1', port: smtp.port as number });
  t.match(await senderless.send(input), { ok: false, error: { code: 'EMAIL_REJECTED', message: /from/ } });

  const unused = createServer().listen(0, '127.0.0.1');
  await once(unused, 'listening');
  const { port } = unused.address() as AddressInfo;
  await new Promise((resolve) => unused.close(resolve));
  const gone = sender(t, { ...smtp, port });
  t.match(await gone.send(input), { ok: false, error: { code: 'EMAIL_UNREACHABLE', message: /127\.0\.0\.1/ } });
  const unknown = sender(t, { ...smtp, host: 'no-such-host.invalid' });
  t.match(await unknown.send(input), { ok: false, error: { code: 'EMAIL_UNREACHABLE' } });
  const rude = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(rude, 'listening');
  t.teardown(() => rude.close());
  const broken = sender(t, { ...smtp, port: (rude.address() as AddressInfo).port });
  t.match(await broken.send(input), { ok: false, error: { code: 'EMAIL_UNREACHABLE' } });
});

t.test('an abort closes the connection', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.teardown(() => silent.close());
  const { work, item } = sender(t, {
    host: '127.0.0.1',
    port: (silent.address() as AddressInfo).port,
    from: 'a@example.org',
  });
  const connected = once(silent, 'connection');
  work.start(item({ to: ['a@example.org'], subject: 's' }, {}), () => t.fail('told after an abort'));
  const [socket] = await connected;
  const closed = once(socket, 'close');
  socket.resume();
  work.abort('i1', 1);
  await closed;
  t.pass('closed');
});

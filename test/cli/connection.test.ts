import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import t from 'tap';
import { mailServer, message, PASSWORD, USER } from '../daemon/imap.ts';
import { machine } from './machine.ts';

t.setTimeout(120_000);

const FLOW = `id: 5c0f3f7e-8d4b-4a57-9a0e-2b6f0a6a3c77
name: By mail
triggers: [{ type: email, connection: inbox, subjectContains: hello }]
nodes:
  start: { type: startEvent, next: done }
  done: { type: endEvent }
`;

t.test('an inbox is connected by TLS, watched, changed and removed', async (t) => {
  const { wfx, dir, home } = machine(t);
  const made = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
  });
  writeFileSync(join(dir, 'ca.pem'), made.cert);
  const mail = await mailServer(t, { tls: { key: made.private, cert: made.cert } });
  const env = { NODE_EXTRA_CA_CERTS: join(dir, 'ca.pem') };
  await wfx(['daemon', 'start', '--port', '0'], { env });
  t.match(await wfx(['connection', 'list']), { code: 0, stdout: '', stderr: /There are no connections/ });

  const place = ['--host', 'localhost', '--port', String(mail.port), '--user', USER];
  const add = (name: string, input: string, ...more: string[]) =>
    wfx(['connection', 'add', 'email', name, ...place, ...more, '--password-file', '-'], { input });
  t.match(await wfx(['connection', 'add', 'email', 'inbox', ...place]), { code: 2, stderr: /--password-file/ });
  const added = await add('inbox', `${PASSWORD}\n`);
  t.match(added, { code: 0, stdout: /inbox +INBOX of testuser\n/, stderr: /✓ INBOX of testuser can be read/ });
  t.match(await add('inbox', PASSWORD), { code: 2, stderr: /There is an email connection called inbox already/ });

  t.match(await add('other', 'wrong'), { code: 1, stderr: /✗ localhost refuses the login of testuser/ });
  const update = (...args: string[]) => wfx(['connection', 'update', 'other', ...args], { input: PASSWORD });
  t.match(await update('--password-file', '-', '--mailbox', 'Bills'), {
    code: 1,
    stderr: /✗ testuser has no folder Bills at localhost that can be opened: choose one of INBOX, Archive\./,
  });
  t.match(await update('--mailbox', 'Archive'), { code: 0, stderr: /✓ Archive of testuser can be read/ });
  t.match(await update('--host', '127.0.0.1'), {
    code: 1,
    stderr: /✗ The certificate of 127\.0\.0\.1:\d+ is not trusted/,
  });
  t.match(await update(), { code: 2, stderr: /Nothing is to be changed/ });
  t.match(await wfx(['connection', 'test', 'nobody']), { code: 2, stderr: /There is no connection “nobody”/ });

  writeFileSync(join(dir, 'flow.yaml'), FLOW);
  await wfx(['publish', 'flow.yaml']);
  mail.deliver(message({ Subject: 'Hello', 'Message-ID': '<m1@acme.example>' }));
  const items = async () => (await wfx(['instance', 'list', '-o', 'json'])).json().items;
  let [found] = await items();
  while (found === undefined) [found] = await items();
  const run = found.processInstanceId;
  t.match((await wfx(['instance', 'show', run])).stdout, /by email connection inbox, message <m1@acme\.example>\n/);
  t.match((await wfx(['connection', 'show', 'inbox'])).stdout, /state +CONNECTED .*\nstarts +By mail .*“hello”\n/s);
  t.match((await wfx(['connection', 'test', 'inbox', '-o', 'json'])).json(), { ok: true, problem: null, messages: 1 });

  const attempt = (input: string, ...args: string[]) =>
    wfx(['flow', 'trigger', '5c0f3f7e-8d4b-4a57-9a0e-2b6f0a6a3c77', ...args], { input });
  const tried = await attempt(message({ Subject: 'Hello' }), '-t', 'email', '-p', '-');
  t.match(tried, { code: 0, stdout: /^[0-9a-f-]{36}\n$/, stderr: /^STARTED version 1 in PRODUCTION/ });
  t.match((await wfx(['instance', 'show', tried.stdout.trim()])).stdout, /by an email trigger, by hand/);
  const unwanted = await attempt(message({ Subject: 'Bye' }), '-t', 'email', '-p', '-');
  t.match(unwanted, { code: 0, stdout: '', stderr: /^NO_MATCH: the filters let no message with the subject “Bye”/ });
  t.match(await attempt('', '-t', 'email'), { code: 2, stderr: /--payload FILE: a message/ });
  t.match(await attempt('', '-t', 'schedule'), {
    code: 2,
    stderr: /Type is schedule, but version 1 of By mail has no such trigger/,
  });

  t.match(await wfx(['connection', 'delete', 'inbox', 'other']), { code: 0, stderr: /inbox is removed/ });
  t.strictSame((await wfx(['connection', 'list', '-o', 'json'])).json().items, []);
  t.notMatch(await wfx(['daemon', 'logs', '--data-dir', home]), PASSWORD);
});

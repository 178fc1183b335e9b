import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:tls';
import { generate } from 'selfsigned';
import t from 'tap';
import { FLOWS, machine } from './machine.ts';

/** A certificate of its own for `name`, and its key, as files. */
async function certificate(dir: string, file: string, name: string, days = 2) {
  const notBeforeDate = new Date(Date.now() - 2 * 86_400_000);
  const made = await generate([{ name: 'commonName', value: name }], {
    notBeforeDate,
    notAfterDate: new Date(notBeforeDate.getTime() + days * 86_400_000),
    keyType: 'ec',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: name }] }],
  });
  const [cert, key] = [join(dir, `${file}.pem`), join(dir, `${file}.key`)];
  writeFileSync(cert, made.cert);
  writeFileSync(key, made.private);
  return { cert, key };
}

/** The name on the certificate that a server shows. */
function shownName(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

t.test('a daemon with a certificate speaks HTTPS, and its CLI trusts that certificate alone', async (t) => {
  const own = machine(t);
  const first = await certificate(own.dir, 'first', 'first.example', 4);
  const flags = ['--port', '0', '--tls-cert', first.cert, '--tls-key', first.key];
  // An address that others can reach is fine with TLS.
  const started = await own.wfx(['daemon', 'start', '--host', '0.0.0.0', ...flags]);
  t.equal(started.code, 0, started.stderr);
  const { url } = (await own.wfx(['daemon', 'status', '-o', 'json'])).json();
  t.match(url, /^https:/);
  const port = Number(new URL(url).port);
  const run = await own.wfx(['run', join(FLOWS, 'reshape-json.yaml')]);
  t.equal(run.code, 0, run.stderr);
  t.equal((await own.wfx(['flow', 'list'], { env: { WFX_URL: url } })).code, 0, 'also by its address');
  await own.wfx(['webhook', 'create', 'repo', '-p', 'github']);
  t.match(await own.wfx(['webhook', 'trigger', 'github', 'push']), { code: 0, stderr: /^NO_MATCH/ }, 'webhooks too');

  t.test('others have to be told of it', async (t) => {
    const other = machine(t);
    const env = { WFX_URL: url, WFX_API_KEY: (await own.wfx(['token'])).stdout.trim() };
    const { code, stderr } = await other.wfx(['flow', 'list'], { env });
    t.equal(code, 5);
    t.match(stderr, /TLS: self-signed certificate; NODE_EXTRA_CA_CERTS/);
    const plain = await other.wfx(['flow', 'list'], { env: { ...env, WFX_URL: url.replace('https', 'http') } });
    t.equal(plain.code, 5, 'HTTP gets no answer');
  });

  t.test('a certificate that is renewed is taken without a restart; one that can’t be used is not', async (t) => {
    const second = await certificate(own.dir, 'second', 'second.example', 4);
    t.equal(await shownName(port), 'first.example');
    writeFileSync(first.cert, readFileSync(second.cert));
    await until(() => readFileSync(join(own.home, 'daemon.log'), 'utf8').includes('cannot be used'));
    t.equal(await shownName(port), 'first.example', 'it does not go with the key');
    writeFileSync(first.key, readFileSync(second.key));
    await until(async () => (await shownName(port)) === 'second.example');
    await until(async () => (await own.wfx(['flow', 'list'])).code === 0);
  });
});

t.test('what keeps a daemon from speaking TLS is one sentence', async (t) => {
  const own = machine(t);
  const good = await certificate(own.dir, 'good', 'good.example', 4);
  const other = await certificate(own.dir, 'other', 'other.example', 4);
  const ended = await certificate(own.dir, 'ended', 'ended.example', 1);
  const text = join(own.dir, 'text.pem');
  writeFileSync(text, 'hello');
  const cases: readonly [string, readonly string[], RegExp][] = [
    ['a certificate without its key', ['--tls-cert', good.cert], /give --tls-key too/],
    ['another key', ['--tls-cert', good.cert, '--tls-key', other.key], /is not that of the certificate/],
    [
      'no such file',
      ['--tls-cert', '/no/such.pem', '--tls-key', good.key],
      /There is no certificate at \/no\/such\.pem/,
    ],
    ['no certificate', ['--tls-cert', text, '--tls-key', good.key], /text\.pem is no certificate in PEM/],
    ['no key', ['--tls-cert', good.cert, '--tls-key', text], /The private key .*text\.pem cannot be used/],
    ['one that ended', ['--tls-cert', ended.cert, '--tls-key', ended.key], /ended on \d{4}-\d\d-\d\d: renew it/],
  ];
  for (const [name, flags, sentence] of cases) {
    const { code, stderr } = await own.wfx(['daemon', 'start', '--port', '0', ...flags]);
    t.equal(code, name === 'a certificate without its key' ? 2 : 5, name);
    t.match(stderr, sentence, name);
  }
  const { code, stderr } = await own.wfx(['daemon', 'start', '--port', '0', '--host', '0.0.0.0']);
  t.equal(code, 2);
  t.match(stderr, /--tls-cert.*--insecure/, 'without TLS others are let in only by --insecure');
});

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(50);
}

import { createHmac, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import ssh2 from 'ssh2';
import t, { type Test } from 'tap';
import { type NameOptions, tunnelNamed } from '../../src/cli/tunnel/names.ts';
import { restoredBody } from '../../src/cli/tunnel/smee-body.ts';
import { type Machine, machine } from './machine.ts';
import { openSmeeServer } from './smee-server.ts';

t.setTimeout(240_000);

const SECRET = 'a secret of the test';
const hmac = (text: string) => createHmac('sha256', SECRET).update(text).digest('hex');
const github = (body: string) => ({
  'content-type': 'application/json',
  'x-github-event': 'push',
  'x-hub-signature-256': `sha256=${hmac(body)}`,
});
const stripe = (body: string) => {
  const time = Math.floor(Date.now() / 1000);
  return { 'content-type': 'application/json', 'stripe-signature': `t=${time},v1=${hmac(`${time}.${body}`)}` };
};

/** A machine with a daemon and one webhook. */
async function withWebhook(t: Test, provider = 'github'): Promise<Machine> {
  const user = machine(t);
  await user.wfx(['daemon', 'start', '--port', '0']);
  const made = await user.wfx(['webhook', 'create', 'repo', '-p', provider, '--secret-file', '-'], { input: SECRET });
  t.equal(made.code, 0, made.stderr);
  return user;
}

interface Sent {
  readonly status: number;
  readonly text: string;
}

/** A request as it comes in at the public end: by a name that isn't the daemon's. */
function send(port: string | number, path: string, headers: object, body: string, method = 'POST'): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const to = { host: '127.0.0.1', port, path, method, headers: { host: 'hooks.example.com', ...headers } };
    request(to, async (answer) => {
      let text = '';
      for await (const part of answer.setEncoding('utf8')) text += part;
      resolve({ status: answer.statusCode ?? 0, text });
    })
      .on('error', reject)
      .end(body);
  });
}

/** Sends until it is taken: a tunnel that is down for a moment answers with an error. */
async function sendUntilTaken(port: string | number, path: string, headers: object, body: string): Promise<void> {
  for (let taken = false; !taken; )
    taken = await send(port, path, headers, body).then(
      ({ status }) => status === 200,
      () => false,
    );
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, { encoding: 'utf8' }));
};

/** A program that does what cloudflared does, on this machine: the name that it prints tells the port. */
const CLOUDFLARED = `#!${process.execPath}
const { createServer, request } = require('node:http');
const { spawn } = require('node:child_process');
const { appendFileSync } = require('node:fs');
const target = new URL(process.argv[process.argv.indexOf('--url') + 1]);
const server = createServer((asked, answer) => {
  if (asked.url === '/die') process.exit(3);
  const { method, url: path, headers } = asked;
  const passed = request({ host: target.hostname, port: target.port, method, path, headers }, (from) => {
    answer.writeHead(from.statusCode, from.headers);
    from.pipe(answer);
  });
  passed.on('error', () => answer.headersSent || answer.writeHead(502).end());
  asked.pipe(passed);
});
server.listen(0, '127.0.0.1', () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' });
  appendFileSync(process.env.PIDS, process.pid + '\\n' + child.pid + '\\n');
  console.error('INF By using it you agree to https://www.cloudflare.com/website-terms/ and so on');
  console.error('INF Requesting new quick Tunnel on trycloudflare.com...');
  console.error('\\x1b[32mINF\\x1b[0m |  https://calm-hill-' + server.address().port + '.trycloudflare.com  |');
});
`;

function program(user: Machine, name: string, text: string): { readonly PATH: string } {
  const bin = join(user.dir, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, name), text);
  chmodSync(join(bin, name), 0o755);
  return { PATH: bin + delimiter + process.env['PATH'] };
}

t.test('a program on the PATH makes webhooks, and nothing else, reachable until Ctrl-C', async (t) => {
  const user = await withWebhook(t);
  const pids = join(user.dir, 'pids');
  const env = { ...program(user, 'cloudflared', CLOUDFLARED), PIDS: pids };
  const tunnel = user.begin(['webhook', 'tunnel'], { env });
  const ADDRESS = /repo +https:\/\/calm-hill-(\d+)\.trycloudflare\.com(\/webhook\/receive\/[\w-]{32})\n/;
  const [, port = '', path = ''] = await tunnel.says(ADDRESS);
  await tunnel.says(/Open through cloudflared/);

  const body = '{"ref": "refs/heads/main",   "n": 1.0}\n';
  t.match(await send(port, path, github(body), body), { status: 200, text: '{"received":true}' });
  await tunnel.says(/NO_MATCH +push/);
  const { items } = (await user.wfx(['webhook', 'deliveries', 'repo', '-o', 'json'])).json();
  t.match(items, [{ body, headers: { 'x-github-event': 'push' } }], 'byte by byte');

  await t.test('the rest of the daemon is not there', async (t) => {
    for (const other of ['/admin/webhooks', '/health/live', '/openapi.json', `${path}/../../../admin/keys`, '//'])
      t.match(await send(port, other, {}, '', 'GET'), { status: 404, text: '' }, other);
    t.match(await send(port, '/process/exec', {}, '{}'), { status: 404, text: '' });
    t.match(await send(port, path, {}, '', 'GET'), { status: 404, text: '' });
    t.match(await send(port, '/webhook/receive/unknown', github(body), body), { status: 404 });
    t.match(await send(port, path, github(body), 'x'.repeat(2_000_000)), { status: 413 });
  });

  await t.test('it is there again after the daemon was, at another port', async (t) => {
    await user.wfx(['daemon', 'stop']);
    t.match(await send(port, path, github(body), body), { status: 503 }, 'which makes senders try again');
    await user.wfx(['daemon', 'start', '--port', '0']);
    t.match(await send(port, path, github(body), body), { status: 200 });
  });

  await t.test('a program that ends is run again, and its new address is told', async (t) => {
    await send(port, '/die', {}, '').catch(() => undefined);
    await tunnel.says(/the tunnel is down: cloudflared ended \(exit code 3\)/);
    await tunnel.says(/another address now/);
    const [, again = ''] = await tunnel.says(new RegExp(`calm-hill-(?!${port}\\.)(\\d+)\\.`));
    t.match(await send(again, path, github(body), body), { status: 200 });
  });

  tunnel.child.kill('SIGINT');
  t.equal((await tunnel.result).code, 130);
  const left = readFileSync(pids, 'utf8').trim().split('\n').map(Number);
  t.equal(left.length, 4);
  t.strictSame(left.slice(2).filter(isAlive), [], 'nothing is left of it');
});

t.test('what a program says when it opens nothing is told', async (t) => {
  const user = await withWebhook(t);
  const env = program(user, 'ngrok', '#!/bin/sh\necho "ERR_NGROK_4018: sign up for an account" >&2\nexit 1\n');
  const failed = await user.wfx(['webhook', 'tunnel', 'ngrok'], { env });
  t.match(failed, { code: 5, stderr: /No tunnel was opened: ngrok ended \(exit code 1\); it said: ERR_NGROK_4018/ });
  const none = await user.wfx(['webhook', 'tunnel', 'no-such-program {port}']);
  t.match(none, { code: 2, stderr: /There is no program no-such-program on the PATH/ });
  t.match(await user.wfx(['webhook', 'tunnel', 'frp']), {
    code: 2,
    stderr: /no tunnel “frp”[\s\S]*cloudflared, ngrok/,
  });
  t.match(await user.wfx(['webhook', 'tunnel', 'smee', '-w', 'x']), { code: 2, stderr: /no webhook “x”/ });
  t.match(await user.wfx(['webhook', 'tunnel', 'smee', '-e', 'dev']), { code: 2, stderr: /address of its own/ });
});

t.test('through a smee server', async (t) => {
  const user = await withWebhook(t);
  await user.wfx(['webhook', 'create', 'pay', '-p', 'stripe', '--secret-file', '-'], { input: SECRET });
  const smee = await openSmeeServer(t);
  const post = (channel: string, headers: Record<string, string>, body: string) =>
    fetch(channel, { method: 'POST', headers, body });

  const tunnel = user.begin(['webhook', 'tunnel', smee.url]);
  const [, pay = '', repo = ''] = await tunnel.says(/pay +(http:\S+)\nrepo +(http:\S+)\n/);
  t.not(pay, repo, 'each address has a channel of its own');
  await tunnel.says(/can read what is sent there/);

  await t.test('signatures hold where the bytes can be told', async () => {
    const compact = JSON.stringify({ ref: 'refs/heads/main', author: 'Zoë <z@example.com>' });
    await post(repo, github(compact), compact);
    await tunnel.says(/NO_MATCH +push/);
    const pretty = `${JSON.stringify({ id: 'evt_1', type: 'invoice.paid', data: { object: {} } }, null, 2)}`;
    await post(pay, stripe(pretty), pretty);
    await tunnel.says(/NO_MATCH +invoice\.paid/);
  });

  await t.test('and where not, that is said', async () => {
    const odd = '{"ref":"refs/heads/main",     "n":1.00}';
    await post(repo, github(odd), odd);
    await tunnel.says(/did not keep the bytes of a delivery \(39 bytes were sent, 31 arrived\)/);
    await tunnel.says(/BAD_SIGNATURE/);
  });

  await t.test('a server that passes bytes on keeps all signatures', async () => {
    for (const [field, event] of [
      ['bodyB', 'issues'],
      ['rawbody', 'star'],
    ] as const) {
      smee.raw(field);
      const odd = `{"n":1.0,  "field":"${field}"}`;
      await post(repo, { ...github(odd), 'x-github-event': event }, odd);
      await tunnel.says(new RegExp(`NO_MATCH +${event}`));
    }
    smee.raw(undefined);
  });

  await t.test('what comes while the daemon restarts waits for it', async (t) => {
    await user.wfx(['daemon', 'stop']);
    const body = '{"ref":"late"}';
    await post(repo, { ...github(body), 'x-github-event': 'release' }, body);
    await user.wfx(['daemon', 'start', '--port', '0']);
    t.ok(await tunnel.says(/NO_MATCH +release/), 'and is shown');
  });

  await t.test('a connection that is cut is opened again', async () => {
    smee.refuse(502);
    smee.cut();
    await tunnel.says(/the tunnel is down/);
    smee.refuse(undefined);
    await tunnel.says(/is open again/);
    const body = '{"again":true}';
    await post(repo, { ...github(body), 'x-github-event': 'fork' }, body);
    await tunnel.says(/NO_MATCH +fork/);
  });

  tunnel.child.kill('SIGTERM');
  t.equal((await tunnel.result).code, 130);

  await t.test('the channel is the same the next time, and one of one’s own can be given', async (t) => {
    const next = user.begin(['webhook', 'tunnel', smee.url, '-w', 'repo', '-o', 'json']);
    const [line] = await next.says(/^\{.*\}\n/);
    t.match(JSON.parse(line), { tunnel: 'smee', endpoints: [{ webhook: 'repo', environment: null, url: repo }] });
    next.child.kill('SIGINT');
    await next.result;
    const own = user.begin(['webhook', 'tunnel', `${smee.url}/my-channel`, '-w', 'repo']);
    await own.says(/repo +http:\S+\/my-channel\n/);
    own.child.kill('SIGINT');
    await own.result;
    const both = await user.wfx(['webhook', 'tunnel', `${smee.url}/my-channel`]);
    t.match(both, { code: 2, stderr: /leads to one address, and there are 2/ });
    smee.refuse(403);
    t.match(await user.wfx(['webhook', 'tunnel', smee.url]), { code: 5, stderr: /can't be read: it answers with 403/ });
  });
});

const ssh = ['/usr/bin/ssh', '/usr/local/bin/ssh'].find((path) => existsSync(path));

t.test('by ssh -R', { skip: ssh === undefined && 'no OpenSSH client' }, async (t) => {
  const user = await withWebhook(t);
  const server = await openSshServer(t);
  const config = ['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'];
  const env = program(user, 'ssh', `#!/bin/sh\nexec ${ssh} -F /dev/null ${config.join(' ')} "$@"\n`);
  const host = `ssh://me@127.0.0.1:${server.port}`;
  const body = '{}';

  await t.test('to a server of one’s own, whose address is known', async (t) => {
    const args = ['--remote-port', '4321', '--public-url', 'https://hooks.example.com/'];
    const tunnel = user.begin(['webhook', 'tunnel', host, ...args], { env });
    const [, path = ''] = await tunnel.says(/repo +https:\/\/hooks\.example\.com(\/webhook\/receive\/\S+)\n/);
    t.match(server.asked, { port: 4321, shell: false });
    t.match(await send(server.forwarded(), path, github(body), body), { status: 200 });
    await tunnel.says(/NO_MATCH +push/);
    server.cut();
    await tunnel.says(/is open again/);
    await sendUntilTaken(server.forwarded(), path, github(body), body);
    tunnel.child.kill('SIGINT');
    t.equal((await tunnel.result).code, 130);
  });

  await t.test('through a service that prints the address', async (t) => {
    const tunnel = user.begin(['webhook', 'tunnel', host], { env });
    const [, path = ''] = await tunnel.says(/repo +https:\/\/f00d\.tunnels\.example(\/webhook\/receive\/\S+)\n/);
    t.match(server.asked, { port: 80, shell: true });
    t.match(await send(server.forwarded(), path, github(body), body), { status: 200 });
    tunnel.child.kill('SIGINT');
    t.equal((await tunnel.result).code, 130);
  });

  await t.test('that is refused', async (t) => {
    server.deny();
    const failed = await user.wfx(['webhook', 'tunnel', host], { env });
    t.match(failed, { code: 5, stderr: /ssh ended \(exit code 255\)[\s\S]*remote port forwarding failed/ });
  });
});

/** Forwards ports to a free one of this machine, and greets who opens a shell with an address. */
async function openSshServer(t: Test) {
  const { privateKey: hostKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  const asked = { port: 0, shell: false };
  const clients = new Set<ssh2.Connection>();
  let [forwarded, denied] = [0, false];
  const server = new ssh2.Server({ hostKeys: [hostKey] }, (client) => {
    clients.add(client);
    asked.shell = false;
    client
      .on('authentication', (context) => context.accept())
      .on('error', () => undefined)
      .on('close', () => clients.delete(client))
      .on('request', (accept, reject, name, info) => {
        if (name !== 'tcpip-forward' || denied) return reject?.();
        asked.port = info.bindPort;
        const door = createServer((socket) => {
          client.forwardOut(info.bindAddr, info.bindPort, '127.0.0.1', 5, (error, channel) => {
            if (error) socket.destroy();
            else socket.pipe(channel).pipe(socket);
          });
        });
        door.listen(0, '127.0.0.1', () => {
          forwarded = (door.address() as AddressInfo).port;
          accept?.();
        });
        client.on('close', () => door.close());
      })
      .on('session', (accept) => {
        accept().on('shell', (accepted) => {
          asked.shell = true;
          accepted().write(
            'Welcome. See https://tunnels.example/docs/ or https://admin.tunnels.example/\r\nhttps://f00d.tunnels.example leads to you.\r\n',
          );
        });
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const client of clients) client.end();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    forwarded: () => forwarded,
    cut: () => {
      for (const client of clients) client.end();
    },
    deny: () => {
      denied = true;
    },
  };
}

t.test('bodies are told from what a smee server read in them, by their length', async (t) => {
  const texts = [
    '{"a":"x/y","b":[1,{"c":null}]}',
    '{\n  "a": "x/y",\n  "b": []\n}',
    '{"a": "x, y", "b": [1, 2, {"c": {}}]}',
    '{"url":"https:\\/\\/example.com\\/a","name":"Zo\\u00eb"}',
    '{"title":"\\u003cb\\u003e \\u0026 Zoë"}',
    '{"a":1}\n',
  ];
  for (const text of texts) {
    const event = { body: JSON.parse(text), 'content-length': String(Buffer.byteLength(text)) };
    t.strictSame(restoredBody(event), { body: Buffer.from(text), exact: true }, text);
  }
  const form = { 'content-type': 'application/x-www-form-urlencoded', body: { payload: '{"a": "é"}', to: 'a b' } };
  for (const text of [
    'payload=%7B%22a%22%3A+%22%C3%A9%22%7D&to=a+b',
    'payload=%7B%22a%22%3A%20%22%C3%A9%22%7D&to=a%20b',
  ])
    t.strictSame(restoredBody({ ...form, 'content-length': String(text.length) }), {
      body: Buffer.from(text),
      exact: true,
    });
  t.match(restoredBody({ body: { a: 1 }, 'content-length': '99' }), { exact: false });
  t.match(restoredBody({ body: { a: 1 } }), { exact: false });
});

t.test('the address is found among what programs print', async (t) => {
  const found = (name: string, line: string, options: NameOptions = {}) => {
    const choice = tunnelNamed(name, options, {});
    return choice.kind === 'program' ? choice.program(4040).addressIn(line) : undefined;
  };
  const own = 'mine {port}';
  t.equal(found(own, 'Your URL is: https://a-b.example.com'), 'https://a-b.example.com');
  t.equal(found(own, '[info] "http://203.0.113.5:8080/" -> http://127.0.0.1:4040'), 'http://203.0.113.5:8080');
  t.equal(found(own, 'forwarding http://localhost:4040, see https://docs.example.com/'), undefined);
  t.equal(found(own, 'read https://example.com/terms.html first.'), undefined);
  t.equal(found(own, 'x https://one.example y https://two.example', { urlPattern: 'y (\\S+)' }), 'https://two.example');
  t.equal(found(own, 'ready', { publicUrl: 'https://p.example/base/' }), 'https://p.example/base');
  t.equal(
    found('ngrok', 't=1 lvl=info msg="started tunnel" obj=tunnels addr=http://x:1 url=https://1.ngrok-free.app'),
    'https://1.ngrok-free.app',
  );
  t.equal(found('ngrok', 't=1 lvl=info msg="update available" url=https://ngrok.com'), undefined);
  t.equal(found('cloudflared', 'ERR Post "https://api.trycloudflare.com/tunnel": timeout'), undefined);
  t.equal(found('ssh:nokey@localhost.run', 'welcome to https://localhost.run'), undefined);
  t.throws(() => found('ssh:-oProxyCommand=x', ''), /names no host/);
  t.throws(() => found('frp', ''), /no tunnel “frp”/);
  t.throws(() => found('sh -c "echo {port}"', ''), /takes no quotes/);
  t.throws(() => tunnelNamed(undefined, {}, { PATH: '/nowhere' }), /Neither cloudflared nor ngrok/);
});

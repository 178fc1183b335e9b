import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { BIN, FLOWS, machine } from './machine.ts';

t.setTimeout(180_000);

const commands = [
  ['run'],
  ['validate'],
  ['publish'],
  ...['init', 'list', 'show', 'versions', 'activate', 'unpublish'].map((verb) => ['flow', verb]),
  ['schema'],
  ['graph'],
  ...['list', 'show', 'logs', 'cancel', 'retry'].map((verb) => ['instance', verb]),
  ...['list', 'complete', 'cancel'].map((verb) => ['task', verb]),
  ['event', 'send'],
  ...['start', 'stop', 'status', 'logs'].map((verb) => ['daemon', verb]),
  ...['set', 'list', 'unset'].map((verb) => ['env', verb]),
  ...['create', 'list', 'suspend', 'activate', 'revoke', 'rotate'].map((verb) => ['key', verb]),
  ['token'],
  ['whoami'],
  ...['add', 'use', 'list', 'remove'].map((verb) => ['context', verb]),
  ['audit'],
  ['doctor'],
  ['completion'],
];

t.test('help: every command explains itself on stdout, with an example', async (t) => {
  const { wfx } = machine(t);
  const root = await wfx([]);
  t.equal(root.code, 0);
  for (const [name = ''] of commands) t.match(root.stdout, new RegExp(`^ {2}${name}\\b`, 'm'), `wfx lists ${name}`);
  for (const words of commands) {
    const { code, stdout, stderr } = await wfx([...words, '--help']);
    t.equal(code, 0, words.join(' '));
    t.match(stdout, /Usage: wfx[\s\S]*Examples:\n {2}\S/, words.join(' '));
    t.equal(stderr, '');
  }
});

t.test('version: alone on stdout, the same as package.json has', async (t) => {
  const { wfx } = machine(t);
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  for (const option of ['--version', '-V'])
    t.match(await wfx([option]), { code: 0, stdout: `${version}\n`, stderr: '' });
});

t.test('usage: a slip is met with what was meant, and exit code 2', async (t) => {
  const { wfx } = machine(t);
  const rows: [string[], RegExp][] = [
    [['isntance'], /Did you mean instance\?/],
    [['flow', 'lst'], /Did you mean .*list/],
    [['run', 'x.yaml', '--detatch'], /Did you mean --detach\?/],
    [['run'], /missing required argument/],
    [['instance', 'list', '--output', 'xml'], /Allowed choices are text, json/],
    [['run', 'nowhere.yaml'], /There is no flow file nowhere\.yaml/],
    [['run', '.'], /\. is a folder/],
    [['run', 'x.yaml', '--timeout', 'soon'], /--timeout takes a duration/],
    [['run', 'x.yaml', '--data', 'novalue'], /--data takes key=value/],
    [['run', 'x.yaml', '--set-input', 'novalue'], /--set-input takes key=value[\s\S]*: --set-input review=approve/],
    [['run', 'x.yaml', '--data-file', 'nowhere.json'], /There is no data file nowhere\.json/],
    [['run', 'x.yaml', '--environment', 'staging'], /DEVELOPMENT or PRODUCTION/],
    [['run', '-', '--data-file', '-'], /can’t both come from standard input/],
    [['instance', 'list', '--limit', '0'], /--limit takes/],
    [['daemon', 'start', '--port', '99999'], /--port takes/],
    [['daemon', 'status', '--data-dir', ''], /--data-dir takes a folder/],
    [['completion', 'tcsh'], /bash, zsh or fish/],
    [['context', 'use', 'nowhere'], /There is no context/],
    [['key', 'create', 'x', '--role', 'king'], /There is no role/],
  ];
  for (const [args, pattern] of rows) {
    const { code, stdout, stderr } = await wfx(args);
    t.equal(code, 2, args.join(' '));
    t.match(stderr, pattern, args.join(' '));
    t.equal(stdout, '');
  }
});

t.test('no daemon: commands that need one say so with exit code 5, and start none', async (t) => {
  const { wfx, home } = machine(t);
  for (const args of [
    ['flow', 'list'],
    ['instance', 'list'],
    ['task', 'list'],
    ['whoami'],
    ['publish', join(FLOWS, 'reshape-json.yaml')],
  ]) {
    const { code, stdout, stderr } = await wfx(args);
    t.equal(code, 5, args.join(' '));
    t.match(stderr, /No daemon is running.*\n.*wfx daemon start/);
    t.equal(stdout, '');
  }
  t.notOk(existsSync(home), 'nothing is written');
});

t.test('an address that nobody answers at: exit code 5, and never a daemon of one’s own', async (t) => {
  const { wfx, home } = machine(t);
  const flow = join(FLOWS, 'reshape-json.yaml');
  const rows: [string[], Record<string, string>][] = [
    [['run', flow], { WFX_URL: 'http://127.0.0.1:1' }],
    [['--url', '127.0.0.1:1', 'run', flow], {}],
  ];
  for (const [args, env] of rows) {
    const { code, stderr } = await wfx(args, { env });
    t.equal(code, 5);
    t.match(stderr, /nothing answers at http:\/\/127\.0\.0\.1:1/);
  }
  const other = createServer((_, reply) => reply.end('<h1>hello</h1>')).listen(0, '127.0.0.1');
  t.teardown(() => other.close());
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as AddressInfo;
  t.match(await wfx(['flow', 'list'], { env: { WFX_URL: `http://127.0.0.1:${port}` } }), { code: 5 });
  t.notOk(existsSync(home));
});

t.test('validate: problems as a compiler shows them, exit code 2, and JSON for machines', async (t) => {
  const { wfx, dir } = machine(t);
  const source =
    'id: 0d2c7a52-4f5e-4c0e-9a57-7f0a1f0f6a99\nname: x\nnodes:\n  a: { type: startEvnt, next: b }\n  b: { type: endEvent }\n';
  writeFileSync(join(dir, 'bad.yaml'), source);
  const bad = await wfx(['validate', 'bad.yaml']);
  t.equal(bad.code, 2);
  t.match(
    bad.stderr,
    /^bad\.yaml:4:14: error: .*startEvnt.*\n4 \| {3}a: \{ type: startEvnt, next: b \}\n {2}\| {14}\^\n {2}= hint: did you mean `startEvent`\?/m,
  );
  t.equal(bad.stdout, '');
  const json = await wfx(['validate', '-o', 'json', 'bad.yaml']);
  t.equal(json.code, 2);
  t.match(json.json(), {
    valid: false,
    problems: [{ file: 'bad.yaml', severity: 'error', line: 4, column: 14, message: String, code: String }],
  });
  t.match(await wfx(['validate', '-'], { input: source }), { code: 2, stderr: /^<stdin>:4:14: error/ });
  t.match(await wfx(['run', 'bad.yaml']), {
    code: 2,
    stderr: /bad\.yaml:4:14: error[\s\S]*bad\.yaml is not valid: 1 error/,
  });
  t.match(await wfx(['publish', 'bad.yaml']), { code: 2 }, 'publish checks before it looks for a daemon');
  for (const [name, text] of Object.entries({ empty: '', tabs: 'a:\n\tb: 1', binary: '\u0000\u0001', list: '[1]' }))
    t.match(await wfx(['validate', '-'], { input: text }), { code: 2, stderr: /error: / }, name);
  writeFileSync(join(dir, 'latin1.yaml'), Buffer.from([0x6e, 0x3a, 0x20, 0xe4]));
  t.match(await wfx(['validate', 'latin1.yaml']), { code: 2, stderr: /not UTF-8/ });
});

t.test('the example flows are valid, without a warning', async (t) => {
  const { wfx } = machine(t);
  const files = readdirSync(FLOWS).filter((file) => file.endsWith('.yaml'));
  t.ok(files.length >= 6);
  const { code, stdout, stderr } = await wfx(['validate', ...files], { cwd: FLOWS });
  t.equal(code, 0);
  t.equal(stdout, files.map((file) => `✓ ${file} is valid\n`).join(''));
  t.equal(stderr, '');
});

t.test('flow init: a starter that is valid, with an id of its own, and nothing overwritten', async (t) => {
  const { wfx, dir } = machine(t);
  t.match(await wfx(['flow', 'init', 'my-first_flow.yaml']), {
    code: 0,
    stdout: '',
    stderr: /wfx run my-first_flow\.yaml/,
  });
  const text = readFileSync(join(dir, 'my-first_flow.yaml'), 'utf8');
  t.match(text, /^name: "My first flow"$/m);
  t.match(await wfx(['validate', 'my-first_flow.yaml']), { code: 0, stderr: '' });
  t.match(await wfx(['flow', 'init', 'my-first_flow.yaml']), { code: 2, stderr: /is there already/ });
  t.equal(readFileSync(join(dir, 'my-first_flow.yaml'), 'utf8'), text);
  await wfx(['flow', 'init', 'other.yaml', '--name', 'A "quoted" {name}: #1']);
  const other = readFileSync(join(dir, 'other.yaml'), 'utf8');
  t.match(await wfx(['validate', 'other.yaml']), { code: 0 }, 'any name');
  t.not(/^id: \S+/m.exec(other)?.[0], /^id: \S+/m.exec(text)?.[0]);
  t.match(await wfx(['flow', 'init', 'no/such/folder.yaml']), { code: 2, stderr: /can't be written/ });
});

t.test('schema: a JSON Schema that knows the keys of flow files', async (t) => {
  const { wfx } = machine(t);
  const { code, json } = await wfx(['schema']);
  t.equal(code, 0);
  t.match(json(), { $schema: /2020-12/, properties: { id: {}, nodes: {} } });
});

t.test('daemon status and stop without a daemon: no error, and JSON says so', async (t) => {
  const { wfx, home } = machine(t);
  t.match(await wfx(['daemon', 'status']), { code: 0, stdout: /not running/ });
  t.strictSame((await wfx(['daemon', 'status', '-o', 'json'])).json(), {
    running: false,
    state: 'none',
    dataDir: home,
  });
  t.match(await wfx(['daemon', 'stop']), { code: 0, stderr: /No daemon is running/ });
  t.match(await wfx(['daemon', 'logs']), { code: 2, stderr: /There is no log/ });
  t.match(await wfx(['token']), { code: 4, stdout: '', stderr: /wfx daemon start/ });
});

t.test(
  'contexts: named, used, listed and removed; the key is kept apart, and never asked for as an argument',
  async (t) => {
    const { wfx, home } = machine(t);
    t.match(
      await wfx(['context', 'add', 'work', 'https://wfx.example/', '-e', 'dev'], { env: { WFX_API_KEY: 'apk_a_b' } }),
      { code: 0 },
    );
    t.match(
      await wfx(['context', 'add', 'lab', '--url', 'http://127.0.0.1:1', '--key-file', '-'], { input: 'apk_c_d\n' }),
      { code: 0 },
    );
    t.notMatch(readFileSync(join(home, 'contexts.json'), 'utf8'), /apk_/);
    t.equal(statSync(join(home, 'credentials.json')).mode & 0o777, 0o600);
    t.equal((await wfx(['token'])).stdout, 'apk_c_d\n', 'the one added last is in use');
    t.match(await wfx(['flow', 'list']), { code: 5, stderr: /the context lab/ });
    await wfx(['context', 'use', 'work']);
    t.equal((await wfx(['token'])).stdout, 'apk_a_b\n');
    t.strictSame((await wfx(['context', 'list', '-o', 'json'])).json().items, [
      { name: 'local', url: null, environment: null, current: false },
      { name: 'work', url: 'https://wfx.example', environment: 'DEVELOPMENT', current: true },
      { name: 'lab', url: 'http://127.0.0.1:1', environment: null, current: false },
    ]);
    t.match(await wfx(['token', '--system']), { code: 2, stderr: /local daemon/ });
    await wfx(['context', 'remove', 'work']);
    t.match(await wfx(['flow', 'list']), { code: 5, stderr: /No daemon is running/ }, 'back to this machine');
    for (const name of ['local', 'a b', '../x']) t.match(await wfx(['context', 'add', name, 'http://x']), { code: 2 });
    t.match(await wfx(['context', 'add', 'x']), { code: 2, stderr: /address is missing/ });
    t.match(await wfx(['context', 'add', 'x', 'http://x', '--key-file', '-'], { input: 'two words' }), {
      code: 2,
      stderr: /no API key/,
    });
  },
);

t.test('a credentials file that is damaged is named', async (t) => {
  const { wfx, home } = machine(t);
  await wfx(['context', 'add', 'x', 'http://127.0.0.1:1'], { env: { WFX_API_KEY: 'apk_a_b' } });
  writeFileSync(join(home, 'credentials.json'), '{');
  t.match(await wfx(['token']), { code: 2, stderr: /credentials\.json is damaged/ });
  t.match(await wfx(['doctor']), { code: 1, stdout: /✗ credentials .*damaged/ });
});

t.test('doctor: names what it looked at and what is wrong; JSON for machines', async (t) => {
  const { wfx } = machine(t);
  const well = await wfx(['doctor', '-o', 'json']);
  t.equal(well.code, 0);
  const { ok, findings } = well.json();
  t.ok(ok);
  t.strictSame(
    findings.map((finding: { check: string }) => finding.check),
    ['node', 'data folder', 'disk', 'daemon', 'credentials', 'clock'],
  );
  t.match(await wfx(['doctor', '--url', 'http://127.0.0.1:1']), { code: 1, stdout: /✗ daemon/ });
});

t.test('graph: draws files for people, for Markdown and for programs', async (t) => {
  const { wfx } = machine(t);
  const drawn = await wfx(['graph', join(FLOWS, 'order-approval.yaml')]);
  t.match(drawn, { code: 0, stderr: '' });
  t.match(drawn.stdout, /^○ start +startEvent\n○ Review order +inputNode\n├─╮ after PT2H\n/);
  t.match((await wfx(['graph', '--mermaid', join(FLOWS, 'order-approval.yaml')])).stdout, /^flowchart TD\n/);
  const { processId, nodes } = (await wfx(['graph', '-o', 'json', join(FLOWS, 'order-approval.yaml')])).json();
  t.match(processId, /^[0-9a-f-]{36}$/);
  t.match(nodes[1], {
    id: 'review',
    edges: [{ to: 'decide' }, { to: 'expired', label: 'after PT2H' }, { to: 'cancelled' }],
  });
  t.match(await wfx(['graph', '-'], { input: 'id: 1' }), { code: 2, stdout: '', stderr: /is not valid/ });
});

t.test('completion: scripts that shells take, and words that fit what was typed', async (t) => {
  const { wfx } = machine(t);
  const words = async (...typed: string[]) => (await wfx(['__complete', '--', ...typed])).stdout.trim().split('\n');
  t.strictSame(await words('inst'), ['instance']);
  t.ok((await words('')).includes('run'));
  t.notOk((await words('')).includes('__complete'));
  t.strictSame(await words('flow', 'act'), ['activate']);
  t.strictSame(await words('run', '--det'), ['--detach']);
  t.strictSame(await words('instance', 'list', '--output', ''), ['text', 'json']);
  t.strictSame(await words('--url', 'x', 'dae'), ['daemon'], 'an option’s value is no command');
  t.strictSame(await words('run', '--data', 'x'), [''], 'a value of the user’s own');
  t.match((await wfx(['__complete', '--described', '--', 'inst'])).stdout, /^instance:List/);
  for (const shell of ['bash', 'zsh', 'fish'])
    t.match(await wfx(['completion', shell]), { code: 0, stdout: /__complete/ });
  const { stdout: script } = await wfx(['completion', 'bash']);
  t.equal(spawnSync('bash', ['-n'], { input: script }).status, 0);
});

t.test('a pipe that closes early ends a command quietly', async (t) => {
  const { env, dir } = machine(t);
  const shell = spawnSync('bash', ['-c', `"$0" "$1" schema | head -c 10 >/dev/null`, process.execPath, BIN], {
    env,
    cwd: dir,
    encoding: 'utf8',
  });
  t.equal(shell.stderr, '');
});

t.test('a result that can’t be written is a failure', { skip: !existsSync('/dev/full') }, async (t) => {
  const { env, dir } = machine(t);
  const full = openSync('/dev/full', 'w');
  t.teardown(() => closeSync(full));
  const { status, stderr } = spawnSync(process.execPath, [BIN, 'schema'], {
    env,
    cwd: dir,
    encoding: 'utf8',
    stdio: ['ignore', full, 'pipe'],
  });
  t.equal(status, 1);
  t.match(stderr, /^error: The result can't be written: ENOSPC[^\n]*\n$/);
});

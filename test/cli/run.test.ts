import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { FLOWS, type Machine, machine, serve } from './machine.ts';

t.setTimeout(180_000);

const flow = (name: string): string => join(FLOWS, `${name}.yaml`);
const data = (name: string): string => join(FLOWS, `${name}.data.json`);

/** A machine whose daemon runs, on a port of its own. */
async function withDaemon(t: Test, ...flags: string[]): Promise<Machine> {
  const own = machine(t);
  const { code, stderr } = await own.wfx(['daemon', 'start', '--port', '0', ...flags]);
  if (code !== 0) throw new Error(`the daemon did not start: ${stderr}`);
  return own;
}

/** Writes a flow file of the machine's own; answers its path. */
function written({ dir }: Machine, name: string, nodes: string, id = '0d2c7a52-4f5e-4c0e-9a57-7f0a1f0f6b01'): string {
  const file = join(dir, `${name}.yaml`);
  writeFileSync(file, `id: ${id}\nname: ${name}\nnodes:\n${nodes}`);
  return file;
}

t.test('the first run ever: starts a daemon, publishes, answers what is asked, and prints the variables', async (t) => {
  const own = machine(t);
  const args = ['run', flow('order-approval'), '--data-file', data('order-approval'), '--set-input', 'review=approve'];
  const first = await own.wfx(args);
  t.equal(first.code, 0, first.stderr);
  t.match(first.stdout, /^outcome: shipped$/m);
  t.match(first.stdout, /^order: \{"id":"A-1017"/m);
  t.match(first.stderr, /Started the daemon at http:\/\/127\.0\.0\.1:\d+/);
  t.match(first.stderr, /published as version 1/);
  t.match(first.stderr, /Completed in/);
  t.notMatch(first.stderr + first.stdout, /\u001b/, 'no colour and no progress line where there is no terminal');
  const second = await own.wfx([...args, '-o', 'json']);
  t.equal(second.code, 0);
  t.notMatch(second.stderr, /Started the daemon|published as/, 'nothing is started or published twice');
  t.match(second.json(), {
    stateCd: 1,
    processVersion: '1',
    environment: 'PRODUCTION',
    data: { outcome: 'shipped' },
    nodes: Array,
  });
});

t.test('a run of each example flow, by the real program', async (t) => {
  const own = await withDaemon(t, '--allow-commands');
  const run = (...args: string[]) => own.wfx(['run', '-o', 'json', ...args]);
  const outcome = async (...args: string[]) => {
    const { code, stderr, stdout } = await run(...args);
    return code === 0 ? JSON.parse(stdout).data : stderr;
  };

  await t.test('order-approval', async (t) => {
    const review = (answer: string, ...more: string[]) =>
      outcome(flow('order-approval'), '-s', `review=${answer}`, ...more);
    t.match(await review('approve'), { outcome: 'shipped', shipment: { parcels: [{ sku: 'tea' }, { sku: 'mug' }] } });
    t.match(await review('reject'), { outcome: 'rejected' });
    t.match(await review('approve', '-d', 'order.total=5000'), { outcome: 'rejected' });
    t.match(await review('@cancel'), { outcome: 'cancelled', inputNodeAction: 'CANCEL' });
  });

  await t.test('health-checks', async (t) => {
    const url = await serve(t, (ask, reply) => reply.writeHead(ask.url === '/ill' ? 500 : 200).end('{}'));
    const services = ['well', 'ill'].map((name) => ({ name, url: `${url}/${name}` }));
    services.push({ name: 'gone', url: 'http://127.0.0.1:1/' });
    const { health, checks, message } = await outcome(
      flow('health-checks'),
      '-d',
      `services=${JSON.stringify(services)}`,
    );
    t.strictSame(health, { up: 1, down: ['ill (HTTP_500)', 'gone (HTTP_UNREACHABLE)'] });
    t.match(checks, [{ name: 'well', up: true, status: 200 }, { up: false }, { up: false }]);
    t.match(message, /^Down: /);
  });

  await t.test('nightly-report', async (t) => {
    const { report } = await outcome(
      flow('nightly-report'),
      '-d',
      `folders=${JSON.stringify([own.dir, '/no/such/folder'])}`,
    );
    t.match(report, {
      rows: [{ folder: own.dir, megabytes: Number }, { megabytes: null }],
      unreadable: ['/no/such/folder'],
    });
  });

  await t.test('payment', async (t) => {
    const keys: (string | undefined)[] = [];
    const url = await serve(t, (ask, reply) => {
      keys.push(ask.headers['idempotency-key'] as string | undefined);
      const busy = ask.url === '/busy' && keys.length < 3;
      const status = ask.url === '/declined' ? 'declined' : 'paid';
      reply
        .writeHead(busy ? 503 : 200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ status, receipt: 'R-1' }));
    });
    const pay = (path: string) => outcome(flow('payment'), '-d', `paymentUrl=${url}${path}`);
    t.match(await pay('/busy'), { outcome: 'paid', receipt: 'R-1' });
    t.equal(keys.length, 3);
    t.equal(new Set(keys).size, 1, 'every try carries the same key');
    t.match(await pay('/declined'), { outcome: 'declined' });
    t.equal(keys.length, 4, 'an answer is not asked for again');
    t.match(await pay('/ok'), { outcome: 'paid' });
  });

  await t.test('ticket-router', async (t) => {
    const route = async (severity: number, text: string) =>
      (await outcome(flow('ticket-router'), '-d', `ticket.severity=${severity}`, '-d', `ticket.text=${text}`)).teams;
    t.strictSame(await route(1, 'A security warning on the invoice'), ['on-call', 'billing', 'security']);
    t.strictSame(await route(3, 'Refund, please'), ['billing']);
    t.strictSame(await route(3, 'Hello'), ['front desk']);
  });

  await t.test('reshape-json', async (t) => {
    const { customers, best } = await outcome(flow('reshape-json'), '--data-file', data('reshape-json'));
    t.match(customers, [
      { customer: 'ada', total: 310 },
      { customer: 'grace', total: 59.8, items: { lamp: 2, bulb: 8 } },
    ]);
    t.equal(best, 'ada');
    t.strictSame((await outcome(flow('reshape-json'), '-d', 'lines=[]')).customers, []);
  });

  await t.test('vacation-request', async (t) => {
    const inputs = (...texts: string[]) => texts.flatMap((text) => ['-s', text]);
    const ask = ['ask.days=10', 'ask.from=2027-07-01'];
    t.match(await outcome(flow('vacation-request'), ...inputs(...ask, 'decide.approved=yes')), {
      outcome: 'granted',
      request: { days: 10, from: '2027-07-01' },
    });
    const twice = inputs(...ask, 'decide.approved=no', 'decide.approved=yes', 'again=again');
    t.match(
      await outcome(flow('vacation-request'), ...twice),
      { outcome: 'granted' },
      'answers given several times are taken in turn',
    );
    writeFileSync(join(own.dir, 'answers.yaml'), 'ask: { days: 3, from: 2027-01-04 }\ndecide: "@cancel"\n');
    t.match(await outcome(flow('vacation-request'), '--input-file', join(own.dir, 'answers.yaml')), {
      outcome: 'withdrawn',
    });
  });

  await t.test('await-payment', async (t) => {
    const waiting = own.begin(['run', '-o', 'json', flow('await-payment'), '-k', 'o-1', '-d', 'orderId=o-1']);
    await waiting.says(/waiting for the message payment-received/);
    t.match(await own.wfx(['event', 'send', 'payment-received', '-k', 'other']), {
      code: 2,
      stderr: /nothing waits for it/,
    });
    const sent = await own.wfx(['event', 'send', 'payment-received', '-k', 'o-1', '-d', 'amount=240', '-o', 'json']);
    t.match(sent.json(), { status: 'correlated', processInstanceIds: [String] });
    t.match((await waiting.result).json(), { stateCd: 1, data: { outcome: 'paid 240' } });
    t.match(await outcome(flow('await-payment'), '-d', 'patience=PT0S'), { outcome: 'never paid' });
  });

  await t.test('the starter that flow init writes', async (t) => {
    await own.wfx(['flow', 'init', 'hello.yaml']);
    t.match(await outcome(join(own.dir, 'hello.yaml'), '-s', 'ask=yes', '-d', 'name=Ada'), {
      greeting: 'Hello Ada! Hello Ada!',
    });
    t.match(await outcome(join(own.dir, 'hello.yaml'), '-s', 'ask=no'), { greeting: 'Nobody was greeted.' });
  });
});

t.test('exit codes tell how a run ended', async (t) => {
  const own = await withDaemon(t);
  const failing = written(
    own,
    'failing',
    '  a: { type: startEvent, next: b }\n  b: { type: endEvent, error: BROKEN }\n',
  );
  const failed = await own.wfx(['run', failing]);
  t.equal(failed.code, 1);
  t.match(failed.stderr, /Failed at b after .*: BROKEN[\s\S]*wfx instance retry/);

  const waits = written(
    own,
    'waits',
    '  a: { type: startEvent, next: b }\n  b: { type: intermediateCatchEvent, timer: P1D }\n',
    '0d2c7a52-4f5e-4c0e-9a57-7f0a1f0f6b02',
  );
  const late = await own.wfx(['run', waits, '--timeout', '0.2', '-o', 'json']);
  t.equal(late.code, 124);
  t.match(late.stderr, /the run goes on[\s\S]*wfx instance logs/);
  t.match(late.json(), { stateCd: 0 });

  const cancelled = own.begin(['run', waits]);
  const [, id = ''] = await cancelled.says(/Run ([0-9a-f-]{36})/);
  t.match(await own.wfx(['instance', 'cancel', id]), { code: 0 });
  t.match(await cancelled.result, { code: 3, stderr: /Cancelled after/ });

  const left = own.begin(['run', waits]);
  await left.says(/waiting until/);
  left.child.kill('SIGINT');
  t.match(await left.result, { code: 130, stderr: /the run goes on|it goes on/i });

  const detached = await own.wfx(['run', waits, '--detach']);
  t.equal(detached.code, 0);
  t.match(detached.stdout, /^[0-9a-f-]{36}\n$/);
  t.match((await own.wfx(['run', waits, '--detach', '-o', 'json'])).json(), {
    status: 'started',
    processInstanceId: String,
  });
  t.equal((await own.wfx(['instance', 'list', '--state', 'running', '-o', 'json'])).json().items.length, 4);
});

t.test('nobody to ask: exit code 2, which node waits and both ways to answer it, and the run waits on', async (t) => {
  const own = await withDaemon(t);
  const { code, stderr, json } = await own.wfx(['run', flow('order-approval'), '-o', 'json']);
  t.equal(code, 2);
  t.match(
    stderr,
    /waits at review.*Approve order A-1001.*\n.*--set-input review=approve\n.*wfx task complete (\S+) review approve/,
  );
  const { processInstanceId: id, stateCd } = json();
  t.equal(stateCd, 0);
  const tasks = (await own.wfx(['task', 'list', '-o', 'json'])).json();
  t.match(tasks.items, [{ processInstanceId: id, nodeId: 'review', form: { inputType: 'radio' } }]);
  t.match(await own.wfx(['task', 'complete', id, 'review', 'maybe']), { code: 2, stderr: /one of approve, reject/ });
  t.match(await own.wfx(['task', 'complete', id, 'review']), { code: 2, stderr: /is missing[\s\S]*review approve/ });
  t.match((await own.wfx(['task', 'complete', id, 'review', 'approve', '-o', 'json'])).json(), {
    processInstanceId: id,
    status: 'resumed',
  });
  t.match(await own.wfx(['instance', 'logs', id, '--follow']), { code: 0, stdout: /Ship order/, stderr: /Completed/ });
  t.match(await own.wfx(['task', 'complete', id, 'review', 'approve']), { code: 2, stderr: /wait/ });

  const refused = await own.wfx(['run', flow('order-approval'), '-s', 'review=maybe']);
  t.equal(refused.code, 2);
  t.match(refused.stderr, /answer for review was refused: .*one of approve, reject/);
  const unused = await own.wfx(['run', flow('order-approval'), '-s', 'review=reject', '-s', 'reveiw=approve']);
  t.match(unused, { code: 0, stderr: /no task of the run was called reveiw/ });
  const form = await own.wfx(['run', flow('vacation-request')]);
  t.match(form, { code: 2, stderr: /--set-input ask\.days=5 --set-input ask\.from=2027-01-31/ });
  const box = written(
    own,
    'box',
    `  start: { type: startEvent, next: box }
  box: { type: inputNode, inputType: form, fields: [{ name: sure, type: checkbox }], errorFlow: done, next: done }
  done: { type: endEvent }
`,
  );
  t.match(await own.wfx(['run', box]), { code: 2, stderr: /--set-input box\.sure=true$/m });
  t.match(await own.wfx(['run', box, '--set-input', 'box.sure=true']), { code: 0, stdout: /"sure":true/ });
});

t.test('what a subProcess asks is answered too, and its log is shown', async (t) => {
  const own = await withDaemon(t);
  const file = written(
    own,
    'parent',
    `  a: { type: startEvent, next: sub }
  sub:
    type: subProcess
    name: Inner work
    next: end
    nodes:
      i: { type: startEvent, next: q }
      q: { type: inputNode, inputType: number, formTitle: How many?, timeout: P1D, next: e, errorFlow: e, timeoutFlow: e }
      e: { type: endEvent }
  end: { type: endEvent }
`,
  );
  const { code, stderr, json } = await own.wfx(['run', file, '-s', 'q=7', '-o', 'json']);
  t.equal(code, 0, stderr);
  t.match(stderr, /Inner work\/q/);
  t.equal(json().data.inputValue, 7);
});

t.test('files: an answer by path is uploaded, and the flow gets a reference', async (t) => {
  const own = await withDaemon(t);
  const file = written(
    own,
    'upload',
    '  a: { type: startEvent, next: f }\n  f: { type: inputNode, inputType: file, timeout: P1D, next: e, errorFlow: e, timeoutFlow: e }\n  e: { type: endEvent }\n',
  );
  writeFileSync(join(own.dir, 'grüße.txt'), 'hello');
  const { code, json, stderr } = await own.wfx(['run', file, '-s', 'f=grüße.txt', '-o', 'json']);
  t.equal(code, 0, stderr);
  t.match(json().data.inputValue, { id: String, name: 'grüße.txt', size: 5 });
  t.match(await own.wfx(['run', file, '-s', 'f=nowhere.txt']), { code: 2, stderr: /There is no file nowhere\.txt/ });
});

t.test('versions and environments', async (t) => {
  const own = await withDaemon(t);
  const id = '0d2c7a52-4f5e-4c0e-9a57-7f0a1f0f6b03';
  const says = (text: string): string =>
    written(own, 'v', `  a: { type: startEvent, next: b }\n  b: { type: setVariable, set: { said: ${text} } }\n`, id);
  const said = async (...args: string[]) => (await own.wfx(['run', '-o', 'json', ...args])).json();
  t.match(await said(says('one')), { processVersion: '1', data: { said: 'one' } });
  t.match(await said(says('two')), { processVersion: '2', data: { said: 'two' } });
  t.match(await said(id, '--version-number', '1'), { data: { said: 'one' } });
  t.match(await own.wfx(['run', says('two'), '--version-number', '1']), { code: 2, stderr: /give the process id/ });
  t.match(await said(says('three'), '--environment', 'development'), {
    processVersion: '3',
    environment: 'DEVELOPMENT',
  });
  t.match(await said(id), { data: { said: 'two' } }, 'production stays where it was');
  t.match(await said(id, '-e', 'DEVELOPMENT'), { data: { said: 'three' } });
  t.match((await own.wfx(['flow', 'versions', id, '-o', 'json'])).json(), {
    items: [
      { version: '3', activeIn: ['DEVELOPMENT'] },
      { version: '2', activeIn: ['PRODUCTION'] },
      { version: '1', activeIn: [] },
    ],
  });
  t.match((await own.wfx(['flow', 'activate', id, '1', '-e', 'PRODUCTION', '-o', 'json'])).json().activeVersion, {
    PRODUCTION: '1',
    DEVELOPMENT: '3',
  });
  t.match(await said(id), { data: { said: 'one' } });
  t.match(await own.wfx(['flow', 'unpublish', id]), { code: 0, stderr: /PRODUCTION: not published/ });
  t.match(await own.wfx(['run', id]), { code: 2, stderr: /publish it/ });
  t.equal(
    (await own.wfx(['flow', 'show', id, '--source'])).stdout,
    readFileSync(says('three'), 'utf8'),
    'the file, byte for byte',
  );
  t.match(await own.wfx(['run', '0d2c7a52-4f5e-4c0e-9a57-000000000000']), { code: 2, stderr: /wfx flow list/ });
});

t.test('standard input: the flow, or its data', async (t) => {
  const own = await withDaemon(t);
  const text = readFileSync(flow('reshape-json'), 'utf8');
  t.match(await own.wfx(['run', '-', '-d', 'lines=[]'], { input: text }), { code: 0, stdout: /^customers: \[\]$/m });
  t.match(await own.wfx(['run', flow('reshape-json'), '--data-file', '-'], { input: 'lines: []' }), {
    code: 0,
    stdout: /^customers: \[\]$/m,
  });
  t.match(await own.wfx(['run', flow('reshape-json'), '--data-file', '-'], { input: '[1]' }), {
    code: 2,
    stderr: /must hold a map/,
  });
});

t.test('variables and names that would command a terminal are neutralised in text, and whole in JSON', async (t) => {
  const own = await withDaemon(t);
  const file = written(
    own,
    'odd',
    '  a: { type: startEvent, name: "n\\e[2J", next: b }\n  b: { type: outputNode, value: "{evil}" }\n',
  );
  const evil = '\u001b[2J\u009b31m\r\u202eabc';
  const given = join(own.dir, 'evil.json');
  writeFileSync(given, JSON.stringify({ evil }));
  const { stdout, stderr, code } = await own.wfx(['run', file, '--data-file', given]);
  t.equal(code, 0, stderr);
  t.notMatch(stdout + stderr, /[\u001b\u009b\r\u202e]/);
  t.match(stdout, /^evil: \\x1b\[2J\\x9b31m\\r\\u202eabc$/m);
  const json = await own.wfx(['run', file, '--data-file', given, '-o', 'json']);
  t.notMatch(json.stdout, /[\u001b\u009b\r\u202e]/);
  t.equal(json.json().data.evil, evil);
});

t.test('a run is followed over a restart of the daemon', async (t) => {
  const own = await withDaemon(t);
  const run = own.begin(['run', flow('await-payment'), '-k', 'r-1', '-d', 'orderId=r-1']);
  await run.says(/waiting for the message/);
  await own.wfx(['daemon', 'stop']);
  await own.wfx(['daemon', 'start', '--port', '0']);
  await own.wfx(['event', 'send', 'payment-received', '-k', 'r-1', '-d', 'amount=1']);
  const { code, stdout, stderr } = await run.result;
  t.equal(code, 0, stderr);
  t.match(stdout, /^outcome: paid 1$/m);
});

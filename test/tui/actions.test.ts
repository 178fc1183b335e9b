import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { machine } from '../cli/machine.ts';
import { golden, openTui } from './terminal.ts';

const NINE = `
id: 99999999-0000-4000-8000-000000000009
name: Nine questions 日本語
variables: { who: Ada, order: { id: A-1, total: 3 } }
nodes:
  start: { type: startEvent, next: [all, word] }
  all:
    type: inputNode
    formTitle: "Everything that a form can ask {who}"
    inputType: form
    timeout: P1D
    fields:
      - { name: name, label: Full name, type: textbox, required: true }
      - { name: notes, label: Notes, type: textarea, required: false }
      - { name: amount, label: Amount, type: number, required: true }
      - { name: day, label: Day, type: date, required: true }
      - { name: colour, label: Colour, type: select, options: [red, green, 白い], required: true }
      - { name: toppings, label: Toppings, type: checkbox, options: [cheese, ham, olives], required: false }
      - { name: agree, label: Agree, type: checkbox, required: false }
      - { name: size, label: Size, type: radio, options: [S, M, L], default: M, required: true }
      - { name: scan, label: Scan, type: file, required: false }
    next: check
    errorFlow: done
    timeoutFlow: done
  word: { type: inputNode, formTitle: One word, inputType: textbox, timeout: P1D, next: done, errorFlow: done, timeoutFlow: done }
  check: { type: ifElse, condition: "\${formData.amount > 5}", then: done, else: fail }
  fail: { type: endEvent, name: Too little, error: TOO_LITTLE }
  done: { type: endEvent }
`;
const HOOKED = `
id: 99999999-0000-4000-8000-000000000010
name: Hooked
triggers: [{ type: webhook, registration: shop }]
nodes:
  start: { type: startEvent, next: done }
  done: { type: endEvent }
`;

t.setTimeout(120_000);

t.test('everything that changes something, with keys alone', async (t) => {
  const own = machine(t);
  await own.wfx(['daemon', 'start', '--port', '0']);
  writeFileSync(join(own.dir, 'nine.yaml'), NINE);
  writeFileSync(join(own.dir, 'hooked.yaml'), HOOKED);
  writeFileSync(join(own.dir, 'scan.txt'), 'scanned');
  const tui = openTui(t, own, ['flows']);
  await tui.shows(/● live[\s\S]*No flows yet/);
  const instance = async (state: string) =>
    (await own.wfx(['instance', 'list', '--state', state, '-o', 'json'])).json().items;

  await t.test('P publishes a file whose path is completed; what is wrong with a file is said', async (t) => {
    writeFileSync(join(own.dir, 'wrong.yaml'), 'id: x\nname: y\n');
    tui.type('P');
    await tui.shows(/Publish a flow[\s\S]*nine\.yaml/);
    tui.type('wr');
    tui.press('tab');
    await tui.shows(/wrong\.yaml/);
    tui.type('\u0013');
    await tui.shows(/Line 1: /);
    tui.type('\u0015ni');
    tui.press('tab');
    tui.type('\u0013');
    await tui.shows(/Published as version 1/);
    golden(t, 'flows-80x24', await tui.shows(/Nine questions 日本語 +1 +1/));
  });

  await t.test('s starts a run with a form of its variables, and opens it', async (t) => {
    tui.type('s');
    await tui.shows(/Start Nine questions/);
    golden(t, 'start-80x24', tui.screen());
    tui.type('\u0015Grace');
    tui.press('tab');
    tui.press('tab');
    tui.type('extra.deep=7');
    tui.type('\u0013');
    await tui.shows(/● Running[\s\S]*◷ all/);
    const [run] = await instance('running');
    const { data } = (await own.wfx(['instance', 'show', run.processInstanceId, '-o', 'json'])).json();
    t.match(data, { who: 'Grace', order: { id: 'A-1', total: 3 }, extra: { deep: 7 } });
  });

  await t.test('a single value is a form too, and ^x cancels a task after asking', async (t) => {
    tui.type(':ta\r');
    await tui.shows(/Everything that a form can ask Grace[\s\S]*One word/);
    golden(t, 'tasks-80x24', tui.screen());
    tui.press('down', 'enter');
    await tui.shows(/Answer \*/);
    tui.type('\u0018');
    await tui.shows(/Cancel the task “One word”/);
    tui.type('y');
    await tui.shows(/ tasks 1 [\s\S]*Cancelled the task/);
  });

  await t.test(
    'a task is answered with a form of all nine types; the daemon says what is wrong with a field',
    async (t) => {
      tui.press('enter');
      await tui.shows(/Full name \*/);
      tui.type('Grace Hopper');
      tui.press('enter');
      tui.type('first');
      tui.press('enter');
      tui.type('second');
      tui.press('tab');
      tui.type('lots');
      tui.press('tab');
      await tui.shows(/Mo Tu We Th Fr Sa Su/);
      tui.type('2027-01-31');
      tui.press('right', 'left', 'down', 'up');
      await tui.shows(/January 2027/);
      tui.press('tab', 'down', 'down', 'tab', 'space', 'down', 'down', 'space', 'tab', 'space', 'tab', 'down', 'tab');
      tui.type('sc');
      tui.press('tab');
      await tui.shows(/│ scan\.txt/);
      golden(t, 'form-80x24', tui.screen().replace(/waiting for \d+s/, 'waiting for Ts'));
      tui.type('\u0013');
      await tui.shows(/✗ must be a number/);
      tui.type('\u00153.5\u0013');
      await tui.shows(/Completed “Everything/);
      const [run] = await instance('failed');
      const { data } = (await own.wfx(['instance', 'show', run.processInstanceId, '-o', 'json'])).json();
      t.match(data.formData, {
        name: 'Grace Hopper',
        notes: 'first\nsecond',
        amount: 3.5,
        day: '2027-01-31',
        colour: '白い',
        toppings: ['cheese', 'olives'],
        agree: true,
        size: 'L',
        scan: { name: 'scan.txt', size: 7 },
      });
    },
  );

  await t.test('R goes on from a node with variables changed', async (t) => {
    tui.type(':runs\r');
    await tui.shows(/✗ Failed {5}Nine questions/);
    tui.press('enter');
    await tui.shows(/TOO_LITTLE/);
    golden(t, 'failed-80x24', tui.screen());
    tui.type('R');
    await tui.shows(/From node/);
    tui.type('check');
    await tui.shows(/\(•\) check/);
    tui.press('tab');
    tui.type('\u0015Edited');
    tui.type('\u0013');
    await tui.shows(/Goes on as a new run/);
    await tui.shows(/by retry/);
    const [newest] = await instance('failed');
    const { data, retryOf } = (await own.wfx(['instance', 'show', newest.processInstanceId, '-o', 'json'])).json();
    t.equal(data.who, 'Edited');
    t.ok(retryOf);
  });

  await t.test('marked rows are acted on together', async () => {
    for (let i = 0; i < 3; i += 1) await own.wfx(['run', 'nine.yaml', '--detach']);
    tui.type(':runs\r');
    await tui.shows(/(● Running[\s\S]*){3}/);
    tui.type('2');
    await tui.shows(/ runs 3 \/state:running(?! …)/);
    tui.type('   ');
    await tui.shows(/3 marked/);
    tui.type('c');
    await tui.shows(/Cancel 3 runs/);
    tui.type('y');
    await tui.shows(/Cancelled 3\./);
    tui.type('1');
    await tui.shows(/(⊘ Cancelled[\s\S]*){3}/);
  });

  await t.test('a version is activated from the flow', async (t) => {
    writeFileSync(join(own.dir, 'nine.yaml'), NINE.replace('One word', 'One more word'));
    await own.wfx(['publish', 'nine.yaml']);
    tui.type(':flows\r');
    await tui.shows(/Nine questions 日本語 +2 +2/);
    tui.press('enter');
    await tui.shows(/ 2 {2}[\d-]+ [\d:]+ .*DEVELOPMENT PRODUCTION/);
    tui.press('down');
    tui.type('a');
    await tui.shows(/Activate version 1/);
    tui.press('down', 'enter');
    await tui.shows(/Version 1 is active/);
    t.match(await tui.shows(/production 1/), /development 2/);
    golden(t, 'flow-80x24', tui.screen());
  });

  await t.test('a delivery comes up, is opened, and is replayed', async (t) => {
    await own.wfx(['webhook', 'create', 'shop', '--provider', 'custom', '--no-auth']);
    await own.wfx(['publish', 'hooked.yaml']);
    tui.type(':webhooks\r');
    await tui.shows(/shop +CUSTOM +no/);
    tui.press('enter');
    await tui.shows(/Nothing was delivered/);
    const { endpoints } = (await own.wfx(['webhook', 'show', 'shop', '-o', 'json'])).json();
    const { url } = (await own.wfx(['daemon', 'status', '-o', 'json'])).json();
    await fetch(`${url}${endpoints[0].path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"order":17}',
    });
    await tui.shows(/STARTED +- +1 run/);
    tui.press('enter');
    await tui.shows(/"order": 17/);
    golden(t, 'delivery-80x24', tui.screen().replace(/trace \S+/, 'trace X'));
    tui.type('p');
    await tui.shows(/Send this delivery again/);
    tui.type('y');
    await tui.shows(/Replayed it: STARTED, 1 started/);
    tui.press('escape');
    await tui.shows(/1 run \(a replay\)/);
  });

  await t.test('a key is suspended, resumed and revoked', async () => {
    await own.wfx(['key', 'create', 'robot', '--role', 'runner']);
    tui.type(':keys\r');
    await tui.shows(/robot +ACTIVE/);
    tui.type('/robot\r');
    await tui.hides(/admin +ACTIVE/);
    for (const [key, question, status] of [
      ['s', /Suspend the key robot/, /robot +SUSPENDED/],
      ['a', /Resume the key robot/, /robot +ACTIVE/],
      ['R', /Revoke the key robot/, /robot +REVOKED/],
    ] as const) {
      tui.type(key);
      await tui.shows(question);
      tui.type('y');
      await tui.shows(status);
    }
  });

  await t.test('schedules and health', async () => {
    tui.type(':sch\r');
    await tui.shows(/No flow has a schedule/);
    tui.type(':health\r');
    await tui.shows(/node transitions +[\d.]+\/s +[▁-█]/);
  });

  await t.test('ctrl-c leaves from anywhere', async (t) => {
    tui.type(':');
    tui.type('\u0003');
    t.equal(await tui.exit, 0);
  });
});

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { BIN, FLOWS, type Machine, machine } from './machine.ts';

t.setTimeout(180_000);

const ENTER = '\r';
const DOWN = '\u001b[B';
const SPACE = ' ';
const CTRL_C = '\u0003';

const hasScript = spawnSync('script', ['-q', '-e', '-c', 'true', '/dev/null']).status === 0;
const skip = hasScript ? false : 'there is no `script` of util-linux here, which gives commands a terminal';

/** A command at a terminal of its own. */
class Terminal {
  readonly #child: ChildProcess;
  readonly #end: Promise<number>;
  #seen = '';
  #from = 0;
  #look: () => void = () => undefined;

  constructor({ env, dir }: Machine, args: readonly string[]) {
    const words = [process.execPath, BIN, ...args].map((word) => `'${word}'`).join(' ');
    const command = `stty cols 100 rows 30; exec ${words}`;
    this.#child = spawn('script', ['-q', '-e', '-f', '-c', command, '/dev/null'], {
      cwd: dir,
      env: { ...env, TERM: 'xterm-256color', SHELL: '/bin/sh' },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#seen += text;
      this.#look();
    });
    this.#end = once(this.#child, 'close').then(([code]) => code);
  }

  get text(): string {
    return this.#seen.replace(/\u001b\[[\d;?]*[A-Za-z]/g, '');
  }

  /** Waits for text that was not waited for before. */
  async shows(pattern: RegExp): Promise<this> {
    await new Promise<void>((resolve, reject) => {
      this.#look = () => {
        const match = pattern.exec(this.text.slice(this.#from));
        if (match === null) return;
        this.#from += match.index + match[0].length;
        this.#look = () => undefined;
        resolve();
      };
      this.#look();
      void this.#end.then(() => reject(new Error(`ended without ${pattern}:\n${this.text}`)));
    });
    return this;
  }

  press(...keys: readonly string[]): this {
    for (const key of keys) this.#child.stdin?.write(key);
    return this;
  }

  /** The exit code. */
  async ends(): Promise<number> {
    const code = await this.#end;
    this.#child.stdin?.destroy();
    return code;
  }
}

async function withDaemon(t: Test): Promise<Machine> {
  const own = machine(t);
  await own.wfx(['daemon', 'start', '--port', '0']);
  return own;
}

t.test('a radio is answered at the terminal', { skip }, async (t) => {
  const own = await withDaemon(t);
  const terminal = new Terminal(own, ['run', join(FLOWS, 'order-approval.yaml')]);
  await terminal.shows(/Approve order A-1001 of Ada Lovelace over 240 EUR\?/);
  await terminal.shows(/Reject it/);
  terminal.press(DOWN);
  await terminal.shows(/● Reject it/);
  terminal.press(ENTER);
  await terminal.shows(/outcome: rejected/);
  t.equal(await terminal.ends(), 0);
});

t.test('Ctrl-C in the form cancels the task, and nothing else', { skip }, async (t) => {
  const own = await withDaemon(t);
  const terminal = new Terminal(own, ['run', join(FLOWS, 'order-approval.yaml')]);
  await terminal.shows(/Reject it/);
  terminal.press(CTRL_C);
  await terminal.shows(/outcome: cancelled/);
  t.equal(await terminal.ends(), 0, 'the flow went on by errorFlow, and completed');
  t.match((await own.wfx(['daemon', 'status', '-o', 'json'])).json(), { running: true });
});

t.test('a second Ctrl-C leaves the run, which goes on', { skip }, async (t) => {
  const own = await withDaemon(t);
  const file = join(own.dir, 'waits.yaml');
  writeFileSync(
    file,
    `id: 0d2c7a52-4f5e-4c0e-9a57-7f0a1f0f6c01
name: Waits
nodes:
  a: { type: startEvent, next: q }
  q: { type: inputNode, inputType: textbox, formTitle: Say something, timeout: P1D, next: w, errorFlow: w, timeoutFlow: w }
  w: { type: intermediateCatchEvent, timer: P1D }
`,
  );
  const terminal = new Terminal(own, ['run', file]);
  await terminal.shows(/◆\s+Say something/);
  terminal.press(CTRL_C);
  await terminal.shows(/Ctrl-C again/);
  await terminal.shows(/waiting until/);
  terminal.press(CTRL_C);
  await terminal.shows(/it goes on[\s\S]*wfx instance logs/);
  t.equal(await terminal.ends(), 130);
  const { items } = (await own.wfx(['instance', 'list', '-o', 'json'])).json();
  t.match(items, [{ stateCd: 0 }]);
});

t.test('a form asks for all its fields, and checks each at once', { skip }, async (t) => {
  const own = await withDaemon(t);
  const terminal = new Terminal(own, ['run', join(FLOWS, 'vacation-request.yaml')]);
  await terminal.shows(/When does Ada want to be away\?/);
  await terminal.shows(/How many days\?/);
  terminal.press('ten', ENTER);
  await terminal.shows(/Give a number/);
  terminal.press('\u007f\u007f\u007f', '10', ENTER);
  await terminal.shows(/From which day\?/);
  terminal.press('2027-02-30', ENTER);
  await terminal.shows(/Give an ISO 8601 date/);
  terminal.press('\u007f\u007f', '28', ENTER);
  await terminal.shows(/Why\?/);
  terminal.press(ENTER);
  await terminal.shows(/Approve 10 days for Ada from 2027-02-28\?/);
  await terminal.shows(/no/);
  terminal.press(ENTER);
  await terminal.shows(/A note/);
  terminal.press('Enjoy', ENTER);
  await terminal.shows(/outcome: granted/);
  t.equal(await terminal.ends(), 0);
});

t.test('a checkbox takes several, a text area several lines', { skip }, async (t) => {
  const own = await withDaemon(t);
  const file = join(own.dir, 'kinds.yaml');
  writeFileSync(
    file,
    `id: 0d2c7a52-4f5e-4c0e-9a57-7f0a1f0f6c02
name: Kinds
nodes:
  a: { type: startEvent, next: box }
  box: { type: inputNode, inputType: checkbox, formTitle: Which?, options: [red, green, blue], timeout: P1D, next: kept, errorFlow: e, timeoutFlow: e }
  kept: { type: setVariable, set: { colours: "{inputValue}" }, next: area }
  area: { type: inputNode, inputType: textarea, formTitle: Tell, timeout: P1D, next: e, errorFlow: e, timeoutFlow: e }
  e: { type: endEvent }
`,
  );
  const terminal = new Terminal(own, ['run', file]);
  await terminal.shows(/blue/);
  terminal.press(SPACE, DOWN, DOWN, SPACE, ENTER);
  await terminal.shows(/◆\s+Tell/);
  terminal.press('one', ENTER, 'two', ENTER, ENTER);
  await terminal.shows(/inputValue: one\\ntwo/);
  await terminal.shows(/colours: \["red","blue"\]/);
  t.equal(await terminal.ends(), 0);
});

t.test('a question that is answered elsewhere is taken back', { skip }, async (t) => {
  const own = await withDaemon(t);
  const terminal = new Terminal(own, ['run', join(FLOWS, 'order-approval.yaml')]);
  await terminal.shows(/Reject it/);
  const { items } = (await own.wfx(['task', 'list', '-o', 'json'])).json();
  t.match(await own.wfx(['task', 'complete', items[0].processInstanceId, 'review', 'approve']), { code: 0 });
  await terminal.shows(/no longer open/);
  await terminal.shows(/outcome: shipped/);
  t.equal(await terminal.ends(), 0);
});

t.test('task complete asks when no value is given; Ctrl-C there leaves the task as it is', { skip }, async (t) => {
  const own = await withDaemon(t);
  const { stdout } = await own.wfx(['run', join(FLOWS, 'order-approval.yaml'), '--detach']);
  const id = stdout.trim();
  const left = new Terminal(own, ['task', 'complete', id, 'review']);
  await left.shows(/Reject it/);
  left.press(CTRL_C);
  t.equal(await left.ends(), 130);
  const done = new Terminal(own, ['task', 'complete', id, 'review']);
  await done.shows(/Reject it/);
  done.press(ENTER);
  await done.shows(/Completed review/);
  t.equal(await done.ends(), 0);
});

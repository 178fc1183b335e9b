import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { FLOWS, type Machine, machine } from '../cli/machine.ts';
import { golden, openTui } from './terminal.ts';

/** A machine with a daemon on which flows are published. */
async function withDaemon(t: Test, ...flows: readonly string[]): Promise<Machine> {
  const own = machine(t);
  await own.wfx(['daemon', 'start', '--port', '0']);
  for (const flow of flows) {
    copyFileSync(join(FLOWS, `${flow}.yaml`), join(own.dir, `${flow}.yaml`));
    const { code, stderr } = await own.wfx(['publish', `${flow}.yaml`]);
    if (code !== 0) throw new Error(stderr);
  }
  return own;
}

const started = async (own: Machine, flow: string, ...args: readonly string[]): Promise<string> =>
  (await own.wfx(['run', `${flow}.yaml`, '--detach', ...args])).stdout.trim();

t.setTimeout(120_000);

t.test('runs: live, filtered, opened, and back', async (t) => {
  const own = await withDaemon(t, 'reshape-json', 'order-approval');
  const tui = openTui(t, own);
  await tui.shows(/● live[\s\S]*No runs yet/);

  await t.test('a run that starts elsewhere comes up by itself, and its end is seen', async (t) => {
    const id = await started(own, 'reshape-json', '--data-file', join(FLOWS, 'reshape-json.data.json'), '-k', 'json-1');
    await tui.shows(/✓ Completed {2}Reshape JSON/);
    t.match(tui.screen(), id.slice(-12));
    await started(own, 'order-approval', '--data-file', join(FLOWS, 'order-approval.data.json'), '-k', 'order-1');
    await tui.shows(/● Running {4}Order approval/);
    golden(t, 'runs-80x24', tui.screen());
  });

  await t.test('/ filters by state, and what makes no sense is said', async (t) => {
    tui.type('/state:comp\r');
    await tui.hides(/Order approval/);
    t.match(await tui.shows(/Reshape JSON/), /\/state:comp/, 'the header says what is filtered');
    tui.type('/\u0015state:odd\r');
    await tui.shows(/There is no state “odd”/);
    tui.press('escape');
    await tui.shows(/Order approval/);
  });

  await t.test('a view is a number away', async () => {
    tui.type('2');
    await tui.hides(/Reshape JSON/);
    tui.type('1');
    await tui.shows(/Reshape JSON/);
  });

  await t.test(':save keeps a filter as a view', async (t) => {
    tui.type('/order age:1h\r');
    await tui.hides(/Reshape JSON/);
    tui.type(':save orders\r');
    await tui.shows(/3 failed {2}4 orders[\s\S]*Kept “order age:1h”/);
    tui.type('1');
    await tui.shows(/Reshape JSON/);
    tui.type('4');
    await tui.hides(/Reshape JSON/);
    tui.type('1');
    await tui.shows(/Reshape JSON[\s\S]*/);
    t.match(readFileSync(join(own.home, 'tui.json'), 'utf8'), '"filter": "order age:1h"');
  });

  await t.test('⏎ opens a run: timeline, log, variables; esc goes back', async (t) => {
    tui.type('g');
    tui.press('enter');
    await tui.shows(/◷ Review order/);
    golden(t, 'run-80x24', tui.screen());
    tui.type('2');
    await tui.shows(/◷ Review order[\s\S]*○ │ │ Approved, and within/);
    golden(t, 'graph-80x24', tui.screen());
    tui.type('3');
    await tui.shows(/waiting for input: Approve order/);
    tui.type('v');
    await tui.shows(/Nothing was logged/);
    tui.type('4');
    await tui.shows(/order: \{/);
    tui.type('y');
    await tui.shows(/wfx task complete/);
    tui.type('4');
    await tui.shows(/order: \{/);
    tui.type('gj');
    tui.press('enter');
    tui.press('escape');
    await tui.shows(/Reshape JSON/);
  });

  await t.test('[ and ] step through the past: graph, variables and log as they were then', async (t) => {
    tui.type('gj');
    tui.press('enter');
    await tui.shows(/✓ Completed {3}took/);
    tui.type('2[');
    await tui.shows(/◀ step (\d+) of \1 /);
    tui.type('[');
    await tui.shows(/◀ step \d+ of \d+ .*: started[\s\S]*● done/);
    t.match(tui.screen(), /● Running/, 'it had not ended then');
    tui.type('{');
    await tui.shows(/◀ step 1 of[\s\S]*● start[\s\S]*○ done/);
    tui.type('3');
    await tui.hides(/completed/);
    tui.type(']');
    await tui.shows(/step 2 of[\s\S]*start +completed/);
    tui.type('4');
    for (let step = 3; !/◀.*: set /.test(tui.screen()) && step < 12; step += 1) {
      tui.type(']');
      await tui.shows(new RegExp(`step ${step} of`));
    }
    golden(t, 'past-80x24', await tui.shows(/~/));
    tui.type('}');
    await tui.shows(/✓ Completed {3}took/);
    tui.press('escape');
    await tui.shows(/Order approval/);
  });

  await t.test('? shows every key, from the table that the keys go by', async (t) => {
    tui.type('/e\r?');
    await tui.shows(/mark all, or none[\s\S]*↓ \d+ more/);
    tui.type('G');
    const all = await tui.shows(/esc +clear filter[\s\S]*\^c +quit/);
    t.notMatch(all, /esc.*back/, 'a key is told once, with what it does');
    tui.press('escape');
    await tui.hides(/\^c +quit/);
    tui.press('escape');
    await tui.hides(/\/e|Loading/);
    await tui.shows(/Reshape JSON/);
  });

  await t.test('a resize redraws all, wide and narrow', async (t) => {
    tui.type('g');
    tui.press('enter');
    await tui.shows(/◷ Review order/);
    tui.resize(160, 40);
    await tui.shows(/◷ Review order.*│.*start/);
    golden(t, 'run-160x40', tui.screen());
    tui.type('\t');
    await tui.shows(/─────[\s\S]*waiting for input: Approve order/);
    tui.type('\t');
    await tui.hides(/─────/);
    tui.resize(80, 24);
    await tui.hides(/│/);
    tui.press('escape');
    await tui.shows(/Reshape JSON/);
  });

  await t.test('c asks, and cancels', async () => {
    tui.type('gc');
    await tui.shows(/Cancel the run of Order approval/);
    tui.type('n');
    await tui.hides(/Cancel the run/);
    tui.type('c');
    await tui.shows(/Cancel the run/);
    tui.type('y');
    await tui.shows(/⊘ Cancelled {2}Order approval/);
  });

  await t.test('q leaves, and the terminal is as it was', async (t) => {
    t.equal(tui.alternate(), true);
    tui.type('q');
    t.equal(await tui.exit, 0);
    t.equal(tui.alternate(), false);
  });
});

t.test('a daemon that restarts is seen, and what happened meanwhile', async (t) => {
  const own = await withDaemon(t, 'reshape-json');
  const tui = openTui(t, own, ['--read-only']);
  await tui.shows(/read-only.*● live/);
  await own.wfx(['daemon', 'stop']);
  await tui.shows(/reconnecting/);
  await own.wfx(['daemon', 'start', '--port', '0']);
  await started(own, 'reshape-json', '--data-file', join(FLOWS, 'reshape-json.data.json'));
  await tui.shows(/● live/);
  await tui.shows(/✓ Completed {2}Reshape JSON/);
  t.notMatch(tui.screen(), /c cancel/, 'read-only has no keys that change');
  tui.kill('SIGTERM');
  await tui.exit;
  t.equal(tui.alternate(), false, 'a signal gives the terminal back too');
});

t.test('what a key may not see, and that it is no longer taken, is said where one looks', async (t) => {
  const own = await withDaemon(t);
  const key = (await own.wfx(['key', 'create', 'guest', '--role', 'viewer'])).stdout.trim();
  const tui = openTui(t, own, ['webhooks'], { env: { WFX_API_KEY: key } });
  await tui.shows(/● live[\s\S]*lacks the permission WEBHOOK/);
  t.notMatch(tui.screen(), /No webhooks/);
  await own.wfx(['key', 'revoke', key.split('_')[1] as string]);
  await tui.shows(/○ refused for[\s\S]*credential/);
});

t.test('without a terminal or a daemon it says what is missing', async (t) => {
  const own = machine(t);
  t.match(await own.wfx(['tui']), { code: 2, stderr: /needs a terminal/ });
  const tui = openTui(t, own);
  t.equal(await tui.exit, 5);
  t.match(tui.written(), /No daemon is running/);
});

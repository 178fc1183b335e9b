import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../src/engine/json.ts';
import { World } from './engine.ts';

const PAGE = resolve(import.meta.dirname, '../../docs/workflow-patterns.md');
/** The snippet of each pattern, as the documentation shows it. */
const snippets = new Map(
  [...readFileSync(PAGE, 'utf8').matchAll(/^### (WCP-\d+) (.*)$[\s\S]*?```yaml\n([\s\S]*?)```/gm)].map(
    ([, id = '', name = '', nodes = '']) => [id, { name, nodes }],
  ),
);

/** Tests a pattern on runs of its snippet. */
function pattern(number: number, test: (t: Test, start: (data?: JsonObject) => Started) => void): void {
  const { name, nodes } = snippets.get(`WCP-${number}`) ?? { name: '', nodes: '' };
  t.test(`WCP-${number} ${name}`, async (t) => {
    test(t, (data = {}) => {
      const world = new World();
      return { world, run: world.start(nodes, { data }) };
    });
  });
}

interface Started {
  readonly world: World;
  readonly run: ReturnType<World['start']>;
}

const count = ({ run }: Started, node: string): number =>
  run.nodes.filter((line) => line.startsWith(`${node} `)).length;

pattern(1, (t, start) => {
  const { run } = start();
  t.strictSame(run.active, ['pick']);
  run.complete('pick');
  t.strictSame(run.active, ['pack'], 'one after the other');
  run.complete('pack');
  t.equal(run.outcome, 'Completed');
});

pattern(2, (t, start) => {
  const { run } = start();
  t.strictSame(run.active, ['pick', 'bill'], 'both at once');
  run.complete('bill');
  t.strictSame(run.active, ['pick'], 'each by itself');
});

pattern(3, (t, start) => {
  for (const order of [
    ['pick', 'bill'],
    ['bill', 'pick'],
  ] as const) {
    const { run } = start();
    run.complete(order[0]);
    t.strictSame(run.active, [order[1]], 'waits for the other');
    run.complete(order[1]);
    t.strictSame(run.active, ['ship'], 'goes on once');
  }
});

pattern(4, (t, start) => {
  t.strictSame(start({ amount: 5000 }).run.active, ['manager'], 'the first that is true, and no other');
  t.strictSame(start({ amount: 500 }).run.active, ['clerk']);
  t.match(start({ amount: 50 }).run.nodes.at(-1), 'nobody Completed');
});

pattern(5, (t, start) => {
  for (const [amount, who] of [
    [5000, 'manager'],
    [5, 'clerk'],
  ] as const) {
    const { run } = start({ amount });
    t.strictSame(run.active, [who]);
    run.complete(who);
    t.strictSame(run.active, ['pay'], 'on without waiting for the way not taken');
  }
});

pattern(6, (t, start) => {
  t.strictSame(start({ smoke: true, glass: true }).run.active, ['fire', 'police']);
  t.strictSame(start({ smoke: false, glass: true }).run.active, ['police']);
  t.strictSame(start({ smoke: false, glass: false }).run.active, ['guard']);
});

pattern(7, (t, start) => {
  const both = start({ smoke: true, glass: true });
  both.run.complete('police');
  t.strictSame(both.run.active, ['fire'], 'waits for all that were taken');
  both.run.complete('fire');
  t.strictSame(both.run.active, ['write']);
  t.equal(count(both, 'write'), 1);
  const one = start({ smoke: true, glass: false });
  one.run.complete('fire');
  t.strictSame(one.run.active, ['write'], 'and for no others');
});

pattern(8, (t, start) => {
  const started = start();
  started.run.complete('proofread');
  t.strictSame(started.run.active, ['typeset', 'file'], 'nothing waits');
  started.run.complete('typeset');
  t.equal(count(started, 'file'), 2, 'once for each');
});

pattern(9, (t, start) => {
  const started = start();
  const { run } = started;
  run.complete('askAlan');
  t.strictSame(run.active, ['askAda', 'askGrace', 'decide'], 'the first goes on, the others are not disturbed');
  run.complete('askAda');
  run.complete('askGrace');
  t.strictSame(run.active, ['decide']);
  run.complete('decide');
  t.equal(run.outcome, 'Completed');
  t.equal(count(started, 'decide'), 1);
});

pattern(10, (t, start) => {
  const started = start({ urgent: true });
  const { run } = started;
  t.strictSame(run.active, ['solve'], 'into the middle of the cycle');
  run.complete('solve', { verdict: 'nearly' });
  run.complete('solve', { verdict: 'no' });
  t.strictSame(run.active, ['discuss'], 'and out of it at another place');
  run.complete('discuss');
  run.complete('solve', { verdict: 'solved' });
  t.equal(run.outcome, 'Completed');
  t.equal(count(started, 'solve'), 3);
  t.strictSame(start({ urgent: false }).run.active, ['discuss'], 'the cycle has two ways in');
});

pattern(11, (t, start) => {
  const { run } = start();
  run.complete('wash');
  t.equal(run.outcome, 'Running');
  run.complete('dry');
  t.equal(run.outcome, 'Completed', 'with the last token, at no particular node');
});

t.test('WCP-12 Multiple instances without synchronization', async (t) => {
  const world = new World();
  world.publish(
    '0d2c7a52-4f5e-4c0e-9a57-7f0a1f0f6a1c',
    'start: { type: startEvent, next: ask }\nask: { type: userTask }',
  );
  const nodes = snippets.get('WCP-12')?.nodes ?? '';
  const run = world.start(nodes, { data: { passengers: ['Ada', 'Alan', 'Grace'] } });
  t.equal(run.outcome, 'Completed', 'waits for none of them');
  const others = world.runs.slice(1);
  t.strictSame(
    others.map(({ variables }) => variables['customer']),
    ['Ada', 'Alan', 'Grace'],
  );
  for (const other of others) t.strictSame([other.outcome, other.active], ['Running', ['ask']]);
});

pattern(13, (t, start) => {
  const { run } = start();
  t.strictSame(run.active, ['review', 'opinion', 'opinion', 'opinion']);
  run.complete('opinion');
  run.complete('opinion');
  t.strictSame(run.active, ['review', 'opinion'], 'waits for all of them');
  run.complete('opinion');
  t.strictSame(run.active, ['decide']);
});

pattern(14, (t, start) => {
  const { run } = start({ order: { items: ['tea', 'mug', 'pot', 'cup'] } });
  for (const left of [3, 2, 1, 0]) {
    t.equal(run.active.filter((node) => node === 'look').length, left + 1);
    run.complete('look');
  }
  t.strictSame(run.variables['checked'], ['tea', 'mug', 'pot', 'cup']);
  t.equal(start({ order: { items: [] } }).run.outcome, 'Completed', 'also none at all');
});

pattern(15, (t, start) => {
  const { world, run } = start();
  const [child] = run.children();
  for (const witness of ['Ada', 'Alan']) t.equal(world.message('witness-found', '', { witness }).length, 1);
  t.strictSame(child?.active, ['search', 'statement', 'statement']);
  child?.complete('statement');
  t.equal(world.message('witness-found', '', { witness: 'Grace' }).length, 1, 'still one more');
  child?.complete('search');
  t.equal(world.message('witness-found').length, 0, 'the search is closed');
  child?.complete('statement');
  t.strictSame(run.active, ['witnesses'], 'waits for all statements');
  child?.complete('statement');
  t.strictSame(run.active, ['verdict']);
});

pattern(16, (t, start) => {
  for (const [happens, then] of [
    ['accepted', 'order'],
    ['declined', 'thank'],
  ] as const) {
    const { world, run } = start({ id: 'o-1' });
    t.equal(world.message(happens, 'o-1').length, 1);
    t.strictSame(run.active, [then]);
    for (const late of ['accepted', 'declined']) t.equal(world.message(late, 'o-1').length, 0, 'the choice is made');
    world.advance('P15D');
    t.strictSame(run.active, [then]);
  }
  const silent = start({ id: 'o-1' });
  silent.world.advance('P14D');
  t.strictSame(silent.run.active, ['remind']);
});

pattern(17, (t, start) => {
  const { run } = start({ blood: false, xray: false });
  run.complete('pick', { inputValue: 'xray' });
  t.strictSame(run.active, ['examine', 'takeXray'], 'one at a time');
  run.complete('takeXray');
  run.complete('pick', { inputValue: 'xray' });
  t.strictSame(run.active, ['examine', 'pick'], 'each once');
  run.complete('pick', { inputValue: 'blood' });
  run.complete('takeBlood');
  t.equal(run.outcome, 'Completed');
});

pattern(18, (t, start) => {
  const { world, run } = start({ id: 'c-1' });
  for (const _ of [1, 2]) t.equal(world.message('change', 'c-1').length, 1);
  t.strictSame(run.active, ['assess', 'note', 'note'], 'any number of times, while it is assessed');
  run.complete('assess');
  t.equal(world.message('change', 'c-1').length, 0, 'and not afterwards');
  t.strictSame(run.active, ['note', 'note', 'payOut']);
});

pattern(19, (t, start) => {
  const byHand = start({ id: 'o-1' });
  byHand.run.cancelTask('deliver');
  const byEvent = start({ id: 'o-1' });
  t.equal(byEvent.world.message('order-withdrawn', 'o-1').length, 1);
  for (const { run } of [byHand, byEvent]) {
    t.strictSame(run.active, ['refund']);
    t.match(run.nodes[1], 'deliver Cancelled');
    t.equal(run.complete('deliver')?.code, 'TASK_NOT_WAITING');
  }
});

pattern(20, (t, start) => {
  const byHand = start({ id: 'm-1' });
  byHand.run.cancel();
  t.equal(byHand.run.outcome, 'Cancelled');
  const fromInside = start({ id: 'm-1' });
  fromInside.world.message('market-closed', 'm-1');
  t.equal(fromInside.run.outcome, 'Completed');
  for (const { run, world } of [byHand, fromInside]) {
    t.strictSame(run.active, []);
    t.match(run.nodes[1], 'prepare Cancelled');
    t.equal(world.message('market-closed', 'm-1').length, 0);
  }
});

t.test('the table names all twenty', async (t) => {
  const rows = [...readFileSync(PAGE, 'utf8').matchAll(/^\| \[WCP-(\d+) ([^\]]+)\]\(#([^)]+)\) \| (yes|in part) \|/gm)];
  t.strictSame(
    rows.map(([, number]) => Number(number)),
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
  for (const [, number, name, anchor] of rows) {
    t.equal(snippets.get(`WCP-${number}`)?.name, name);
    t.equal(
      anchor,
      `WCP-${number} ${name}`
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .replace(/ /g, '-'),
    );
  }
});

import t from 'tap';
import { World } from './engine.ts';

const ends = `
a: { type: task }
b: { type: task }
c: { type: task }`;

t.test('1: an exclusive split takes the first true way, in the order written', async (t) => {
  const flow = `
start: { type: startEvent, next: gate }
gate:
  type: exclusiveGateway
  next: [{ to: a, default: true }, { to: b, condition: "\${x > 1}" }, { to: c, condition: "\${x > 0}" }]
${ends}`;
  const taken = (x: number) => new World().start(flow, { data: { x } }).nodes.slice(2);
  t.strictSame(taken(2), ['b Completed']);
  t.strictSame(taken(1), ['c Completed']);
  t.strictSame(taken(0), ['a Completed'], 'the default when none is true, wherever it stands');
});

t.test('1: the default is never evaluated, and a way without a condition is always true', async (t) => {
  const broken = `
start: { type: startEvent, next: gate }
gate:
  type: exclusiveGateway
  next: [{ to: a, default: true, condition: "\${1 > 'x'}" }, { to: b, condition: "\${false}" }]
${ends}`;
  t.strictSame(new World().start(broken).nodes.slice(2), ['a Completed']);
  const open = `
start: { type: startEvent, next: gate }
gate: { type: exclusiveGateway, next: [{ to: a, condition: "\${false}" }, b, c] }
${ends}`;
  t.strictSame(new World().start(open).nodes.slice(2), ['b Completed']);
});

t.test('1: conditions after the first true one are not evaluated', async (t) => {
  const flow = `
start: { type: startEvent, next: gate }
gate: { type: exclusiveGateway, next: [{ to: a, condition: "\${true}" }, { to: b, condition: "\${nobody}" }] }
${ends}`;
  t.equal(new World().start(flow).outcome, 'Completed');
});

for (const type of ['exclusiveGateway', 'inclusiveGateway']) {
  t.test(`1, 5: no condition true and no default is NO_FLOW_SELECTED on the ${type}`, async (t) => {
    const flow = `
start: { type: startEvent, next: gate }
gate: { type: ${type}, next: [{ to: a, condition: "\${false}" }, { to: b, condition: "\${false}" }] }
${ends}`;
    const run = new World().start(flow);
    t.equal(run.outcome, 'Failed NO_FLOW_SELECTED at gate');
    t.strictSame(run.nodes, ['start Completed', 'gate Failed']);
    const caught = new World().start(flow.replace('gate: {', 'gate: { errorFlow: c,'));
    t.strictSame(caught.nodes, ['start Completed', 'gate Failed', 'c Completed']);
    t.match(caught.variables, { error: { code: 'NO_FLOW_SELECTED', nodeId: 'gate' } });
  });

  t.test(`a condition of an ${type} that can't be evaluated is EXPRESSION_ERROR`, async (t) => {
    const flow = `
start: { type: startEvent, next: gate }
gate: { type: ${type}, next: [{ to: a, condition: "\${nobody > 1}" }, { to: b, default: true }] }
${ends}`;
    t.equal(new World().start(flow).outcome, 'Failed EXPRESSION_ERROR at gate');
  });
}

t.test('2: an exclusive join passes each token through by itself', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: [a, b] }
a: { type: task, next: join }
b: { type: task, next: join }
join: { type: exclusiveGateway, next: after }
after: { type: task }`);
  t.equal(run.nodes.filter((node) => node === 'join Completed').length, 2);
  t.equal(run.nodes.filter((node) => node === 'after Completed').length, 2);
});

t.test('3: a parallel split takes every way, whatever conditions it carries', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: gate }
gate: { type: parallelGateway, next: [{ to: a, condition: "\${nobody > 1}" }, { to: b, default: true }, c] }
${ends}`);
  t.strictSame(run.nodes.slice(2), ['a Completed', 'b Completed', 'c Completed']);
});

const join = (type: string) => `
start: { type: startEvent, next: [a, b, c] }
a: { type: userTask, next: join }
b: { type: userTask, next: join }
c: { type: userTask, next: join }
join: { type: ${type}, next: after }
after: { type: task }`;

for (const type of ['parallelGateway', 'inclusiveGateway']) {
  t.test(`4, 6: a ${type} fires when all its connections were taken`, async (t) => {
    const run = new World().start(join(type));
    run.complete('b');
    run.complete('a');
    t.notOk(run.nodes.includes('join Completed'));
    t.equal(run.outcome, 'Running');
    run.complete('c');
    t.strictSame(run.nodes.slice(-2), ['join Completed', 'after Completed']);
    t.equal(run.outcome, 'Completed');
  });
}

t.test(
  '4: two tokens on one connection do not make a join fire; the surplus one stays for the next firing',
  async (t) => {
    // `left` runs twice, so that its connection to the join is taken twice.
    const run = new World().start(`
start: { type: startEvent, next: [split, split2, right, right2] }
split: { type: task, next: left }
split2: { type: task, next: left }
left: { type: userTask, next: join }
right: { type: userTask, next: merge }
right2: { type: userTask, next: merge }
merge: { type: exclusiveGateway, next: join }
join: { type: parallelGateway, next: after }
after: { type: task }`);
    run.complete('left');
    run.complete('left');
    t.equal(run.nodes.filter((node) => node.startsWith('join')).length, 0);
    run.complete('right');
    t.equal(run.nodes.filter((node) => node === 'join Completed').length, 1);
    t.equal(run.outcome, 'Running');
    run.complete('right2');
    t.equal(run.nodes.filter((node) => node === 'join Completed').length, 2);
    t.equal(run.outcome, 'Completed');
  },
);

t.test('4: two connections between the same two nodes count as two', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: split }
split: { type: parallelGateway, next: [join, join] }
join: { type: parallelGateway, next: after }
after: { type: task }`);
  t.strictSame(run.nodes, ['start Completed', 'split Completed', 'join Completed', 'after Completed']);
});

t.test('4: splits and joins need not balance', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: split }
split: { type: parallelGateway, next: [a, b, c] }
a: { type: userTask, next: first }
b: { type: userTask, next: first }
first: { type: parallelGateway, next: second }
c: { type: userTask, next: second }
second: { type: parallelGateway, next: after }
after: { type: task }`);
  run.complete('c');
  run.complete('a');
  run.complete('b');
  t.strictSame(run.nodes.slice(-3), ['first Completed', 'second Completed', 'after Completed']);
  t.equal(run.outcome, 'Completed');
});

t.test('4: a gateway with many in and many out joins, then splits', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: [a, b] }
a: { type: userTask, next: both }
b: { type: userTask, next: both }
both: { type: parallelGateway, next: [c, d] }
c: { type: task }
d: { type: task }`);
  run.complete('a');
  t.notOk(run.nodes.includes('both Completed'));
  run.complete('b');
  t.strictSame(run.nodes.slice(-3), ['both Completed', 'c Completed', 'd Completed']);
});

t.test('4: a parallel join in a loop back fires again in the next round', async (t) => {
  const run = new World().start(
    `
start: { type: startEvent, next: merge }
merge: { type: exclusiveGateway, next: split }
split: { type: parallelGateway, next: [a, b] }
a: { type: task, next: join }
b: { type: task, next: join }
join: { type: parallelGateway, next: count }
count: { type: userTask, next: again }
again: { type: ifElse, condition: "\${go}", then: merge, else: done }
done: { type: endEvent }`,
    { data: { go: true } },
  );
  run.complete('count', { go: true });
  run.complete('count', { go: false });
  t.equal(run.nodes.filter((node) => node === 'join Completed').length, 2);
  t.equal(run.outcome, 'Completed');
});

t.test('an instance that begins at a join goes straight through it', async (t) => {
  const run = new World().start(join('parallelGateway'), { from: 'join', retryOf: 'i0' });
  t.strictSame(run.nodes, ['join Completed', 'after Completed']);
  t.equal(run.outcome, 'Completed');
});

const inclusive = `
start: { type: startEvent, next: split }
split:
  type: inclusiveGateway
  next: [{ to: a, condition: "\${x > 0}" }, { to: b, condition: "\${x > 1}" }, { to: c, default: true }]
a: { type: userTask, next: join }
b: { type: userTask, next: join }
c: { type: userTask, next: join }
join: { type: inclusiveGateway, next: after }
after: { type: task }`;

t.test('5: an inclusive split takes every true way, the default only when none is', async (t) => {
  const taken = (x: number) => new World().start(inclusive, { data: { x } }).active;
  t.strictSame(taken(2), ['a', 'b']);
  t.strictSame(taken(1), ['a']);
  t.strictSame(taken(0), ['c']);
});

t.test('6: an inclusive join waits for just those that were sent out', async (t) => {
  const run = new World().start(inclusive, { data: { x: 2 } });
  run.complete('a');
  t.equal(run.outcome, 'Running');
  run.complete('b');
  t.strictSame(run.nodes.slice(-2), ['join Completed', 'after Completed']);
  t.equal(run.nodes.filter((node) => node === 'after Completed').length, 1);
  const single = new World().start(inclusive, { data: { x: 0 } });
  single.complete('c');
  t.strictSame(single.nodes.slice(-2), ['join Completed', 'after Completed']);
});

t.test('5, 6: an inclusive gateway with plain ways joins and takes them all', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: [a, b] }
a: { type: task, next: join }
b: { type: task, next: join }
join: { type: inclusiveGateway, next: [c, d] }
c: { type: task }
d: { type: task }`);
  t.strictSame(run.nodes.slice(3), ['join Completed', 'c Completed', 'd Completed']);
});

t.test('6: a token that ends elsewhere lets an inclusive join fire', async (t) => {
  const run = new World().start(
    `
start: { type: startEvent, next: [a, b] }
a: { type: userTask, next: join }
b: { type: userTask, next: which }
which: { type: ifElse, condition: "\${on}", then: join, else: away }
away: { type: endEvent }
join: { type: inclusiveGateway, next: after }
after: { type: task }`,
    { data: { on: false } },
  );
  run.complete('a');
  t.notOk(run.nodes.includes('join Completed'));
  run.complete('b');
  t.strictSame(run.nodes.slice(-4), ['which Completed', 'away Completed', 'join Completed', 'after Completed']);
});

t.test('6: an error boundary that leads the last token away lets an inclusive join fire', async (t) => {
  const flow = `
start: { type: startEvent, next: [a, work] }
a: { type: task, next: join }
work: { type: domainTask, handler: it, next: join }
failed: { type: boundaryEvent, attachedTo: work, error: "*", next: repair }
repair: { type: userTask }
join: { type: inclusiveGateway, next: after }
after: { type: task }`;
  const run = new World().start(flow);
  t.strictSame(run.active, ['work']);
  run.fail('work');
  t.strictSame(run.nodes.slice(-3), ['repair Waiting', 'join Completed', 'after Completed']);
  t.equal(run.outcome, 'Running');
  const back = new World().start(flow.replace('repair: { type: userTask }', 'repair: { type: userTask, next: join }'));
  back.fail('work');
  t.notOk(back.nodes.includes('join Completed'), 'from the repair a way leads back to the join');
  back.complete('repair');
  t.equal(back.outcome, 'Completed');
});

t.test('6: an interrupting timer that leads the last token away lets an inclusive join fire', async (t) => {
  const world = new World();
  const run = world.start(`
start: { type: startEvent, next: [a, b] }
a: { type: task, next: join }
b: { type: userTask, next: join }
late: { type: boundaryEvent, attachedTo: b, timer: PT1H, next: c }
c: { type: userTask }
join: { type: inclusiveGateway, next: after }
after: { type: task }`);
  world.advance('PT59M');
  t.notOk(run.nodes.includes('after Completed'));
  world.advance('PT1M');
  t.ok(run.nodes.includes('after Completed'));
});

t.test('6: an inclusive join waits for a boundary event that may still lead to it', async (t) => {
  const world = new World();
  const run = world.start(`
start: { type: startEvent, next: [a, b] }
a: { type: task, next: join }
b: { type: userTask }
late: { type: boundaryEvent, attachedTo: b, timer: PT1H, next: join }
join: { type: inclusiveGateway, next: after }
after: { type: task }`);
  t.notOk(run.nodes.includes('after Completed'), 'from b the boundary event leads to the join');
  run.complete('b');
  t.equal(run.outcome, 'Completed');
  t.ok(run.nodes.includes('after Completed'));
});

t.test('6: an inclusive join behind a loop back', async (t) => {
  // From `more` a way leads back before the join: it waits as long as that token may come again.
  const flow = `
start: { type: startEvent, next: [a, merge] }
a: { type: task, next: join }
merge: { type: exclusiveGateway, next: more }
more: { type: userTask, next: again }
again: { type: ifElse, condition: "\${go}", then: merge, else: join }
join: { type: inclusiveGateway, next: after }
after: { type: task }`;
  const run = new World().start(flow, { data: { go: true } });
  run.complete('more', { go: true });
  run.complete('more', { go: true });
  t.notOk(run.nodes.includes('join Completed'));
  run.complete('more', { go: false });
  t.equal(run.nodes.filter((node) => node === 'join Completed').length, 1);
  t.equal(run.outcome, 'Completed');
});

t.test('6: a token past the join does not hold it up by the way that runs through it', async (t) => {
  const run = new World().start(
    `
start: { type: startEvent, next: join }
join: { type: inclusiveGateway, next: work }
work: { type: userTask, next: again }
again: { type: ifElse, condition: "\${go}", then: join, else: done }
done: { type: endEvent }`,
    { data: { go: true } },
  );
  t.strictSame(run.active, ['work'], 'the first token goes through: no other can come');
  run.complete('work', { go: true });
  t.strictSame(run.active, ['work'], 'and again, over the loop back');
  run.complete('work', { go: false });
  t.equal(run.outcome, 'Completed');
});

t.test('6: tokens of one connection go through an inclusive join one after the other', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: [a, b, c] }
a: { type: task, next: left }
b: { type: task, next: left }
left: { type: exclusiveGateway, next: join }
c: { type: userTask, next: join }
join: { type: inclusiveGateway, next: after }
after: { type: task }`);
  run.complete('c');
  t.equal(
    run.nodes.filter((node) => node === 'join Completed').length,
    2,
    'both of left, with the one of c, then alone',
  );
  t.equal(run.outcome, 'Completed');
});

t.test('6: an inclusive join in a loop body looks at its own iteration alone', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: each }
each:
  type: loopNode
  items: [1, 2]
  concurrency: 2
  as: it
  nodes:
    split: { type: inclusiveGateway, next: [{ to: a, condition: "\${it > 0}" }, { to: b, condition: "\${it > 1}" }] }
    a: { type: task, next: join }
    b: { type: userTask, next: join }
    join: { type: inclusiveGateway, next: seen }
    seen: { type: setVariable, set: { seen: "{it}" } }`);
  t.equal(run.variables['seen'], 1, 'the first iteration is through while the second waits');
  t.strictSame(run.active, ['each', 'b']);
  run.complete('b');
  t.equal(run.outcome, 'Completed');
});

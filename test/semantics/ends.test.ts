import t from 'tap';
import { World } from './engine.ts';

t.test('7: an end event ends its own token only; the instance completes with the last one', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: [a, b] }
a: { type: task, next: done }
b: { type: userTask, next: done }
done: { type: endEvent }`);
  t.equal(run.outcome, 'Running');
  run.complete('b');
  t.equal(run.outcome, 'Completed');
  t.equal(run.nodes.filter((node) => node === 'done Completed').length, 2);
});

t.test('7: a token ends where nothing leads on', async (t) => {
  t.equal(new World().start('start: { type: startEvent }').outcome, 'Completed');
  t.equal(new World().start('start: { type: startEvent, next: [] }').outcome, 'Completed');
});

t.test('7: an instance also waits for what runs on a path of a non-interrupting boundary event', async (t) => {
  const world = new World();
  const run = world.start(`
start: { type: startEvent, next: work }
work: { type: userTask, next: done }
late: { type: boundaryEvent, attachedTo: work, timer: PT1H, cancelActivity: false, next: remind }
remind: { type: userTask }
done: { type: endEvent }`);
  world.advance('PT1H');
  run.complete('work');
  t.equal(run.outcome, 'Running');
  run.complete('remind');
  t.equal(run.outcome, 'Completed');
});

t.test('7: an instance completes only when its children have', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: sub }
sub: { type: subProcess, nodes: { ask: { type: userTask } } }`);
  t.equal(run.outcome, 'Running');
  run.children()[0]?.complete('ask');
  t.equal(run.outcome, 'Completed');
});

t.test('7: terminate ends the instance and cancels what runs in it', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: [ask, work, sub, each, stop] }
ask: { type: userTask, next: never }
work: { type: domainTask, handler: it, next: never }
sub: { type: subProcess, nodes: { inner: { type: userTask } }, next: never }
each: { type: loopNode, times: 2, concurrency: 2, nodes: { body: { type: userTask } }, next: never }
never: { type: task }
stop: { type: userTask, next: end }
end: { type: endEvent, terminate: true }`);
  run.complete('stop');
  t.equal(run.outcome, 'Completed');
  t.equal(run.children()[0]?.outcome, 'Cancelled');
  t.strictSame(
    run.nodes.filter((node) => /Cancelled/.test(node)),
    ['ask Cancelled', 'work Cancelled', 'sub Cancelled', 'each Cancelled', 'body Cancelled', 'body Cancelled'],
  );
  t.notOk(run.nodes.some((node) => node.startsWith('never')));
});

t.test('7: terminate before anything else ran: what is ready never runs', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: [end, never] }
end: { type: endEvent, terminate: true }
never: { type: setVariable, set: { ran: true } }`);
  t.strictSame(run.nodes, ['start Completed', 'end Completed', 'never Cancelled']);
  t.strictSame(run.variables, {});
});

t.test('7: terminate in a loop body ends that iteration', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: each }
each:
  type: loopNode
  items: [1, 2, 3]
  as: it
  nodes:
    begin: { type: startEvent, next: [ask, value, wait] }
    wait: { type: task, next: stop }
    ask: { type: userTask, next: join }
    value: { type: setVariable, set: { last: "{it}" }, next: join }
    join: { type: parallelGateway }
    stop: { type: endEvent, terminate: true }
  result: all
  next: done
done: { type: task }`);
  t.equal(run.outcome, 'Completed');
  t.strictSame(run.variables, { last: 3, all: [1, 2, 3] });
  t.equal(run.nodes.filter((node) => node === 'ask Cancelled').length, 3);
  t.equal(run.nodes.at(-1), 'done Completed');
});

t.test('7: terminate in a subProcess ends that child, which completes', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: sub }
sub:
  type: subProcess
  nodes:
    begin: { type: startEvent, next: [ask, value] }
    ask: { type: userTask }
    value: { type: setVariable, set: { found: 1 }, next: stop }
    stop: { type: endEvent, terminate: true }
  next: done
done: { type: task }`);
  t.equal(run.children()[0]?.outcome, 'Completed');
  t.equal(run.outcome, 'Completed');
  t.equal(run.nodes.at(-1), 'done Completed');
  t.strictSame(run.variables, { found: 1 });
});

t.test('an end event with `error` throws: its own node completes, the scope around it errs', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: [ask, broken] }
ask: { type: userTask }
broken: { type: endEvent, error: NO_STOCK }`);
  t.equal(run.outcome, 'Failed NO_STOCK at broken');
  t.strictSame(run.nodes, ['start Completed', 'ask Cancelled', 'broken Completed']);

  const loop = new World().start(`
start: { type: startEvent, next: each }
each: { type: loopNode, times: 3, nodes: { broken: { type: endEvent, error: NO_STOCK } }, errorFlow: other }
other: { type: task }`);
  t.equal(loop.outcome, 'Completed');
  t.strictSame(loop.nodes, ['start Completed', 'each Failed', 'broken Completed', 'other Completed']);
  t.match(loop.variables, { error: { code: 'NO_STOCK', nodeId: 'broken' } });

  const sub = new World().start(`
start: { type: startEvent, next: sub }
sub: { type: subProcess, nodes: { broken: { type: endEvent, error: NO_STOCK } } }
out: { type: boundaryEvent, attachedTo: sub, error: NO_STOCK, next: other }
other: { type: task }`);
  t.equal(sub.outcome, 'Completed');
  t.equal(sub.children()[0]?.outcome, 'Failed NO_STOCK at broken');
  t.match(sub.variables, { error: { code: 'NO_STOCK', nodeId: 'sub' } });
});

t.test('7b: tokens that stand at joins while nothing can move any more are a DEADLOCK', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: [a, gate] }
a: { type: task, next: join }
gate: { type: ifElse, condition: "\${false}", then: b, else: done }
b: { type: task, next: join }
c: { type: task, next: join }
join: { type: parallelGateway, next: done }
done: { type: endEvent }`);
  t.equal(run.outcome, 'Failed DEADLOCK at join');
  t.equal(
    run.state.error?.message,
    'nothing can move any more, but tokens stand at joins: "join" still waits for b → join, c → join',
  );
});

t.test('7b: every join that tokens stand at is named', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: [ask, a] }
ask: { type: userTask, next: one }
a: { type: task, next: two }
no: { type: task, next: [one, two] }
one: { type: parallelGateway }
two: { type: parallelGateway }`);
  t.equal(run.outcome, 'Running', 'as long as something waits, the instance waits too');
  run.complete('ask');
  t.match(run.state.error, {
    code: 'DEADLOCK',
    message: /"two" still waits for no → two; "one" still waits for no → one/,
  });
});

t.test('7b: a join in a loop body that never fires', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: each }
each:
  type: loopNode
  times: 2
  nodes:
    begin: { type: startEvent, next: [a, b] }
    a: { type: task, next: join }
    b: { type: task }
    c: { type: task, next: join }
    join: { type: parallelGateway }`);
  t.match(run.state.error, { code: 'DEADLOCK', nodeId: 'join', message: /"join" still waits for c → join/ });
  t.strictSame(run.nodes.at(1), 'each Cancelled');
});

t.test('7b: what may still end a loop that stands still is waited for', async (t) => {
  const world = new World();
  const loop = `
start: { type: startEvent, next: each }
each:
  type: loopNode
  times: 1
  timeout: PT1H
  timeoutFlow: late
  nodes:
    begin: { type: startEvent, next: a }
    a: { type: task, next: join }
    b: { type: task, next: join }
    join: { type: parallelGateway }
late: { type: endEvent }`;
  const timed = world.start(loop);
  const told = world.start(
    loop.replace(/ {2}timeout.*\n/g, '') +
      '\nstop: { type: boundaryEvent, attachedTo: each, message: stop, next: late }',
  );
  t.strictSame([timed.outcome, told.outcome], ['Running', 'Running']);
  world.advance('PT1H');
  t.equal(timed.outcome, 'Completed');
  world.message('stop');
  t.equal(told.outcome, 'Completed');
});

t.test('7b: a non-interrupting boundary event that is over is waited for no more', async (t) => {
  const world = new World();
  const run = world.start(`
start: { type: startEvent, next: each }
each:
  type: loopNode
  times: 1
  nodes:
    begin: { type: startEvent, next: a }
    a: { type: task, next: join }
    b: { type: task, next: join }
    join: { type: parallelGateway }
remind: { type: boundaryEvent, attachedTo: each, timer: PT1H, cancelActivity: false }`);
  t.equal(run.outcome, 'Running');
  world.advance('PT1H');
  t.equal(run.outcome, 'Failed DEADLOCK at join');
});

t.test('7b: a surplus token at a join is a DEADLOCK in the end', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: [a, b, c] }
a: { type: task, next: merge }
b: { type: task, next: merge }
merge: { type: exclusiveGateway, next: join }
c: { type: task, next: join }
join: { type: parallelGateway, next: done }
done: { type: endEvent }`);
  t.match(run.state.error, { code: 'DEADLOCK', message: /"join" still waits for c → join/ });
  t.ok(run.nodes.includes('done Completed'));
});

t.test('7b: a child that stands still fails, and its parent may catch that', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: sub }
sub:
  type: subProcess
  nodes:
    begin: { type: startEvent, next: [a, b] }
    a: { type: task, next: join }
    b: { type: task }
    c: { type: task, next: join }
    join: { type: parallelGateway }
  errorFlow: other
other: { type: task }`);
  t.equal(run.children()[0]?.outcome, 'Failed DEADLOCK at join');
  t.equal(run.outcome, 'Completed');
});

t.test('7b: two inclusive joins that wait for each other stand still, and that is told', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: [one, two] }
one: { type: inclusiveGateway, next: [{ to: two }] }
two: { type: inclusiveGateway, next: [{ to: one }] }`);
  t.match(run.state.error, { code: 'DEADLOCK', message: /two → one.*one → two/ });
});

t.test('what comes to an ended instance changes nothing', async (t) => {
  const run = new World().start('start: { type: startEvent }');
  const before = run.events.length;
  t.match(run.cancel(), { code: 'INSTANCE_FINISHED' });
  run.command({ type: 'fail', code: 'INTERNAL_ERROR', message: 'too late' });
  run.command({ type: 'continue' });
  t.equal(run.events.length, before);
  t.equal(run.outcome, 'Completed');
});

t.test('cancelling an instance cancels every node that is active, and its children', async (t) => {
  const world = new World();
  const run = world.start(`
start: { type: startEvent, next: [ask, sub, each, a] }
a: { type: task, next: join }
ask: { type: userTask, next: join }
sub: { type: subProcess, nodes: { deep: { type: subProcess, nodes: { inner: { type: userTask } } } } }
each: { type: loopNode, times: 1, nodes: { body: { type: userTask } } }
join: { type: parallelGateway }`);
  const [child] = run.children();
  const [grandchild] = child?.children() ?? [];
  t.match(child?.cancel(), { code: 'CONFLICT', message: /i1/ });
  t.match(run.complete('inner'), { code: 'TASK_NOT_WAITING', message: /submitted to its own instance: i2$/ });
  t.equal(run.cancel(), undefined);
  t.equal(run.outcome, 'Cancelled');
  t.strictSame(
    run.nodes.filter((node) => node.endsWith('Cancelled')),
    ['ask Cancelled', 'sub Cancelled', 'each Cancelled', 'body Cancelled'],
  );
  t.equal(child?.outcome, 'Cancelled');
  t.equal(grandchild?.outcome, 'Cancelled');
  const ended = world.trace.filter((line) => /nodeCancelled|instanceEnded/.test(line)).slice(0, 4);
  t.strictSame(ended, ['i3 nodeCancelled inner', 'i3 instanceEnded', 'i2 nodeCancelled deep', 'i2 instanceEnded']);
});

t.test('something outside of the flow went wrong for good: the instance fails', async (t) => {
  const run = new World().start('start: { type: startEvent, next: a }\na: { type: userTask }');
  run.command({ type: 'fail', code: 'INTERNAL_ERROR', message: 'it can not go on' });
  t.equal(run.state.error?.code, 'INTERNAL_ERROR');
  t.strictSame(run.nodes, ['start Completed', 'a Cancelled']);
});

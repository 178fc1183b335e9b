import t from 'tap';
import { compile } from '../../src/engine/parse.ts';
import { type Run, World } from './engine.ts';

const task = (boundary: string, activity = 'type: userTask, next: done') => `
start: { type: startEvent, next: work }
work: { ${activity} }
edge: { type: boundaryEvent, attachedTo: work, ${boundary}, next: other }
other: { type: setVariable, set: { other: true } }
done: { type: task }`;

t.test('8: an interrupting timer cancels the activity, then its token leaves', async (t) => {
  const world = new World();
  const run = world.start(task('timer: PT1H'));
  world.advance('PT1H');
  t.strictSame(run.nodes, ['start Completed', 'work Cancelled', 'edge Completed', 'other Completed']);
  t.strictSame(
    world.trace.slice(-6).map((line) => line.slice(3)),
    [
      'nodeStarted edge',
      'nodeCompleted edge',
      'nodeStarted other',
      'variablesSet other',
      'nodeCompleted other',
      'instanceEnded',
    ],
  );
});

t.test('8: a boundary event is withdrawn when its activity is left', async (t) => {
  const world = new World();
  const run = world.start(
    task('message: news, correlationKey: k').replace('done: { type: task }', 'done: { type: userTask }'),
  );
  run.complete('work');
  t.equal(run.activation('done').subscriptions.length, 0);
  t.strictSame(world.message('news', 'k'), []);
  t.notOk('other' in run.variables);
});

t.test('8: a non-interrupting timer lets the activity go on; one more token leaves, once', async (t) => {
  const world = new World();
  const run = world.start(task('timer: PT1H, cancelActivity: false'));
  world.advance('PT10H');
  t.strictSame(run.nodes, ['start Completed', 'work Waiting', 'edge Completed', 'other Completed']);
  t.strictSame(run.activation('work').timers, []);
  run.complete('work');
  t.equal(run.outcome, 'Completed');
});

t.test('8, 16: a cron timer fires again at every match while the activity lives, without a burst', async (t) => {
  const world = new World();
  const run = world.start(task('timer: "0 * * * *", cancelActivity: false'));
  world.advance('PT3H30M');
  const fired = () => run.nodes.filter((node) => node === 'edge Completed').length;
  t.equal(fired(), 3);
  const [timer] = run.activation('work').timers;
  world.at += 5 * 3600_000;
  run.command({ type: 'fireTimer', n: 2, purpose: 'boundary:edge', due: timer?.due as number });
  t.equal(fired(), 4, 'five matches went by: it fires once');
  t.equal(run.activation('work').timers[0]?.due, world.at + 1800_000, 'and then at the next one from now');
  run.complete('work');
  world.advance('PT5H');
  t.equal(fired(), 4);
  t.equal(run.outcome, 'Completed');
});

t.test('8: an interrupting cron timer fires once', async (t) => {
  const world = new World();
  const run = world.start(task('timer: "0 * * * *"'));
  world.advance('PT5H');
  t.equal(run.nodes.filter((node) => node.startsWith('edge')).length, 1);
  t.equal(run.outcome, 'Completed');
});

for (const kind of ['message', 'signal'] as const) {
  t.test(`8: a ${kind} on the boundary, interrupting or not, brings its data`, async (t) => {
    const world = new World();
    const key = kind === 'message' ? ', correlationKey: "{order}"' : '';
    const run = world.start(task(`${kind}: news${key}`), { data: { order: 'A1' } });
    t.equal(world.send(kind, 'other', 'A1').length, 0);
    if (kind === 'message') t.equal(world.message('news', 'A2').length, 0);
    world.send(kind, 'news', 'A1', { price: 5 });
    t.match(run.variables, { price: 5, other: true });
    t.ok(run.nodes.includes('work Cancelled'));

    const again = world.start(task(`${kind}: news${key}, cancelActivity: false`), { data: { order: 'A1' } });
    world.send(kind, 'news', 'A1');
    world.send(kind, 'news', 'A1');
    t.equal(
      again.nodes.filter((node) => node === 'edge Completed').length,
      2,
      'it listens on while the activity lives',
    );
    again.complete('work');
    t.equal(again.outcome, 'Completed');
    t.equal(world.send(kind, 'news', 'A1').length, 0);
  });
}

t.test('8: a message boundary without a key takes the one of the instance', async (t) => {
  const world = new World();
  const run = world.start(task('message: news'), { correlationKey: 'mine' });
  t.equal(world.message('news', 'other').length, 0);
  t.equal(world.message('news', 'mine').length, 1);
  t.ok(run.variables['other']);
});

t.test('8: several boundary events on one activity', async (t) => {
  const flow = `
start: { type: startEvent, next: work }
work: { type: userTask, next: done }
remind: { type: boundaryEvent, attachedTo: work, timer: PT1H, cancelActivity: false, next: mail }
nudge: { type: boundaryEvent, attachedTo: work, signal: nudge, cancelActivity: false, next: mail }
late: { type: boundaryEvent, attachedTo: work, timer: PT2H, next: expired }
stop: { type: boundaryEvent, attachedTo: work, message: stop, correlationKey: k, next: stopped }
mail: { type: task }
expired: { type: task }
stopped: { type: task }
done: { type: task }`;
  const world = new World();
  const run = world.start(flow);
  world.advance('PT1H');
  world.signal('nudge');
  t.equal(run.nodes.filter((node) => node === 'mail Completed').length, 2);
  world.advance('PT1H');
  t.equal(run.nodes.at(-1), 'expired Completed');
  t.equal(world.message('stop', 'k').length, 0);
  const stopped = world.start(flow);
  world.message('stop', 'k');
  world.advance('PT5H');
  t.strictSame(stopped.nodes.slice(-2), ['stop Completed', 'stopped Completed']);
});

t.test('8: everything under an interrupted activity is cancelled first, innermost before outer', async (t) => {
  const world = new World();
  world.start(`
start: { type: startEvent, next: each }
each:
  type: loopNode
  times: 1
  nodes:
    inner: { type: loopNode, times: 2, concurrency: 2, nodes: { ask: { type: userTask } } }
late: { type: boundaryEvent, attachedTo: each, timer: PT1H, next: other }
other: { type: task }`);
  world.advance('PT1H');
  const after = world.trace.slice(world.trace.indexOf('i1 nodeCancelled ask'));
  t.strictSame(
    after.filter((line) => /node/.test(line)).map((line) => line.slice(3)),
    [
      'nodeCancelled ask',
      'nodeCancelled ask',
      'nodeCancelled inner',
      'nodeCancelled each',
      'nodeStarted late',
      'nodeCompleted late',
      'nodeStarted other',
      'nodeCompleted other',
    ],
  );
});

t.test(
  '8, 19: an interrupting boundary on a subProcess cancels the child first; its variables do not come back',
  async (t) => {
    const world = new World();
    const run = world.start(`
start: { type: startEvent, next: sub }
sub: { type: subProcess, nodes: { set: { type: setVariable, set: { x: 1 }, next: ask }, ask: { type: userTask } }, next: done }
late: { type: boundaryEvent, attachedTo: sub, timer: PT1H, next: other }
other: { type: userTask }
done: { type: task }`);
    world.advance('PT1H');
    t.strictSame(run.active, ['other']);
    t.strictSame(run.variables, {});
    t.equal(run.children()[0]?.outcome, 'Cancelled');
    t.ok(world.trace.indexOf('i2 nodeCancelled ask') < world.trace.indexOf('i1 nodeCancelled sub'));
  },
);

t.test(
  '8, 13: what does not interrupt fires before what interrupts at the same instant, whichever is written first',
  async (t) => {
    for (const trigger of ['timer: PT1H', 'signal: alarm']) {
      const world = new World();
      const run = world.start(`
start: { type: startEvent, next: work }
work: { type: userTask, timeout: PT1H, timeoutFlow: late }
late: { type: task }
stop: { type: boundaryEvent, attachedTo: work, ${trigger}, next: stopped }
stopped: { type: task }
remind: { type: boundaryEvent, attachedTo: work, ${trigger}, cancelActivity: false, next: reminded }
reminded: { type: task }`);
      if (trigger.startsWith('timer')) world.advance('PT1H');
      else world.signal('alarm');
      t.strictSame(run.nodes.slice(1), [
        'work Cancelled',
        'remind Completed',
        'reminded Completed',
        'stop Completed',
        'stopped Completed',
      ]);
    }
  },
);

t.test('9: completing a task withdraws its timers and subscriptions; what comes later finds nothing', async (t) => {
  const world = new World();
  const run = world.start(`
start: { type: startEvent, next: work }
work: { type: userTask, timeout: PT1H, next: done }
edge: { type: boundaryEvent, attachedTo: work, message: m, correlationKey: k, next: other }
other: { type: task }
done: { type: userTask }`);
  const { timers } = run.activation('work');
  run.complete('work');
  const events = run.events.length;
  world.at += 3600_000;
  t.equal(run.command({ type: 'fireTimer', n: 2, purpose: 'timeout', due: timers[0]?.due as number }), undefined);
  t.equal(run.events.length, events, 'a timer that comes late just lapses');
  const late = { type: 'takeEvent', n: 2, purpose: 'boundary:edge', name: 'm', data: {} } as const;
  t.match(run.command(late), { code: 'TASK_NOT_WAITING' });
  t.match(run.complete('work'), { code: 'TASK_NOT_WAITING' });
});

t.test('9: a timer that fires wins over the submission that comes after', async (t) => {
  const world = new World();
  const run = world.start(task('timer: PT1H'));
  world.advance('PT1H');
  t.match(run.complete('work'), { code: 'TASK_NOT_WAITING' });
  t.notOk(run.nodes.some((node) => node.startsWith('done')));
});

const failing = (boundaries: string, keys = '') => `
start: { type: startEvent, next: work }
work: { type: domainTask, handler: it, ${keys} next: done }
${boundaries}
done: { type: task }
one: { type: task }
two: { type: task }`;
const last = (run: Run) => run.nodes.at(-1);

t.test('10: a specific error code beats the one for all, whichever is written first', async (t) => {
  const flow = failing(`
all: { type: boundaryEvent, attachedTo: work, error: "*", next: one }
specific: { type: boundaryEvent, attachedTo: work, error: NO_STOCK, next: two }`);
  const fail = (code: string) => {
    const run = new World().start(flow);
    run.fail('work', code);
    return run;
  };
  t.equal(last(fail('NO_STOCK')), 'two Completed');
  t.equal(last(fail('OTHER')), 'one Completed');
  t.strictSame(fail('OTHER').variables, { error: { code: 'OTHER', message: 'it broke', nodeId: 'work' } });
  t.ok(fail('OTHER').nodes.includes('work Failed'));
});

t.test('10: two boundary events that catch the same code of one activity do not compile', async (t) => {
  for (const code of ['NO_STOCK', '"*"']) {
    const nodes = failing(`
a: { type: boundaryEvent, attachedTo: work, error: ${code}, next: one }
b: { type: boundaryEvent, attachedTo: work, error: ${code}, next: two }`);
    const { problems } = compile(
      `id: 7c9e6679-7425-40de-944b-e07fc1f90ae7\nname: x\nnodes:\n${nodes.replace(/^/gm, '  ')}`,
    );
    t.match(
      problems.filter(({ severity }) => severity === 'error'),
      [{ code: 'SAME_ERROR_TWICE' }],
    );
  }
});

t.test('11: retry, then the boundary, then errorFlow', async (t) => {
  const world = new World();
  const boundary = 'edge: { type: boundaryEvent, attachedTo: work, error: NO_STOCK, next: one }';
  const run = world.start(failing(boundary, 'retry: { attempts: 2, backoff: PT1S }, errorFlow: two,'));
  run.fail('work', 'NO_STOCK');
  t.equal(run.activation('work').phase, 'retrying');
  world.advance('PT1S');
  run.fail('work', 'NO_STOCK');
  t.equal(last(run), 'one Completed', 'the boundary comes before errorFlow');

  const other = world.start(failing(boundary, 'errorFlow: two,'));
  other.fail('work', 'OTHER');
  t.equal(last(other), 'two Completed', 'a boundary for another code does not catch');
  t.match(other.variables, { error: { code: 'OTHER' } });

  const uncaught = world.start(failing(boundary));
  uncaught.fail('work', 'OTHER', 'the reason');
  t.equal(uncaught.outcome, 'Failed OTHER at work');
  t.equal(uncaught.state.error?.message, 'the reason');
  t.notOk('error' in uncaught.variables, 'an error that nobody caught is no variable');
});

t.test(
  '11: an error looks outward through nested loops; what runs in a scope that it leaves is cancelled first',
  async (t) => {
    const flow = (inner: string, outer: string) => `
start: { type: startEvent, next: [outer, beside] }
beside: { type: userTask }
outer:
  type: loopNode
  times: 2
  concurrency: 2
  ${outer}
  nodes:
    first: { type: startEvent, next: inner }
    inner:
      type: loopNode
      times: 2
      concurrency: 2
      ${inner}
      nodes: { split: { type: startEvent, next: [work, ask] }, work: { type: domainTask, handler: it }, ask: { type: userTask } }
    caught: { type: task }
out: { type: task }`;
    const world = new World();
    const uncaught = world.start(flow('', ''));
    uncaught.fail('work', 'NO_STOCK');
    t.equal(uncaught.outcome, 'Failed NO_STOCK at work');
    t.equal(uncaught.nodes.filter((node) => node.startsWith('ask C')).length, 4);
    t.ok(uncaught.nodes.includes('outer Failed') && uncaught.nodes.includes('beside Cancelled'));

    const outside = world.start(flow('', 'errorFlow: out'));
    outside.fail('work', 'NO_STOCK');
    t.strictSame(outside.active, ['beside'], 'the outer loop is left');
    t.ok(outside.nodes.includes('out Completed'));
    t.strictSame(
      outside.nodes.filter((node) => node.startsWith('inner')),
      ['inner Failed', 'inner Cancelled'],
      'the one that the error left failed, the other was cancelled',
    );

    const inside = world.start(flow('errorFlow: caught', ''));
    inside.fail('work', 'NO_STOCK');
    t.equal(inside.active.filter((node) => node === 'inner').length, 1, 'the other iteration goes on');
    t.ok(inside.nodes.includes('caught Completed'));
    t.match(inside.variables, { error: { code: 'NO_STOCK', nodeId: 'work' } });
    for (let left = 2; left > 0; left -= 1) {
      inside.finish('work');
      inside.complete('ask');
    }
    inside.complete('beside');
    t.equal(inside.outcome, 'Completed');
  },
);

t.test('11: an error of a child instance is one of the node that waits for it', async (t) => {
  const world = new World();
  const run = world.start(`
start: { type: startEvent, next: outer }
outer:
  type: subProcess
  nodes:
    inner: { type: subProcess, nodes: { work: { type: domainTask, handler: it } } }
caught: { type: boundaryEvent, attachedTo: outer, error: NO_STOCK, next: other }
other: { type: task }`);
  const inner = world.runs[2] as Run;
  inner.fail('work', 'NO_STOCK', 'nothing there');
  t.equal(inner.outcome, 'Failed NO_STOCK at work');
  t.equal(world.runs[1]?.outcome, 'Failed NO_STOCK at inner');
  t.equal(run.outcome, 'Completed');
  t.strictSame(run.variables, { error: { code: 'NO_STOCK', message: 'nothing there', nodeId: 'outer' } });
  t.notOk(
    world.trace.some((line) => line.includes('cancelChild')),
    'a child that has ended is not cancelled',
  );
});

t.test('11: what still runs beside the error in a child is cancelled with it', async (t) => {
  const world = new World();
  world.start(`
start: { type: startEvent, next: sub }
sub:
  type: subProcess
  nodes:
    begin: { type: startEvent, next: [work, ask, deep] }
    work: { type: domainTask, handler: it }
    ask: { type: userTask }
    deep: { type: subProcess, nodes: { inner: { type: userTask } } }
  errorFlow: other
other: { type: task }`);
  world.runs[1]?.fail('work');
  t.equal(world.runs[2]?.outcome, 'Cancelled');
  t.ok(world.runs[1]?.nodes.includes('ask Cancelled'));
  t.equal(world.runs[0]?.outcome, 'Completed');
  const order = [
    'i3 instanceEnded',
    'i2 nodeCancelled deep',
    'i2 instanceEnded',
    'i1 nodeFailed sub',
    'i1 nodeStarted other',
  ];
  t.strictSame(
    order.map((line) => world.trace.indexOf(line)),
    order.map((line) => world.trace.indexOf(line)).sort((a, b) => a - b),
  );
});

t.test('11: an error boundary cancels what runs under its activity first', async (t) => {
  const world = new World();
  const run = world.start(`
start: { type: startEvent, next: each }
each:
  type: loopNode
  times: 2
  concurrency: 2
  nodes: { split: { type: startEvent, next: [work, ask] }, work: { type: domainTask, handler: it }, ask: { type: userTask } }
edge: { type: boundaryEvent, attachedTo: each, error: "*", next: other }
other: { type: task }`);
  run.fail('work');
  const order = ['i1 nodeFailed work', 'i1 nodeCancelled ask', 'i1 nodeFailed each', 'i1 nodeStarted edge'];
  const found = order.map((line) => world.trace.lastIndexOf(line));
  t.strictSame(
    found,
    [...found].sort((a, b) => a - b),
  );
  t.equal(run.outcome, 'Completed');
});

t.test('a boundary that can not be armed is an error of its activity', async (t) => {
  const flow = (boundary: string) => `
start: { type: startEvent, next: work }
work: { type: userTask, next: done }
edge: { type: boundaryEvent, attachedTo: work, timer: "{when}", next: one }
${boundary}
done: { type: task }
one: { type: task }
two: { type: task }`;
  const run = new World().start(flow(''));
  t.equal(run.outcome, 'Failed TIMER_INVALID at work');
  t.match(run.logged('WARN'), ['work: {when} has no value; it stays as text']);
  const caught = new World().start(
    flow('caught: { type: boundaryEvent, attachedTo: work, error: TIMER_INVALID, next: two }'),
  );
  t.equal(caught.outcome, 'Completed');
  t.equal(last(caught), 'two Completed');
  const good = new World().start(flow(''), { data: { when: 'PT1H' } });
  t.equal(good.outcome, 'Running');
});

t.test('a boundary event in a loop belongs to its own iteration', async (t) => {
  const world = new World();
  const run = world.start(
    `
start: { type: startEvent, next: each }
each:
  type: loopNode
  items: [a, b]
  concurrency: 2
  as: it
  nodes:
    ask: { type: userTask, next: set }
    edge: { type: boundaryEvent, attachedTo: ask, message: stop, correlationKey: "{it}", next: other }
    set: { type: setVariable, set: { "done.{it}": 1 }, next: [] }
    other: { type: setVariable, set: { stopped: "{it}" } }
  result: all`.replace('"done.{it}": 1', 'answered: "{it}"'),
  );
  world.message('stop', 'b');
  t.strictSame(
    run.nodes.filter((node) => node.startsWith('ask')),
    ['ask Waiting', 'ask Cancelled'],
  );
  run.complete('ask');
  t.match(run.variables, { stopped: 'b', answered: 'a', all: ['a', 'b'] });
});

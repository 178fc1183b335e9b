import t from 'tap';
import { type Run, World } from './engine.ts';

const OTHER = '0d2c7a52-4f5e-4c0e-9a57-7f0a1f0f6a01';
const count = (run: Run, node: string) => run.nodes.filter((line) => line.startsWith(`${node} `)).length;

t.test('17: parallel branches write one variable scope: the last commit wins', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: [a, b] }
a: { type: domainTask, handler: it, result: x }
b: { type: domainTask, handler: it, result: x }`);
  run.finish('b', 'b');
  run.finish('a', 'a');
  t.strictSame(run.variables, { x: 'a' });
  t.strictSame(
    run.log.filter(({ message }) => message === 'set x').map(({ nodeId, variables }) => [nodeId, variables?.['x']]),
    [
      ['b', 'b'],
      ['a', 'a'],
    ],
    'the log shows who wrote',
  );
});

t.test('17: dotted names reach inside, each by itself', async (t) => {
  const run = new World().start(
    `
start: { type: startEvent, next: set }
set: { type: setVariable, set: { order.lines.0.count: 2, order.note.by: Ada, list.1: b, later: "{order.note.by}" } }`,
    { data: { order: { id: 1, lines: [{ count: 1, sku: 'x' }] }, list: ['a'] } },
  );
  t.strictSame(run.variables, {
    order: { id: 1, lines: [{ count: 2, sku: 'x' }], note: { by: 'Ada' } },
    list: ['a', 'b'],
    later: 'Ada',
  });
});

const each = (keys: string, body: string) => `
start: { type: startEvent, next: each }
each: { type: loopNode, ${keys}, nodes: { ${body} }, result: all, next: after }
after: { type: task }`;

t.test('18: a for-each runs once an item, in order; {loop.index} starts at 0', async (t) => {
  const run = new World().start(
    each('items: "{list}", as: it', 'a: { type: setVariable, set: { seen: "{loop.index}:{loop.item}:{it}" } }'),
    { data: { list: ['x', 'y'] } },
  );
  t.strictSame(run.variables, { list: ['x', 'y'], seen: '1:y:y', all: ['0:x:x', '1:y:y'] });
  t.equal(run.nodes.at(-1), 'after Completed');
});

t.test('18: the list is read once, on entry', async (t) => {
  const run = new World().start(each('items: "{list}"', 'a: { type: setVariable, set: { list: [9, 9, 9, 9] } }'), {
    data: { list: [1, 2] },
  });
  t.equal(count(run, 'a'), 2);
});

t.test('18: an empty list goes straight on, with the result []', async (t) => {
  for (const keys of ['items: []', 'items: "{list}"', 'times: 0', 'times: "{none}"']) {
    const run = new World().start(each(keys, 'a: { type: task }'), { data: { list: [], none: 0 } });
    t.strictSame([run.outcome, run.variables['all'], count(run, 'a')], ['Completed', [], 0], keys);
  }
});

t.test('18: the result is in the order of the items, whatever the concurrency', async (t) => {
  const run = new World().start(
    each('items: [a, b, c], concurrency: 3', 'work: { type: domainTask, handler: it, result: got }'),
  );
  t.equal(count(run, 'work'), 3);
  for (const n of [4, 2, 3]) {
    run.command({ type: 'finishWork', n: n + 1, attempt: 1, outcome: { ok: true, value: n, logs: [] } });
  }
  t.strictSame(run.variables['all'], [2, 3, 4]);
});

t.test('18: no more iterations run at once than `concurrency` says', async (t) => {
  for (const [keys, most] of [
    ['', 1],
    [', concurrency: 2', 2],
    [', concurrency: 9', 5],
  ] as const) {
    const run = new World().start(each(`times: 5${keys}`, 'work: { type: domainTask, handler: it }'));
    for (let left = 5; left > 0; left -= 1) {
      t.equal(run.active.length - 1, Math.min(most, left));
      run.finish('work');
    }
    t.equal(run.outcome, 'Completed');
  }
});

t.test("18: an iteration's result is what its last writer set; null where nothing was set", async (t) => {
  const run = new World().start(
    each(
      'items: [1, 2, 3], as: it',
      `gate: { type: exclusiveGateway, next: [{ to: one, condition: "\${it == 1}" }, { to: two, condition: "\${it == 2}" }, { to: none, default: true }] },
       one: { type: setVariable, set: { a: 1 } }, two: { type: setVariable, set: { b: 2 }, next: more },
       more: { type: outputNode, output: { p: 1, q: 2 } }, none: { type: task }`,
    ),
  );
  t.strictSame(run.variables['all'], [1, { p: 1, q: 2 }, null]);
});

t.test('18: while the condition holds, looked at before each round', async (t) => {
  const flow = `
start: { type: startEvent, next: each }
each:
  type: loopNode
  condition: "\${loop.index < 2 || more}"
  nodes: { ask: { type: inputNode, inputType: textbox } }
  result: all`;
  const run = new World().start(flow, { data: { more: true } });
  run.complete('ask', { inputValue: 'a', more: false });
  run.complete('ask', { inputValue: 'b', more: true });
  run.complete('ask', { inputValue: 'c', more: false });
  t.equal(run.outcome, 'Completed');
  t.match(run.variables['all'], [{ inputValue: 'a' }, { inputValue: 'b' }, { inputValue: 'c' }]);
  const none = new World().start(flow.replace('loop.index < 2 || more', 'more'), { data: { more: false } });
  t.strictSame(none.variables['all'], []);
});

t.test('18: a while condition that can not be evaluated is an error of the loop, in any round', async (t) => {
  const flow = `
start: { type: startEvent, next: each }
each: { type: loopNode, condition: "\${n < 3}", nodes: { a: { type: setVariable, set: { n: many } } }, errorFlow: other }
other: { type: task }`;
  const run = new World().start(flow, { data: { n: 1 } });
  t.equal(run.outcome, 'Completed');
  t.match(run.variables, { error: { code: 'EXPRESSION_ERROR', nodeId: 'each' } });
  t.equal(new World().start(flow.replace('errorFlow: other', '')).outcome, 'Failed EXPRESSION_ERROR at each');
});

t.test('18: more than maxIterations is LOOP_LIMIT', async (t) => {
  for (const keys of ['items: [1, 2, 3]', 'times: 3', 'condition: "${true}"']) {
    const flow = each(`${keys}, maxIterations: 2`, 'a: { type: task }');
    const run = new World().start(flow);
    t.equal(run.outcome, 'Failed LOOP_LIMIT at each', keys);
    t.equal(
      count(run, 'a'),
      keys.startsWith('condition') ? 2 : 0,
      'a list is too long at once, a condition holds too often',
    );
    const enough = new World().start(
      flow.replace('maxIterations: 2', 'maxIterations: 3').replace('${true}', '${loop.index < 3}'),
    );
    t.equal(enough.outcome, 'Completed', keys);
  }
  const standard = new World().start(each('times: 10001', 'a: { type: task }'));
  t.match(standard.state.error, { code: 'LOOP_LIMIT', message: /more than 10000 iterations/ });
});

t.test('18: what is no list, and no count, is LOOP_ITEMS', async (t) => {
  for (const list of ['text', 5, null, { a: 1 }]) {
    t.equal(
      new World().start(each('items: "{x}"', 'a: { type: task }'), { data: { x: list } }).outcome,
      'Failed LOOP_ITEMS at each',
    );
  }
  t.equal(new World().start(each('items: "{nobody}"', 'a: { type: task }')).outcome, 'Failed LOOP_ITEMS at each');
  for (const times of [-1, 1.5, 'many', '', null, [1]]) {
    t.equal(
      new World().start(each('times: "{x}"', 'a: { type: task }'), { data: { x: times } }).outcome,
      'Failed LOOP_ITEMS at each',
    );
  }
  t.equal(
    count(new World().start(each('times: "{x}"', 'a: { type: task }'), { data: { x: '2' } }), 'a'),
    2,
    'a number as text counts',
  );
});

t.test('17: loop.* and the `as` name are local to an iteration; all else is shared', async (t) => {
  const run = new World().start(
    each(
      'items: [1, 2], concurrency: 2, as: it',
      `ask: { type: userTask, next: set },
       set: { type: setVariable, set: { it: "{it}0", loop.mine: "{it}", shared: "{it}" }, next: see },
       see: { type: setVariable, set: { seen: "{it} {loop.mine} {loop.index} {shared}" } }`,
    ),
    { data: { it: 'outer' } },
  );
  run.complete('ask');
  run.complete('ask');
  t.match(run.variables, { it: 'outer', shared: '20', all: ['10 10 0 10', '20 20 1 20'] });
  t.notOk('loop' in run.variables);
});

t.test('17: an inner loop hides the names of the outer one, and no more', async (t) => {
  const run = new World().start(
    each(
      'items: [a, b], as: outer',
      `inner: { type: loopNode, items: [x, y], nodes: { see: { type: setVariable, set: { seen: "{outer}{loop.item}{loop.index}" } } }, result: pairs, next: then },
       then: { type: setVariable, set: { pairs: "{pairs}", at: "{loop.item}" } }`,
    ),
  );
  t.strictSame(run.variables['all'], [
    { pairs: ['ax0', 'ay1'], at: 'a' },
    { pairs: ['bx0', 'by1'], at: 'b' },
  ]);
});

t.test('a loop may time out, and what runs in it is cancelled', async (t) => {
  const world = new World();
  const run = world.start(each('times: 3, timeout: PT1H', 'ask: { type: userTask }'));
  run.complete('ask');
  world.advance('PT1H');
  t.equal(run.outcome, 'Failed TIMEOUT at each');
  t.strictSame(run.nodes.slice(1), ['each TimedOut', 'ask Completed', 'ask Cancelled']);
});

t.test('17: an inline subProcess works on a copy, and what it wrote comes back when it completes', async (t) => {
  const run = new World().start(
    `
start: { type: startEvent, next: sub }
sub:
  type: subProcess
  data: { given: "{x}!" }
  nodes:
    ask: { type: inputNode, inputType: textbox, next: set }
    set: { type: setVariable, set: { x: "{given}{inputValue}", order.note: new } }
  result: back
  next: after
beside: { type: task }
after: { type: userTask }`,
    { data: { x: 1, kept: true, order: { id: 1 } } },
  );
  const [child] = run.children();
  t.strictSame(child?.variables, { x: 1, kept: true, order: { id: 1 }, given: '1!' });
  t.match(child?.state, { processId: run.state.processId, version: '1', parent: { instanceId: 'i1' }, depth: 1 });
  child?.complete('ask', { inputValue: '?' });
  const back = { x: '1!?', order: { id: 1, note: 'new' }, inputValue: '?', inputNodeAction: 'COMPLETE' };
  t.strictSame(run.variables, { kept: true, ...back, back }, 'data that was only given to it stays there');
  t.strictSame(run.view.children, ['i2']);
});

t.test('17: what an inline subProcess only read does not overwrite what others wrote meanwhile', async (t) => {
  const run = new World().start(
    `
start: { type: startEvent, next: [sub, ask] }
sub: { type: subProcess, nodes: { work: { type: domainTask, handler: it, result: y } } }
ask: { type: userTask, next: set }
set: { type: setVariable, set: { x: changed } }`,
    { data: { x: 1 } },
  );
  run.complete('ask');
  t.strictSame(run.children()[0]?.variables, { x: 1 });
  run.children()[0]?.finish('work', 2);
  t.match(run.variables, { x: 'changed', y: 2 });
});

t.test(
  '17: the copy holds the names of the iteration around the subProcess, and brings changes back to it',
  async (t) => {
    const run = new World().start(
      each(
        'items: [1, 2], as: it',
        `sub: { type: subProcess, nodes: { set: { type: setVariable, set: { it: "{it}{loop.index}" } } }, next: see },
       see: { type: setVariable, set: { seen: "{it}" } }`,
      ),
    );
    t.strictSame(run.variables, { seen: '21', all: ['10', '21'] });
  },
);

t.test('19: a subProcess by processId gets `data` only; its variables come back in `result`', async (t) => {
  const world = new World();
  world.publish(OTHER, 'start: { type: startEvent, next: work }\nwork: { type: domainTask, handler: it, result: got }');
  const run = world.start(
    `
start: { type: startEvent, next: sub }
sub: { type: subProcess, processId: "{flow}", data: { order: "{id}" }, result: answer, next: after }
after: { type: task }`,
    { data: { flow: OTHER.toUpperCase(), id: 7 }, correlationKey: 'key' },
  );
  const [child] = run.children();
  t.match(child?.state, { processId: OTHER, correlationKey: 'key', depth: 1, root: 'i1' });
  t.strictSame(child?.variables, { order: 7 });
  child?.finish('work', 'done');
  t.match(run.variables, { answer: { order: 7, got: 'done' } });
  t.notOk('got' in run.variables || 'order' in run.variables);
  t.equal(run.outcome, 'Completed');
});

t.test('a subProcess or callProcess that can not start is an error of its node', async (t) => {
  for (const type of ['subProcess', 'callProcess']) {
    const flow = `
start: { type: startEvent, next: sub }
sub: { type: ${type}, processId: "{flow}", errorFlow: other }
other: { type: task }`;
    const code = (id: string) =>
      (new World().start(flow, { data: { flow: id } }).variables['error'] as { code: string })?.code;
    t.equal(code(OTHER), 'NOT_PUBLISHED');
    t.equal(code('no id'), 'PROCESS_NOT_FOUND');
    t.equal(new World().start(flow).outcome, 'Completed', 'an id that resolves to nothing');
  }
});

t.test('19: a child that is too large to begin is an error of its node', async (t) => {
  const world = new World({ variableBytes: 1000 });
  const run = world.start(
    `
start: { type: startEvent, next: sub }
sub: { type: subProcess, data: { a: "{x}", b: "{x}" }, nodes: { a: { type: task } } }`,
    { data: { x: 'x'.repeat(600) } },
  );
  t.equal(run.state.stateCd, 2);
  t.equal(run.state.error?.nodeId, 'sub');
});

t.test('19: cancelling the parent cancels the child first; a child can not be cancelled by itself', async (t) => {
  const world = new World();
  const run = world.start(
    'start: { type: startEvent, next: sub }\nsub: { type: subProcess, nodes: { ask: { type: userTask } } }',
  );
  const [child] = run.children();
  t.match(child?.cancel(), { code: 'CONFLICT', message: /belongs to i1/ });
  t.equal(child?.outcome, 'Running');
  run.cancel();
  t.strictSame([run.outcome, child?.outcome], ['Cancelled', 'Cancelled']);
  t.ok(world.trace.indexOf('i2 nodeCancelled ask') < world.trace.indexOf('i1 nodeCancelled sub'));
});

t.test('19: what is told of another child, or delivered twice, changes nothing', async (t) => {
  const run = new World().start(
    'start: { type: startEvent, next: sub }\nsub: { type: subProcess, nodes: { ask: { type: userTask } } }',
  );
  const events = run.events.length;
  const result = { stateCd: 1, variables: { x: 1 }, written: ['x'] } as const;
  run.command({ type: 'endChild', n: 2, child: 'i9', result });
  run.command({ type: 'endChild', n: 9, child: 'i2', result });
  run.command({ type: 'deliver', id: 1, answer: { ok: true, instanceId: 'i9' } });
  t.equal(run.events.length, events);
  run.children()[0]?.complete('ask');
  t.equal(run.outcome, 'Completed');
});

t.test('20: callProcess starts an independent instance, and does not wait for it', async (t) => {
  const world = new World();
  world.publish(OTHER, 'start: { type: startEvent, next: ask }\nask: { type: userTask }');
  const run = world.start(`
start: { type: startEvent, next: call }
call: { type: callProcess, processId: ${OTHER}, data: { x: 1 }, result: started, next: wait }
wait: { type: userTask }`);
  t.strictSame(run.active, ['wait']);
  t.strictSame(run.variables, { started: 'i2' });
  const called = world.runs[1] as Run;
  t.strictSame(called.variables, { x: 1 });
  t.equal(called.state.parent, undefined);
  t.strictSame(run.view.children, [], 'it is no child');
  run.cancel();
  t.equal(called.outcome, 'Running');
  t.equal(called.cancel(), undefined, 'it can be cancelled by itself');
});

t.test('20: an instance that was called may fail without any harm to its caller', async (t) => {
  const world = new World();
  world.publish(OTHER, 'start: { type: startEvent, next: end }\nend: { type: endEvent, error: BAD }');
  const run = world.start(`start: { type: startEvent, next: call }\ncall: { type: callProcess, processId: ${OTHER} }`);
  t.equal(run.outcome, 'Completed');
  t.equal(world.runs[1]?.outcome, 'Failed BAD at end');
});

t.test('loops and subProcesses inside of each other', async (t) => {
  const world = new World();
  const run = world.start(
    each(
      'items: [a, b], concurrency: 2, as: it',
      `sub: { type: subProcess, nodes: {
         inner: { type: loopNode, times: 2, concurrency: 2, nodes: { work: { type: domainTask, handler: it, result: got } }, result: both } } }`,
    ),
  );
  for (const child of run.children()) {
    child.finish('work', `${child.variables['it']}1`);
    child.finish('work', `${child.variables['it']}2`);
  }
  t.match(run.variables['all'], [{ both: ['a1', 'a2'] }, { both: ['b1', 'b2'] }]);
  t.equal(run.outcome, 'Completed');
});

t.test('a nested body may use the ids of the bodies around it', async (t) => {
  const world = new World();
  const run = world.start(`
start: { type: startEvent, next: each }
each:
  type: loopNode
  times: 2
  next: child
  errorFlow: ask
  nodes:
    start: { type: startEvent, next: [ask, work] }
    ask: { type: userTask, next: join }
    work: { type: task, next: which }
    which: { type: ifElse, condition: "\${loop.index >= 0}", then: join, else: done }
    join: { type: parallelGateway, next: done }
    done: { type: endEvent }
child:
  type: subProcess
  next: ask
  nodes:
    start: { type: startEvent, next: ask }
    ask: { type: userTask, next: done }
    edge: { type: boundaryEvent, attachedTo: ask, message: now, next: done }
    done: { type: endEvent }
edge: { type: boundaryEvent, attachedTo: ask, message: now, next: done }
ask: { type: userTask, next: done }
done: { type: endEvent }`);
  t.strictSame(run.active, ['each', 'each/ask']);
  run.complete('each/ask');
  run.complete('ask');
  const [child] = world.runs.slice(1) as [Run];
  t.strictSame(child.active, ['child/ask']);
  t.equal(child.complete('ask'), undefined, 'it may be answered by the id that its own body has for it');
  t.strictSame(run.active, ['ask']);
  world.message('now');
  t.equal(run.outcome, 'Completed');
  t.strictSame(run.nodes.slice(-3), ['ask Cancelled', 'edge Completed', 'done Completed']);
});

import t from 'tap';
import { begin, DEFAULT_LIMITS, pending } from '../../src/engine/index.ts';
import { BEGINNING, flowOf, type Run, START, World } from './engine.ts';

const CONTEXT = { at: BEGINNING, env: () => undefined, limits: DEFAULT_LIMITS };
const OTHER = '0d2c7a52-4f5e-4c0e-9a57-7f0a1f0f6a01';

t.test('24: a flow that loops for ever fails with STEP_LIMIT, by the way of turns of bounded length', async (t) => {
  const world = new World({ steps: 1000, turn: 100 });
  const run = world.start(
    'start: { type: startEvent, next: a }\na: { type: task, next: b }\nb: { type: task, next: a }',
  );
  t.match(run.state.error, { code: 'STEP_LIMIT', message: /1000 nodes/ });
  t.equal(run.nodes.length, 1001);
  t.equal(run.nodes.at(-1), run.nodes.length % 2 === 0 ? 'a Cancelled' : 'b Cancelled');
});

t.test('24: nothing in the flow catches STEP_LIMIT', async (t) => {
  const run = new World({ steps: 100 }).start(`
start: { type: startEvent, next: each }
each:
  type: loopNode
  condition: "\${true}"
  nodes: { a: { type: task } }
  errorFlow: each
all: { type: boundaryEvent, attachedTo: each, error: "*", next: each }`);
  t.equal(run.state.error?.code, 'STEP_LIMIT');
});

t.test('24: a turn that is cut goes on where it was', async (t) => {
  const flow = `
start: { type: startEvent, next: each }
each: { type: loopNode, times: 50, concurrency: 7, nodes: { a: { type: setVariable, set: { x: "{loop.index}" } } }, result: all, next: after }
after: { type: task }`;
  const whole = new World().start(flow);
  for (const turn of [1, 2, 7, 49]) {
    const cut = new World({ turn }).start(flow);
    t.strictSame(JSON.stringify(cut.events), JSON.stringify(whole.events), `after ${turn} steps`);
  }
});

t.test('24: a turn is short, and shorter where the variables are large', async (t) => {
  const flow = flowOf('start: { type: startEvent, next: a }\na: { type: task, next: b }\nb: { type: task, next: a }');
  const entered = (x: string): number => {
    const decision = begin(flow, { ...START, id: 'i1', data: { x } }, CONTEXT);
    t.ok(decision.ok && pending(undefined, decision.state).more, 'there is more to do');
    return decision.ok ? decision.state.nextActivation - 1 : 0;
  };
  t.equal(entered('x'), 501);
  t.ok(entered('x'.repeat(1024 * 1024)) < 40);
  const fork = Array.from({ length: 50 }, () => 'a').join(', ');
  const wide = flowOf(`start: { type: startEvent, next: a }\na: { type: task, next: [${fork}] }`);
  const decision = begin(wide, { ...START, id: 'i1' }, CONTEXT);
  t.ok(decision.ok && decision.state.nextActivation < 600, 'a step counts once for each token that it sends out');
});

t.test('24: other commands get their turn while one instance has much to do', async (t) => {
  const world = new World({ turn: 10, steps: 1000 });
  const run = world.start(
    'start: { type: startEvent, next: [a, ask] }\na: { type: task, next: a2 }\na2: { type: task, next: a }\nask: { type: userTask }',
  );
  t.equal(run.state.error?.code, 'STEP_LIMIT');
  t.ok(run.nodes.includes('ask Cancelled'));
});

t.test('24: variables that grow past the limit are VARIABLES_TOO_LARGE', async (t) => {
  const flow = `
start: { type: startEvent, next: grow }
grow: { type: setVariable, set: { x: "{x}{x}" }, next: grow2 }
grow2: { type: task, next: grow }`;
  const run = new World({ variableBytes: 10_000 }).start(flow, { data: { x: 'x' } });
  t.match(run.state.error, { code: 'VARIABLES_TOO_LARGE', nodeId: 'grow', message: /setting x .* 10000 bytes/ });
  t.ok(run.state.size <= 10_000);
  const caught = new World({ variableBytes: 10_000 }).start(
    `${flow.replace('set: {', 'errorFlow: done, set: {')}\ndone: { type: task }`,
    {
      data: { x: 'x' },
    },
  );
  t.equal(caught.outcome, 'Completed');
});

t.test('24: variables that grow deeper and deeper are VARIABLES_TOO_DEEP', async (t) => {
  const run = new World().start(
    `
start: { type: startEvent, next: wrap }
wrap: { type: setVariable, set: { x: { a: ["{x}"] } }, next: again }
again: { type: task, next: wrap }`,
    { data: { x: 1 } },
  );
  t.match(run.state.error, {
    code: 'VARIABLES_TOO_DEEP',
    nodeId: 'wrap',
    message: /x would have more than 500 levels/,
  });
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
  const ask = new World().start(
    'start: { type: startEvent, next: [ask, work] }\nask: { type: userTask }\nwork: { type: domainTask, handler: it, result: x, errorFlow: done }\ndone: { type: task }',
  );
  ask.finish('work', deep);
  t.match(ask.variables, { error: { code: 'VARIABLES_TOO_DEEP' } });
  ask.complete('ask', { deep });
  t.equal(ask.outcome, 'Failed VARIABLES_TOO_DEEP at ask');
  const start = new World().tryStart(ask.flow, { data: { deep } });
  t.match(start, { code: 'VALIDATION_ERROR', message: /500 levels/ });
});

t.test('24: a flow that forks without end fails before its tokens fill the memory', async (t) => {
  const a = Array.from({ length: 500 }, () => 'a').join(', ');
  const run = new World({ steps: 5000 }).start(`start: { type: startEvent, next: a }\na: { type: task, next: [${a}] }`);
  t.equal(run.outcome, 'Failed STEP_LIMIT at a');
  t.ok(run.nodes.length < 6000);
});

t.test('24: what comes in from outside is bounded too', async (t) => {
  const big = 'x'.repeat(2000);
  const world = new World({ variableBytes: 1000 });
  const flow = `
start: { type: startEvent, next: [work, ask, catch] }
work: { type: domainTask, handler: it, result: got, errorFlow: done }
ask: { type: userTask, errorFlow: done }
catch: { type: intermediateCatchEvent, message: m, errorFlow: done }
done: { type: outputNode, value: "{error.code}" }`;
  const run = world.start(flow);
  run.finish('work', big);
  t.match(run.variables, { output: 'VARIABLES_TOO_LARGE' });
  run.complete('ask', { big });
  world.message('m', '', { big });
  t.strictSame(run.nodes.filter((node) => node.startsWith('done')).length, 3);
  t.equal(run.outcome, 'Completed');
  const refused = world.tryStart(run.flow, { data: { big } }) as { code: string };
  t.equal(refused.code, 'VALIDATION_ERROR');
});

t.test('24: variables may be replaced again and again, and made smaller', async (t) => {
  const run = new World({ variableBytes: 1000 }).start(`
start: { type: startEvent, next: each }
each:
  type: loopNode
  times: 100
  nodes: { first: { type: setVariable, set: { x.y: "${'y'.repeat(700)}" }, next: big }, big: { type: setVariable, set: { x.y: "${'x'.repeat(600)}" }, next: small }, small: { type: setVariable, set: { x: 1 } } }`);
  t.equal(run.outcome, 'Completed');
});

t.test('24: the results of a loop count', async (t) => {
  const run = new World({ variableBytes: 10_000 }).start(`
start: { type: startEvent, next: each }
each: { type: loopNode, times: 1000, nodes: { a: { type: setVariable, set: { x: "${'x'.repeat(1000)}" } } }, result: all }`);
  t.match(run.state.error, { code: 'VARIABLES_TOO_LARGE' });
  t.ok(run.nodes.filter((node) => node === 'a Completed').length < 42);
  const none = new World({ variableBytes: 10_000 }).start(
    run.flow.body.nodes.size === 0
      ? ''
      : `
start: { type: startEvent, next: each }
each: { type: loopNode, times: 1000, nodes: { a: { type: setVariable, set: { x: "${'x'.repeat(1000)}" } } } }`,
  );
  t.equal(none.outcome, 'Completed', 'where nobody asks for them none are kept');
});

t.test('24: names that are local to an iteration count', async (t) => {
  const run = new World({ variableBytes: 10_000 }).start(`
start: { type: startEvent, next: each }
each: { type: loopNode, items: [1], as: it, nodes: { grow: { type: setVariable, set: { it: "{it}{it}" }, next: grow2 }, grow2: { type: task, next: grow }, s: { type: startEvent, next: grow } } }`);
  t.match(run.state.error, { code: 'VARIABLES_TOO_LARGE', nodeId: 'grow' });
});

t.test('24: the lists of loops that run at once count', async (t) => {
  const run = new World({ variableBytes: 10_000 }).start(
    `
start: { type: startEvent, next: each }
each:
  type: loopNode
  times: 100
  concurrency: 100
  nodes: { inner: { type: loopNode, items: ["{x}", "<{x}>"], nodes: { ask: { type: userTask } } } }`,
    { data: { x: 'x'.repeat(1000) } },
  );
  t.match(run.state.error, { code: 'VARIABLES_TOO_LARGE', nodeId: 'inner' });
});

t.test('24: forms that wait count', async (t) => {
  const run = new World({ variableBytes: 10_000 }).start(
    `
start: { type: startEvent, next: each }
each:
  type: loopNode
  times: 100
  concurrency: 100
  nodes: { ask: { type: inputNode, inputType: textbox, formTitle: "<{x}>" } }`,
    { data: { x: 'x'.repeat(1000) } },
  );
  t.match(run.state.error, { code: 'VARIABLES_TOO_LARGE', nodeId: 'ask' });
});

t.test('24: keys that are waited for count', async (t) => {
  const run = new World({ variableBytes: 10_000 }).start(
    `
start: { type: startEvent, next: each }
each:
  type: loopNode
  times: 100
  concurrency: 100
  nodes: { catch: { type: intermediateCatchEvent, message: m, correlationKey: "<{x}>" } }`,
    { data: { x: 'x'.repeat(1000) } },
  );
  t.match(run.state.error, { code: 'VARIABLES_TOO_LARGE', nodeId: 'catch' });
});

t.test('24: a text that grows past what a template may give is TEMPLATE_TOO_LARGE', async (t) => {
  const run = new World({ variableBytes: 100_000_000 }).start(
    'start: { type: startEvent, next: grow }\ngrow: { type: setVariable, set: { x: "{x}{x}" }, next: again }\nagain: { type: task, next: grow }',
    { data: { x: 'x'.repeat(100_000) } },
  );
  t.match(run.state.error, { code: 'TEMPLATE_TOO_LARGE', nodeId: 'grow' });
});

t.test('24: a node tells of a few unresolved references, not of all', async (t) => {
  const many = Array.from({ length: 500 }, (_, i) => `{n${i}}`).join('');
  const run = new World().start(
    `start: { type: startEvent, next: set }\nset: { type: setVariable, set: { x: "${many}{n0}{n0}" } }`,
  );
  t.equal(run.variables['x'], `${many}{n0}{n0}`);
  t.ok(run.logged('WARN').length <= 25);
  const same = new World().start(
    'start: { type: startEvent, next: set }\nset: { type: setVariable, set: { x: "{a}{a}{a}{b}" } }',
  );
  t.equal(same.logged('WARN').length, 2, 'each reference once');
});

for (const type of ['callProcess', 'subProcess']) {
  t.test(`24: a flow that starts itself by ${type} ends with CALL_DEPTH`, async (t) => {
    const world = new World({ depth: 10 });
    const flow = world.publish(
      OTHER,
      `start: { type: startEvent, next: again }\nagain: { type: ${type}, processId: ${OTHER} }`,
    );
    world.start(flow);
    t.equal(world.runs.length, 11);
    t.match(world.runs.at(-1)?.state.error, { code: 'CALL_DEPTH', message: /10 deep/ });
    const outcomes = new Set(world.runs.map(({ outcome }) => outcome));
    t.strictSame(
      outcomes,
      new Set(type === 'subProcess' ? ['Failed CALL_DEPTH at again'] : ['Completed', 'Failed CALL_DEPTH at again']),
    );
  });
}

t.test('24: inline subProcesses count in the chain of starts', async (t) => {
  const world = new World({ depth: 10 });
  const flow = world.publish(
    OTHER,
    `
start: { type: startEvent, next: sub }
sub: { type: subProcess, nodes: { call: { type: callProcess, processId: ${OTHER} } } }`,
  );
  world.start(flow);
  t.ok(world.runs.length <= 12);
  t.ok(world.runs.some((run: Run) => run.state.error?.code === 'CALL_DEPTH'));
});

t.test('24: many names at once, and many places in one object, cost what they hold', async (t) => {
  const names = Array.from({ length: 20_000 }, (_, i) => [`k${i}`, i] as const);
  const run = new World().start(
    'start: { type: startEvent, next: ask }\nask: { type: userTask, next: set }\nset: { type: setVariable, set: { o.a: 1, o.b: 2 } }',
  );
  run.complete('ask', Object.fromEntries(names));
  t.match(run.variables, { k19999: 19_999, o: { a: 1, b: 2 } });
  const dotted = Object.fromEntries(names.slice(0, 1000).map(([name, i]) => [`o.${name}`, i]));
  const deep = new World().start({
    start: { type: 'startEvent', next: 'set' },
    set: { type: 'setVariable', set: dotted },
  });
  t.match(deep.variables, { o: { k0: 0, k999: 999 } });
});

import t from 'tap';
import { compile } from '../../src/engine/parse.ts';
import { errors, flowOf, lines, nodeOf, warnings } from './flows.ts';

const problems = (nodes: string) => lines(compile(flowOf(nodes)).problems);

t.test('a flow has exactly one start event', async (t) => {
  t.strictSame(problems('  a: { type: task }'), [
    '3:1 MISSING_START nodes -> add `start: { type: startEvent, next: … }`',
  ]);
  t.strictSame(problems('  a: { type: startEvent }\n  b: { type: startEvent }'), ['5:3 SECOND_START nodes.b']);
  t.strictSame(problems('  start: { type: StartEvent }'), [
    '4:18 UNKNOWN_NODE_TYPE nodes.start.type -> did you mean `startEvent`?',
  ]);
  t.match(errors(flowOf('  {}')), [{ code: 'EMPTY' }]);
  t.match(errors('id: 7c9e6679-7425-40de-944b-e07fc1f90ae7\nname: x'), [{ code: 'MISSING_KEY', path: 'nodes' }]);
});

t.test('a nested body begins at its start event, or at the one node that nothing leads to', async (t) => {
  const loop = (body: string) => nodeOf(`type: loopNode, times: 2, nodes: { ${body} }`);
  t.strictSame(errors(loop('a: { type: task, next: b }, b: { type: task }')), []);
  t.strictSame(errors(loop('a: { type: startEvent, next: b }, b: { type: task }, c: { type: task }')), []);
  t.match(errors(loop('a: { type: task }, b: { type: task }')), [{ code: 'MISSING_START', message: /`a`, `b`/ }]);
  t.match(errors(loop('a: { type: task, next: b }, b: { type: task, next: a }')), [{ code: 'MISSING_START' }]);
  const bounded = 'a: { type: userTask }, late: { type: boundaryEvent, attachedTo: a, timer: PT1H }';
  t.strictSame(errors(loop(bounded)), [], 'a boundary event is no start');
});

t.test('connections lead to nodes of their own body', async (t) => {
  t.strictSame(problems('  start: { type: startEvent, next: [reveiw, x] }\n  review: { type: task }'), [
    '4:37 UNKNOWN_NODE nodes.start.next.0 -> did you mean `review`?',
    '4:45 UNKNOWN_NODE nodes.start.next.1',
    '5:3 UNREACHABLE nodes.review -> connect it, or remove it',
  ]);
  const out =
    '  start: { type: startEvent, next: each }\n  each: { type: loopNode, times: 2, nodes: { a: { type: task, next: done } }, next: done }\n  done: { type: endEvent }';
  t.match(errors(flowOf(out)), [{ code: 'LEAVES_BODY', path: 'nodes.each.nodes.a.next' }]);
  t.match(
    errors(flowOf(out.replace('next: each', 'next: a').replace('a: { type: task, next: done }', 'a: { type: task }'))),
    [{ code: 'LEAVES_BODY', path: 'nodes.start.next' }],
  );
  t.match(errors(nodeOf('type: task, next: start')), [{ code: 'INTO_START' }]);
  t.match(errors(nodeOf('type: userTask, next: late }\n  late: { type: boundaryEvent, attachedTo: it, timer: PT1H')), [
    { code: 'INTO_BOUNDARY' },
  ]);
});

t.test('ids are names, and connections stay in their own body', async (t) => {
  for (const id of ['1st', '"a b"', 'a.b', '-a', `n${'x'.repeat(128)}`, '"ä"']) {
    t.match(
      errors(flowOf(`  start: { type: startEvent, next: ${id} }\n  ${id}: { type: task }`)),
      [{ code: 'BAD_NODE_ID' }],
      id,
    );
  }
  t.strictSame(
    errors(nodeOf('type: loopNode, times: 1, nodes: { done: { type: task } }')),
    [],
    'each body has its own',
  );
  t.match(errors(nodeOf('type: loopNode, times: 1, nodes: { one: { type: task, next: done } }')), [
    { code: 'LEAVES_BODY' },
  ]);
});

t.test('end events, start events and ifElse have no connections that they could not take', async (t) => {
  t.match(errors(nodeOf('type: endEvent, next: done')), [
    { code: 'UNKNOWN_KEY', hint: 'an end event is where its token ends' },
  ]);
  t.match(errors(nodeOf('type: endEvent, terminate: true, error: X')), [{ code: 'ONE_OF' }]);
  t.match(errors(nodeOf('type: task, timeout: PT1S')), [{ code: 'UNKNOWN_KEY', hint: /takes no time/ }]);
  t.match(errors(nodeOf('type: setVariable, set: { a: 1 }, retry: { attempts: 2 }')), [{ hint: /no outside work/ }]);
  t.match(errors(nodeOf('type: userTask, retry: { attempts: 2 }')), [{ hint: /only nodes that do outside work/ }]);
});

t.test('boundary events sit on an activity, and catch each error once (semantics 10)', async (t) => {
  const on = (keys: string, activity = 'type: userTask') =>
    errors(nodeOf(`${activity} }\n  b: { type: boundaryEvent, ${keys}`));
  t.strictSame(on('attachedTo: it, error: "*"'), []);
  t.match(on('attachedTo: its, timer: PT1S'), [
    { code: 'UNKNOWN_NODE', path: 'nodes.b.attachedTo', hint: 'did you mean `it`?' },
  ]);
  t.match(on('attachedTo: it, timer: PT1S', 'type: task'), [{ code: 'BAD_ATTACHMENT' }]);
  t.match(on('attachedTo: b, timer: PT1S'), [{ code: 'BAD_ATTACHMENT' }]);
  t.match(on('attachedTo: it, timer: PT1S, error: X'), [{ code: 'ONE_OF' }]);
  t.strictSame(on('attachedTo: it, error: X, cancelActivity: false'), [], 'it interrupts all the same (semantics 8)');
  const twice = (a: string, b: string) =>
    on(`attachedTo: it, error: ${a} }\n  c: { type: boundaryEvent, attachedTo: it, error: ${b}`);
  t.match(twice('X', 'X'), [{ code: 'SAME_ERROR_TWICE', path: 'nodes.c.error' }]);
  t.match(twice('"*"', '"*"'), [{ code: 'SAME_ERROR_TWICE' }]);
  t.strictSame(twice('X', '"*"'), []);
  t.strictSame(
    errors(
      nodeOf(`type: userTask }
  b: { type: boundaryEvent, attachedTo: it, timer: PT1S }
  c: { type: boundaryEvent, attachedTo: it, timer: PT1S, cancelActivity: false`),
    ),
    [],
  );
});

t.test('ways out of a gateway', async (t) => {
  const gateway = (next: string, type = 'exclusiveGateway') => nodeOf(`type: ${type}, next: ${next}`);
  t.strictSame(errors(gateway('done')), []);
  t.strictSame(warnings(gateway('done')), []);
  t.match(errors(gateway('[{ to: done, default: true }, { to: done, default: true }]')), [{ code: 'SECOND_DEFAULT' }]);
  t.match(warnings(gateway('[{ to: done, default: true, condition: "${a}" }]')), [{ code: 'NO_EFFECT' }]);
  t.match(warnings(gateway('[done, { to: done, condition: "${a}" }]')), [
    { code: 'NEVER_TAKEN', path: 'nodes.it.next.1.to' },
  ]);
  t.strictSame(warnings(gateway('[done, { to: done, condition: "${a}" }]', 'inclusiveGateway')), []);
  t.match(warnings(gateway('[{ to: done, condition: "${a}" }]', 'parallelGateway')), [{ code: 'NO_EFFECT' }]);
  t.match(warnings(nodeOf('type: inclusiveGateway')), [{ code: 'NO_WAY_OUT' }]);
});

t.test('warnings of what will never happen', async (t) => {
  t.match(warnings(nodeOf('type: inputNode, inputType: textbox')), [{ code: 'NO_ERROR_FLOW' }, { code: 'NO_TIMEOUT' }]);
  t.match(warnings(nodeOf('type: inputNode, inputType: textbox, errorFlow: done, timeoutFlow: done')), [
    { code: 'NEVER_TAKEN' },
  ]);
  t.strictSame(warnings(nodeOf('type: inputNode, inputType: textbox, errorFlow: done, timeout: PT1H')), []);
  for (const type of ['select', 'radio', 'checkbox', 'form']) {
    const node = nodeOf(`type: inputNode, inputType: ${type}, errorFlow: done, timeout: PT1H`);
    t.match(warnings(node), [{ code: type === 'form' ? 'NO_FIELDS' : 'NO_OPTIONS' }], type);
  }
  const timed = (keys: string) =>
    warnings(
      nodeOf(
        `type: inputNode, inputType: textbox, errorFlow: done }\n  late: { type: boundaryEvent, attachedTo: it, ${keys}`,
      ),
    );
  t.strictSame(timed('timer: PT1H'), [], 'a timer on its border is a timeout');
  t.match(timed('timer: PT1H, cancelActivity: false'), [{ code: 'NO_TIMEOUT' }], 'a reminder is none');
  t.match(timed('error: X'), [{ code: 'NO_TIMEOUT' }]);
  t.match(warnings(nodeOf('type: intermediateCatchEvent, signal: a, correlationKey: b')), [{ code: 'NO_EFFECT' }]);
  t.match(warnings(flowOf('  start: { type: startEvent }\n  a: { type: task, next: b }\n  b: { type: task }')), [
    { code: 'UNREACHABLE', path: 'nodes.a' },
    { code: 'UNREACHABLE', path: 'nodes.b' },
  ]);
  const viaBoundary =
    'type: userTask }\n  b: { type: boundaryEvent, attachedTo: it, timer: PT1H, next: c }\n  c: { type: task';
  t.strictSame(warnings(nodeOf(viaBoundary)), [], 'a boundary event is reached with its activity');
});

t.test('a parallel join that can never have all its tokens', async (t) => {
  const join = (start: string, between: string) =>
    warnings(
      flowOf(`  start: { type: startEvent, next: ${start} }\n${between}\n  a: { type: task, next: join }
  b: { type: task, next: join }\n  join: { type: parallelGateway, next: done }\n  done: { type: endEvent }`),
    );
  const choice = '  x: { type: ifElse, condition: "${c}", then: a, else: b }';
  t.match(join('x', choice), [{ code: 'NEVER_JOINS', path: 'nodes.join' }]);
  t.match(join('a', ''), [{ code: 'UNREACHABLE' }, { code: 'NEVER_JOINS', message: /`b`/ }]);
  t.strictSame(join('[a, b]', ''), []);
  t.strictSame(join('x', '  x: { type: parallelGateway, next: [a, b] }'), []);
  t.strictSame(join('x', '  x: { type: inclusiveGateway, next: [{ to: a, condition: "${c}" }, b] }'), []);
  t.strictSame(join('[x, x]', choice), [], 'two tokens may go different ways');
  const reminded = `  x: { type: userTask, next: a }\n  r: { type: boundaryEvent, attachedTo: x, timer: PT1H, cancelActivity: false, next: b }`;
  t.strictSame(join('x', reminded), []);
  t.match(join('x', reminded.replace('cancelActivity: false, ', '')), [{ code: 'NEVER_JOINS' }]);
  const beside = '\n  c: { type: task, next: join }';
  t.match(
    join('[x, c]', choice + beside),
    [{ code: 'NEVER_JOINS', message: /from `a` and another from `b`, and only one comes/ }],
    'the fork before the choice sends no token along both of its ways',
  );
  t.match(
    join('[y, c]', `  y: { type: scriptTask, script: 1, next: a, errorFlow: b }${beside}`),
    [{ code: 'NEVER_JOINS' }],
    'an errorFlow is taken instead of `next`',
  );
  t.strictSame(join('[y, c]', `  y: { type: parallelGateway, next: [a, b] }${beside}`), []);
  const round = warnings(
    flowOf(`  start: { type: startEvent, next: join }\n  join: { type: parallelGateway, next: x }
  x: { type: ifElse, condition: "\${c}", then: join, else: done }\n  done: { type: endEvent }`),
  );
  t.match(
    round,
    [{ code: 'NEVER_JOINS', message: /`start` and another from `x`/ }],
    'it waits for what comes after it',
  );
});

t.test('a variable that is almost the name of one that is set', async (t) => {
  const uses = (name: string) =>
    warnings(
      nodeOf(`type: setVariable, set: { customer: 1 }, next: use }\n  use: { type: userTask, title: "Hi {${name}}"`),
    );
  t.match(uses('custmoer.name'), [{ code: 'UNKNOWN_VARIABLE', hint: 'did you mean `customer`?', line: 6 }]);
  for (const name of ['customer', 'customers', 'order', 'inputValue', 'error.code', 'webhookPayload.a', 'env.X']) {
    t.strictSame(uses(name), [], `${name} is no slip`);
  }
  t.match(warnings(nodeOf('type: ifElse, then: done, condition: "${inptuValue == 1}"')), [
    { hint: 'did you mean `inputValue`?' },
  ]);
});

t.test('the names of a loop where no loop is around', async (t) => {
  const reads = (nodes: string) => warnings(flowOf(`  start: { type: startEvent, next: a }\n${nodes}`));
  const read = 'type: outputNode, value: "{loop.index}"';
  t.match(reads(`  a: { ${read} }`), [{ code: 'OUTSIDE_LOOP', path: 'nodes.a.value' }]);
  t.match(reads(`  a: { type: loopNode, times: 2, nodes: { b: { type: task } }, next: c }\n  c: { ${read} }`), [
    { path: 'nodes.c.value' },
  ]);
  const inside = `type: subProcess, nodes: { c: { ${read} } }`;
  t.strictSame(reads(`  a: { type: loopNode, condition: "\${loop.index < 2}", nodes: { b: { ${inside} } } }`), []);
  t.strictSame(reads(`  a: { type: setVariable, set: { loop: { index: 1 } }, next: b }\n  b: { ${read} }`), []);
});

t.test('a variable that is only set later', async (t) => {
  const flow = (use: string, more = '', variables = '') =>
    `id: 7c9e6679-7425-40de-944b-e07fc1f90ae7\nname: Test\n${variables}nodes:
  start: { type: startEvent, next: use }
  use: { ${use} }
  ship: { type: scriptTask, script: 1, result: shipment, next: after }
  after: { type: outputNode, value: "{shipment}" }${more}\n`;
  const read = 'type: outputNode, value: "Sent {shipment.id}", next: ship';
  t.match(warnings(flow(read)), [
    { code: 'SET_LATER', line: 5, message: /only `ship` sets it/, path: 'nodes.use.value' },
  ]);
  t.match(warnings(flow('type: ifElse, condition: "${shipment == 1}", then: ship')), [{ code: 'SET_LATER' }]);
  t.strictSame(warnings(flow(read, '', 'variables: { shipment: null }\n')), [], 'it has a default');
  t.strictSame(warnings(flow(read).replace('next: after', 'next: [use, after]')), [], 'it comes round again');
  t.strictSame(warnings(flow('type: task, next: ship')), [], 'read after it is set');
  t.strictSame(
    warnings(flow('type: userTask, title: "{other}", next: ship')),
    [],
    'set by nobody: start data may bring it',
  );
  const asked = read.replace('type: outputNode', 'type: outputNode, errorFlow: ask');
  t.strictSame(
    warnings(flow('type: userTask, next: use2', `\n  use2: { ${read} }`)),
    [],
    'the data of a task may bring it',
  );
  t.match(warnings(flow(asked, '\n  ask: { type: userTask }')), [{ code: 'SET_LATER' }], 'but not of a later task');
  t.strictSame(
    warnings(
      flow('type: setVariable, set: { order.id: "{shipment}" }, next: ship').replace(
        'result: shipment',
        'result: shipment.id',
      ),
    ),
    [],
    'a dotted name is expected to be there',
  );
  const loop = (body: string) => flow(`type: loopNode, times: 2, next: ship, nodes: { ${body} }`);
  t.match(warnings(loop('a: { type: outputNode, value: "{shipment}" }')), [{ code: 'SET_LATER' }], 'inside of a loop');
  t.strictSame(
    warnings(loop('a: { type: outputNode, value: "{seen}", next: b }, b: { type: setVariable, set: { seen: 1 } }')),
    [],
    'the iteration before may have set it',
  );
});

t.test('cycles without a way out', async (t) => {
  const round = (a: string, b = 'type: task') =>
    warnings(flowOf(`  start: { type: startEvent, next: a }\n  a: { ${a}, next: b }\n  b: { ${b}, next: a }`));
  t.match(round('type: task'), [{ code: 'ENDLESS', path: 'nodes.a', message: /^`a`, `b` lead round and round/ }]);
  t.match(round('type: serviceTask, service: http, request: { url: "http://a" }'), [{ code: 'ENDLESS' }]);
  for (const wait of ['type: userTask', 'type: intermediateCatchEvent, timer: PT1M', 'type: domainTask, handler: x']) {
    t.strictSame(round(wait), [], `${wait} waits`);
  }
  const way = '{ to: done, condition: "${a}" }, { to: a, default: true }';
  const left = (nodes: string) => warnings(flowOf(`  start: { type: startEvent, next: a }\n${nodes}`));
  t.strictSame(left(`  a: { type: exclusiveGateway, next: [${way}] }\n  done: { type: endEvent }`), []);
  t.strictSame(left('  a: { type: ifElse, condition: "${a}", then: a }'), [], 'without `else` its token ends');
  t.match(left('  a: { type: ifElse, condition: "${a}", then: a, else: a }'), [{ message: /^`a` leads round/ }]);
  t.strictSame(left('  a: { type: scriptTask, script: 1, next: a, errorFlow: b }\n  b: { type: task }'), []);
  t.strictSame(
    left('  a: { type: scriptTask, script: 1, next: a }\n  b: { type: boundaryEvent, attachedTo: a, error: X }'),
    [],
    'a boundary event leads out',
  );
  t.match(
    left('  a: { type: task, next: [b, c] }\n  b: { type: task, next: b }\n  c: { type: task, next: c }'),
    [{ path: 'nodes.b' }, { path: 'nodes.c' }],
    'each by itself; what only leads there is not to blame',
  );
  t.match(
    left('  a: { type: task }\n  b: { type: task, next: b }'),
    [{ code: 'UNREACHABLE' }],
    'one warning is enough',
  );
  t.match(
    left('  a: { type: loopNode, times: 2, nodes: { s: { type: startEvent, next: b }, b: { type: task, next: b } } }'),
    [{ code: 'ENDLESS', path: 'nodes.a.nodes.b' }],
  );
  const inside = (keys: string, more = '') =>
    left(
      `  a: { type: subProcess, ${keys} nodes: { l: { type: loopNode, condition: "\${true}", nodes: { b: { type: task, next: c }, c: { type: task, next: c } } } } }${more}`,
    );
  t.match(inside(''), [{ path: 'nodes.a.nodes.l.condition' }, { path: 'nodes.a.nodes.l.nodes.c' }]);
  t.strictSame(inside('timeout: PT1H,'), [], 'what is around it ends it');
  t.strictSame(inside('', '\n  d: { type: boundaryEvent, attachedTo: a, message: stop }'), []);
  t.strictSame(
    left(
      '  a: { type: task, next: [b, c] }\n  b: { type: task, next: b }\n  c: { type: userTask, next: d }\n  d: { type: endEvent, terminate: true }',
    ),
    [],
    'another token ends all',
  );
});

t.test('a loop whose condition is always true', async (t) => {
  const loop = (keys: string, body = 'a: { type: task }', more = '') =>
    warnings(
      nodeOf(`type: loopNode, ${keys}, nodes: { ${body} } }${more && `\n  b: { ${more} }`}`.replace(/ \}$/, '')),
    );
  t.match(loop('condition: "${true}"'), [{ code: 'ENDLESS', path: 'nodes.it.condition' }]);
  t.match(loop('condition: "${1 < 2}"'), [{ code: 'ENDLESS' }]);
  t.strictSame(loop('condition: "${false}"'), []);
  t.strictSame(loop('condition: "${loop.index < 3}"'), []);
  t.strictSame(loop('condition: "${true}", timeout: PT1H'), []);
  t.strictSame(loop('condition: "${true}", errorFlow: done'), []);
  t.strictSame(loop('condition: "${true}"', 'a: { type: endEvent, error: ENOUGH }'), [], 'the body throws');
  t.strictSame(
    loop('condition: "${true}"', 'a: { type: task }', 'type: boundaryEvent, attachedTo: it, timer: PT1H'),
    [],
  );
});

t.test('warnings alone do not keep a flow from compiling', async (t) => {
  const { flow, problems } = compile(nodeOf('type: inputNode, inputType: textbox'));
  t.ok(flow);
  t.ok(problems.length > 0 && problems.every(({ severity }) => severity === 'warning'));
});

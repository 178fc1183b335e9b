import t from 'tap';
import { World } from './engine.ts';

const catching = (keys: string) => `
start: { type: startEvent, next: catch }
catch: { type: intermediateCatchEvent, ${keys}, next: after }
after: { type: userTask }`;

t.test('12: a message is matched by name and correlation key', async (t) => {
  const world = new World();
  const run = world.start(catching('message: paid, correlationKey: "{order.id}"'), { data: { order: { id: 7 } } });
  t.match(run.activation('catch').subscriptions, [
    { purpose: 'catch', kind: 'message', name: 'paid', correlationKey: '7' },
  ]);
  t.strictSame(run.nodes.slice(1), ['catch Waiting']);
  t.strictSame(world.message('paid', '8'), []);
  t.strictSame(world.message('shipped', '7'), []);
  t.strictSame(world.signal('paid'), [], 'a signal is no message');
  t.strictSame(world.message('paid', '7'), [run]);
  t.strictSame(run.active, ['after']);
  t.strictSame(world.message('paid', '7'), [], 'it takes one message');
});

t.test('12: name and key are resolved when the catch is entered, and not again', async (t) => {
  const world = new World();
  const run = world.start(
    `
start: { type: startEvent, next: [catch, change] }
catch: { type: intermediateCatchEvent, message: "{name}", correlationKey: "{key}", next: after }
change: { type: setVariable, set: { name: other, key: other } }
after: { type: userTask }`,
    { data: { name: 'paid', key: 'k' } },
  );
  t.match(run.variables, { name: 'other', key: 'other' });
  t.strictSame(world.message('other', 'other'), []);
  t.strictSame(world.message('paid', 'k'), [run]);
});

t.test('12: a message goes to one waiting subscription, the oldest', async (t) => {
  const world = new World();
  const flow = catching('message: paid, correlationKey: k');
  const first = world.start(flow);
  const second = world.start(flow);
  t.strictSame(world.message('paid', 'k'), [first]);
  t.strictSame(second.active, ['catch']);
  t.strictSame(world.message('paid', 'k'), [second]);
});

t.test("12: a catch without a key of its own takes the instance's", async (t) => {
  const world = new World();
  const flow = catching('message: paid');
  const mine = world.start(flow, { correlationKey: 'mine' });
  const none = world.start(flow);
  t.strictSame(world.message('paid', 'mine'), [mine]);
  t.strictSame(world.message('paid'), [none], 'an instance without one waits for the empty key');
});

t.test('12: a message that a node throws goes to one instance, with its data', async (t) => {
  const world = new World();
  const waiting = world.start(catching('message: "paid", correlationKey: A1'));
  const throwing = world.start(
    `
start: { type: startEvent, next: throw }
throw: { type: intermediateThrowEvent, message: "{what}", correlationKey: "{order}", data: { by: "{who}", sum: 3 } }`,
    { data: { what: 'paid', order: 'A1', who: 'Ada' } },
  );
  t.equal(throwing.outcome, 'Completed');
  t.strictSame(waiting.variables, { by: 'Ada', sum: 3 });
  t.strictSame(waiting.active, ['after']);
});

t.test("12: a throw without a key takes its instance's", async (t) => {
  const world = new World();
  const waiting = world.start(catching('message: paid, correlationKey: A1'));
  world.start('start: { type: startEvent, next: throw }\nthrow: { type: intermediateThrowEvent, message: paid }', {
    correlationKey: 'A1',
  });
  t.strictSame(waiting.active, ['after']);
});

t.test('a message that nothing waits for is thrown all the same', async (t) => {
  const run = new World().start(
    'start: { type: startEvent, next: throw }\nthrow: { type: intermediateThrowEvent, message: m }',
  );
  t.equal(run.outcome, 'Completed');
});

t.test('13: a signal goes to every subscription that waits for its name, whatever the key', async (t) => {
  const world = new World();
  const flow = catching('signal: alarm');
  const one = world.start(flow, { correlationKey: 'x' });
  const two = world.start(flow);
  const other = world.start(catching('signal: all-clear'));
  const message = world.start(catching('message: alarm'));
  world.start(`
start: { type: startEvent, next: throw }
throw: { type: intermediateThrowEvent, signal: alarm, data: { level: 3 } }`);
  t.strictSame(
    [one, two].map((run) => [run.active, run.variables]),
    [
      [['after'], { level: 3 }],
      [['after'], { level: 3 }],
    ],
  );
  t.strictSame([other.active, message.active], [['catch'], ['catch']]);
  t.strictSame(world.start(flow).active, ['catch'], 'a signal is not kept');
});

t.test('13: a signal reaches the instance that throws it', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: [catch, throw] }
catch: { type: intermediateCatchEvent, signal: now, next: after }
throw: { type: intermediateThrowEvent, signal: now }
after: { type: task }`);
  t.equal(run.outcome, 'Completed');
  t.ok(run.nodes.includes('after Completed'));
});

for (const kind of ['signal', 'message']) {
  t.test(`12, 13: a ${kind} does not reach what its own instance begins to wait for afterwards`, async (t) => {
    const run = new World().start(`
start: { type: startEvent, next: throw }
throw: { type: intermediateThrowEvent, ${kind}: now, next: catch }
catch: { type: intermediateCatchEvent, ${kind}: now }`);
    t.strictSame(run.active, ['catch']);
  });
}

t.test('13: one signal to several catches of one instance', async (t) => {
  const world = new World();
  const run = world.start(`
start: { type: startEvent, next: [a, b, work] }
a: { type: intermediateCatchEvent, signal: now }
b: { type: intermediateCatchEvent, signal: now }
work: { type: userTask }
edge: { type: boundaryEvent, attachedTo: work, signal: now, next: after }
after: { type: task }`);
  world.signal('now');
  t.equal(run.outcome, 'Completed');
});

t.test('13: the first taker of a signal may end the others', async (t) => {
  const world = new World();
  const run = world.start(`
start: { type: startEvent, next: [a, b] }
a: { type: intermediateCatchEvent, signal: now, next: end }
b: { type: intermediateCatchEvent, signal: now }
end: { type: endEvent, terminate: true }`);
  world.signal('now');
  t.strictSame(run.nodes, ['start Completed', 'a Completed', 'b Cancelled', 'end Completed']);
  t.equal(run.outcome, 'Completed');
});

t.test('15: the data of an event that a catch takes becomes variables, and its `result`', async (t) => {
  const world = new World();
  const run = world.start(catching('message: paid, result: payment.last'), { data: { sum: 1, kept: true } });
  world.message('paid', '', { sum: 5, note: null });
  t.strictSame(run.variables, { sum: 5, kept: true, note: null, payment: { last: { sum: 5, note: null } } });
});

t.test('a catch may time out', async (t) => {
  const world = new World();
  const run = world.start(`
start: { type: startEvent, next: catch }
catch: { type: intermediateCatchEvent, message: m, timeout: PT1H, timeoutFlow: late, next: after }
late: { type: task }
after: { type: task }`);
  world.advance('PT1H');
  t.strictSame(run.nodes, ['start Completed', 'catch TimedOut', 'late Completed']);
  t.strictSame(world.message('m'), []);
});

t.test('names and keys with any characters are told apart', async (t) => {
  const world = new World();
  const flow = catching('message: "{m}", correlationKey: "{k}"');
  const names = ['', ':', '__proto__', 'a:b', '\u0000', '💥', ' x '];
  const runs = names.map((name) => world.start(flow, { data: { m: `m${name}`, k: name } }));
  for (const [index, name] of names.entries()) t.strictSame(world.message(`m${name}`, name), [runs[index]]);
});

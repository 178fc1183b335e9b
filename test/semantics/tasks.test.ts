import t from 'tap';
import type { JsonObject } from '../../src/engine/index.ts';
import { BEGINNING, World } from './engine.ts';

const asking = (keys: string) => `
start: { type: startEvent, next: ask }
ask: { type: inputNode, ${keys}, next: after }
after: { type: task }`;

/** [inputType and keys, submitted, what {inputValue} becomes] */
const accepted: readonly (readonly [string, JsonObject['x'], JsonObject['x']])[] = [
  ['textbox', 'a', 'a'],
  ['textarea', 'a\nb', 'a\nb'],
  ['number', 5, 5],
  ['number', '5.5', 5.5],
  ['date', '2026-02-28', '2026-02-28'],
  ['select, options: [a, b]', 'b', 'b'],
  ['select, options: [1, 2]', '2', 2],
  ['select, options: [{ value: 1, label: One }]', 1, 1],
  ['checkbox, options: [a, b]', ['b', 'a'], ['b', 'a']],
  ['checkbox, options: [a, b], required: false', [], []],
  ['radio, options: [yes please, no thanks]', 'no thanks', 'no thanks'],
  ['radio, options: "{offers}"', 'x', 'x'],
  ['file', 'file-1', 'file-1'],
  ['file', { id: 'file-1', name: 'a.txt' }, { id: 'file-1', name: 'a.txt' }],
];

for (const [type, given, value] of accepted) {
  t.test(`an Input Node of inputType ${type} takes ${JSON.stringify(given)}`, async (t) => {
    const run = new World().start(asking(`inputType: ${type}`), { data: { offers: ['x', 'y'] } });
    t.strictSame(run.nodes, ['start Completed', 'ask Waiting']);
    t.equal(run.state.stateCd, 0);
    t.equal(run.complete('ask', { inputValue: given, note: 'more' }), undefined);
    t.match(run.variables, { inputValue: value, inputNodeAction: 'COMPLETE', note: 'more' });
    t.strictSame(run.nodes, ['start Completed', 'ask Completed', 'after Completed']);
  });
}

const refused: readonly (readonly [string, JsonObject])[] = [
  ['textbox', {}],
  ['textbox', { inputValue: 5 }],
  ['textarea', { inputValue: '' }],
  ['number', { inputValue: 'five' }],
  ['date', { inputValue: '2026-02-30' }],
  ['select, options: [a, b]', { inputValue: 'c' }],
  ['checkbox, options: [a, b]', { inputValue: ['c'] }],
  ['checkbox, options: [a, b]', { inputValue: 'a' }],
  ['radio, options: [a, b]', { inputValue: null }],
  ['file', { inputValue: {} }],
  ['form, fields: [{ name: n, type: number, required: true }]', { formData: { n: 'x' } }],
];

for (const [type, data] of refused) {
  t.test(`an Input Node of inputType ${type} refuses ${JSON.stringify(data)}, and goes on waiting`, async (t) => {
    const run = new World().start(asking(`inputType: ${type}`));
    const events = run.events.length;
    t.match(run.complete('ask', data), { code: 'VALIDATION_ERROR', details: [{ path: /^data\./ }] });
    t.equal(run.events.length, events, 'a refusal leaves nothing behind');
    t.strictSame(run.active, ['ask']);
  });
}

t.test('an Input Node of inputType form sets {formData}, and every key becomes a variable', async (t) => {
  const fields =
    'fields: [{ name: amount, type: number }, { name: why, type: textbox, required: false }, { name: who, type: select, options: "{people}" }]';
  const start = () => new World().start(asking(`inputType: form, ${fields}`), { data: { people: ['Ada', 'Bob'] } });
  const nested = start();
  nested.complete('ask', { formData: { amount: '5', who: 'Ada' } });
  t.match(nested.variables, { formData: { amount: 5, who: 'Ada', why: null }, inputNodeAction: 'COMPLETE' });
  const flat = start();
  flat.complete('ask', { amount: 5, who: 'Bob' });
  t.match(flat.variables, { formData: { amount: 5, who: 'Bob' }, amount: 5, who: 'Bob' });
  t.match(start().complete('ask', { formData: { amount: 1, who: 'Eve' } }), {
    details: [{ path: 'data.formData.who' }],
  });
});

t.test('the form is resolved when the node is entered, and is what submitted data is checked against', async (t) => {
  const run = new World().start(
    `
start: { type: startEvent, next: [ask, change] }
ask: { type: inputNode, formTitle: "Which, {name}?", inputType: select, options: "{offers}", default: "{offers.0}", next: after }
change: { type: setVariable, set: { offers: [z], name: Bob } }
after: { type: task }`,
    { data: { offers: ['x', 'y'], name: 'Ada' } },
  );
  t.strictSame(JSON.parse(JSON.stringify(run.activation('ask').task)), {
    form: {
      title: 'Which, Ada?',
      inputType: 'select',
      required: true,
      options: [
        { value: 'x', label: 'x' },
        { value: 'y', label: 'y' },
      ],
      default: 'x',
    },
  });
  t.match(run.complete('ask', { inputValue: 'z' }), { code: 'VALIDATION_ERROR' });
  run.complete('ask', { inputValue: 'y' });
  t.equal(run.variables['inputValue'], 'y');
});

t.test('a form that can not be made is the error FORM_INVALID', async (t) => {
  for (const offers of ['text', 5, [[1]], [{ label: 'no value' }], [null]]) {
    const run = new World().start(asking('inputType: select, options: "{offers}"'), { data: { offers } });
    t.equal(run.outcome, 'Failed FORM_INVALID at ask', JSON.stringify(offers));
  }
  const caught = new World().start(asking('inputType: select, options: "{nobody}", errorFlow: after'));
  t.equal(caught.outcome, 'Completed');
});

t.test('CANCEL: the node is cancelled, and the token leaves by errorFlow', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: ask }
ask: { type: inputNode, inputType: number, next: after, errorFlow: other }
after: { type: task }
other: { type: task }`);
  t.equal(run.cancelTask('ask', { why: 'no time', inputValue: 'not a number' }), undefined);
  t.strictSame(run.nodes, ['start Completed', 'ask Cancelled', 'other Completed']);
  t.strictSame(run.variables, { inputNodeAction: 'CANCEL', why: 'no time', inputValue: 'not a number' });
});

t.test('CANCEL: with no errorFlow the token leaves by next, and the instance goes on', async (t) => {
  const run = new World().start(asking('inputType: textbox'));
  run.cancelTask('ask');
  t.strictSame(run.nodes, ['start Completed', 'ask Cancelled', 'after Completed']);
  t.equal(run.outcome, 'Completed');
  const last = new World().start('start: { type: startEvent, next: ask }\nask: { type: userTask }');
  last.cancelTask('ask');
  t.equal(last.outcome, 'Completed', 'with neither the token ends');
});

t.test('CANCEL is no error: no boundary event catches it', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: ask }
ask: { type: inputNode, inputType: number, next: after }
edge: { type: boundaryEvent, attachedTo: ask, error: "*", next: other }
after: { type: task }
other: { type: task }`);
  run.cancelTask('ask');
  t.equal(run.nodes.at(-1), 'after Completed');
});

t.test('a timeout that passes: TimedOut, and the token leaves by timeoutFlow', async (t) => {
  const world = new World();
  const run = world.start(
    `
start: { type: startEvent, next: ask }
ask: { type: inputNode, inputType: number, timeout: "{limit}", next: after, timeoutFlow: late, errorFlow: other }
after: { type: task }
late: { type: task }
other: { type: task }`,
    { data: { limit: 'PT2H' } },
  );
  t.equal(run.activation('ask').timers[0]?.due, BEGINNING + 7200_000);
  world.advance('PT2H');
  t.strictSame(run.nodes, ['start Completed', 'ask TimedOut', 'late Completed']);
  t.match(run.complete('ask', { inputValue: 1 }), { code: 'TASK_NOT_WAITING' });
});

t.test('a timeout with no timeoutFlow is the error TIMEOUT', async (t) => {
  const flow = (keys: string, more = '') => `
start: { type: startEvent, next: ask }
ask: { type: userTask, timeout: PT2H, ${keys} next: after }
after: { type: task }
other: { type: task }
${more}`;
  const after = (nodes: string) => {
    const world = new World();
    const run = world.start(nodes);
    world.advance('PT2H');
    return run;
  };
  const uncaught = after(flow(''));
  t.equal(uncaught.outcome, 'Failed TIMEOUT at ask');
  t.strictSame(uncaught.nodes, ['start Completed', 'ask TimedOut']);
  t.strictSame(after(flow('errorFlow: other,')).nodes.slice(1), ['ask TimedOut', 'other Completed']);
  t.match(after(flow('errorFlow: other,')).variables, { error: { code: 'TIMEOUT', nodeId: 'ask' } });
  const edge = 'edge: { type: boundaryEvent, attachedTo: ask, error: TIMEOUT, next: other }';
  t.strictSame(after(flow('', edge)).nodes.slice(1), ['ask TimedOut', 'edge Completed', 'other Completed']);
});

t.test('a User Task: title, assignee, candidates, dueIn, and its own form', async (t) => {
  const run = new World().start(
    `
start: { type: startEvent, next: ask }
ask:
  type: userTask
  title: "Check {id}"
  assignee: "{who}"
  candidates: ["{who}", bob]
  dueIn: PT1H
  form: { fields: [{ name: ok, type: radio, options: [yes please, no], required: true }] }`,
    { data: { id: 7, who: 'ada' } },
  );
  t.match(run.activation('ask').task, {
    form: { title: 'Check 7', inputType: 'form', fields: [{ name: 'ok', type: 'radio', required: true }] },
    assignee: 'ada',
    candidates: ['ada', 'bob'],
    dueAt: BEGINNING + 3600_000,
  });
  t.strictSame(run.activation('ask').timers, [], 'dueIn is only shown');
  t.match(run.complete('ask', {}), { code: 'VALIDATION_ERROR' });
  run.complete('ask', { ok: 'no' });
  t.match(run.variables, { ok: 'no', formData: { ok: 'no' } });
});

t.test('a User Task without a form takes any data', async (t) => {
  const run = new World().start('start: { type: startEvent, next: ask }\nask: { type: userTask, name: Do it }');
  t.match(run.activation('ask').task, { form: { title: 'Do it' } });
  run.complete('ask', { decision: 'go', deep: { a: [1] } });
  t.match(run.variables, { decision: 'go', deep: { a: [1] }, inputNodeAction: 'COMPLETE' });
});

t.test('9: the second submission finds nothing, and a wrong node is told apart', async (t) => {
  const run = new World().start(asking('inputType: textbox'));
  t.match(run.complete('start'), { code: 'TASK_NOT_WAITING' });
  t.match(run.complete('nobody'), { code: 'NODE_NOT_FOUND' });
  t.match(run.complete('__proto__'), { code: 'NODE_NOT_FOUND' });
  run.complete('ask', { inputValue: 'a' });
  t.match(run.complete('ask', { inputValue: 'b' }), { code: 'TASK_NOT_WAITING' });
  t.match(run.cancelTask('ask'), { code: 'TASK_NOT_WAITING' });
  t.equal(run.variables['inputValue'], 'a');
});

t.test('of several that wait at one node, the oldest takes the submission', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: each }
each:
  type: loopNode
  items: [a, b]
  concurrency: 2
  nodes: { ask: { type: inputNode, inputType: textbox, formTitle: "{loop.item}" } }
  result: all`);
  run.complete('ask', { inputValue: 1 as never });
  run.complete('ask', { inputValue: 'first' });
  run.complete('ask', { inputValue: 'second' });
  t.match(run.variables['all'], [{ inputValue: 'first' }, { inputValue: 'second' }]);
});

t.test('submitted keys are ordinary names, whatever they are', async (t) => {
  const run = new World().start(asking('inputType: textbox'));
  run.complete('ask', JSON.parse('{"inputValue":"a","__proto__":{"polluted":1},"constructor":2,"":3}'));
  t.equal(({} as { polluted?: number }).polluted, undefined);
  t.ok(Object.hasOwn(run.state.variables, '__proto__'));
  t.match(run.variables, { constructor: 2, '': 3 });
});

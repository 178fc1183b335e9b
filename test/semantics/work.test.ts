import t from 'tap';
import { pending, prepareWork, workKind } from '../../src/engine/index.ts';
import { BEGINNING, World } from './engine.ts';

const working = (keys = '') => `
start: { type: startEvent, next: work }
work: { type: domainTask, handler: it, input: { x: "{x}" }, result: got, ${keys} next: after }
after: { type: task }
other: { type: task }`;

t.test('21: a node that does outside work is entered, and waits for its result', async (t) => {
  const run = new World().start(working(), { data: { x: 5 } });
  t.match(run.activation('work'), { phase: 'working', attempt: 1 });
  t.strictSame(run.nodes, ['start Completed', 'work Running']);
  const [entry] = pending(undefined, run.state).changed;
  t.match(entry, { work: true, activation: { node: 'work' } });
  t.equal(workKind(run.flow, run.state, 2), 'domain');
  t.strictSame(JSON.parse(JSON.stringify(prepareWork(run.flow, run.state, 2, () => undefined).input)), {
    handler: 'it',
    input: { x: 5 },
  });
  run.finish('work', { y: 1 }, [{ level: 'WARN', message: 'odd' }]);
  t.match(run.variables, { got: { y: 1 } });
  t.strictSame(run.logged('WARN'), ['work: odd']);
  t.equal(run.outcome, 'Completed');
});

t.test('work that fails is tried again while its retry policy allows, each wait longer', async (t) => {
  const world = new World();
  const run = world.start(working('retry: { attempts: 4, backoff: PT1S, factor: 3, maxBackoff: PT5S },'));
  for (const [attempt, wait] of [
    [1, 1000],
    [2, 3000],
    [3, 5000],
  ] as const) {
    run.fail('work', 'BROKEN', 'it broke');
    t.match(run.activation('work'), {
      phase: 'retrying',
      attempt,
      timers: [{ purpose: 'retry', due: world.at + wait }],
    });
    world.advance(wait - 1);
    t.equal(run.activation('work').phase, 'retrying');
    const before = run.state;
    world.advance(1);
    t.match(run.activation('work'), { phase: 'working', attempt: attempt + 1, timers: [] });
    t.equal(pending(before, run.state).changed[0]?.work, true);
  }
  run.fail('work');
  t.equal(run.outcome, 'Failed BROKEN at work');
  t.equal(run.view.nodes[1]?.attempt, 4);
  t.equal(run.logged('WARN').length, 3);
});

t.test('work that succeeds at a later attempt', async (t) => {
  const world = new World();
  const run = world.start(working('retry: { attempts: 2, backoff: PT1S },'));
  run.fail('work');
  world.advance('PT1S');
  run.finish('work', 'ok');
  t.match(run.variables, { got: 'ok' });
  t.notOk('error' in run.variables);
  t.strictSame(run.nodes.slice(1), ['work Completed', 'after Completed']);
});

t.test('with a retry policy each attempt gets a timeout of its own', async (t) => {
  const world = new World();
  const run = world.start(working('timeout: PT10S, retry: { attempts: 2, backoff: PT1M }, timeoutFlow: other,'));
  world.advance('PT10S');
  t.match(run.activation('work'), { phase: 'retrying', timers: [{ purpose: 'retry', due: BEGINNING + 70_000 }] });
  t.equal(
    run.events.filter(({ type }) => type === 'timerLapsed').length,
    1,
    'the timer that fired is gone with the attempt',
  );
  world.advance('PT1M');
  t.match(run.activation('work').timers, [{ purpose: 'timeout', due: BEGINNING + 80_000 }]);
  world.advance('PT10S');
  t.strictSame(run.nodes.slice(1), ['work TimedOut', 'other Completed']);
});

t.test('an attempt that fails withdraws its timeout', async (t) => {
  const world = new World();
  const run = world.start(working('timeout: PT10S, retry: { attempts: 2, backoff: PT1M },'));
  world.advance('PT5S');
  run.fail('work');
  t.strictSame(
    run.activation('work').timers.map(({ purpose }) => purpose),
    ['retry'],
  );
  world.advance('PT1H');
  t.equal(run.outcome, 'Failed TIMEOUT at work', 'the second attempt timed out by itself');
});

t.test('a boundary timer runs on over the attempts', async (t) => {
  const world = new World();
  const run = world.start(`
start: { type: startEvent, next: work }
work: { type: domainTask, handler: it, retry: { attempts: 100, backoff: PT1M, factor: 1 }, next: after }
late: { type: boundaryEvent, attachedTo: work, timer: PT2M30S, next: other }
after: { type: task }
other: { type: task }`);
  for (let left = 3; left > 0; left -= 1) {
    run.fail('work');
    world.advance('PT1M');
  }
  t.strictSame(run.nodes.slice(1), ['work Cancelled', 'late Completed', 'other Completed']);
});

t.test('9: what comes late from an attempt that is over lapses', async (t) => {
  const world = new World();
  const run = world.start(working('timeout: PT10S, retry: { attempts: 2, backoff: PT1S },'));
  world.advance('PT10S');
  const late = { type: 'finishWork', n: 2, attempt: 1, outcome: { ok: true, value: 'late', logs: [] } } as const;
  const events = run.events.length;
  t.equal(run.command(late), undefined);
  t.equal(run.events.length, events, 'while it waits for the next attempt');
  world.advance('PT1S');
  run.command(late);
  t.equal(run.activation('work').phase, 'working', 'while the next attempt is under way');
  run.finish('work', 'in time');
  run.command(late);
  run.command({ ...late, attempt: 2 });
  t.equal(run.variables['got'], 'in time');
});

t.test('a retry timer that comes twice starts one attempt', async (t) => {
  const world = new World();
  const run = world.start(working('retry: { attempts: 3, backoff: PT1S },'));
  run.fail('work');
  const due = run.activation('work').timers[0]?.due as number;
  world.advance('PT1S');
  run.command({ type: 'fireTimer', n: 2, purpose: 'retry', due });
  t.match(run.activation('work'), { phase: 'working', attempt: 2 });
});

t.test('22: work that was under way when the daemon died is tried again, and the log says so', async (t) => {
  const run = new World().start(working());
  run.command({ type: 'resumeWork', n: 2, attempt: 1 });
  t.match(run.logged('WARN'), [/^work: .*tried again/]);
  t.match(run.activation('work'), { phase: 'working', attempt: 1 }, 'the same attempt, with the same idempotency key');
  t.equal(pending(undefined, run.state).changed[0]?.work, true);
  run.command({ type: 'resumeWork', n: 2, attempt: 2 });
  run.command({ type: 'resumeWork', n: 9, attempt: 1 });
  t.equal(run.logged('WARN').length, 1, 'not for work that is not under way');
  run.finish('work', 'ok');
  t.equal(run.outcome, 'Completed');
});

t.test('23: what a cancelled node did is among what is gone', async (t) => {
  const world = new World();
  const run = world.start(`
start: { type: startEvent, next: work }
work: { type: domainTask, handler: it }
late: { type: boundaryEvent, attachedTo: work, timer: PT1M, next: other }
other: { type: userTask }`);
  const before = run.state;
  world.advance('PT1M');
  t.match(pending(before, run.state).gone, [{ n: 2, node: 'work', phase: 'working' }]);
  const events = run.events.length;
  run.command({ type: 'finishWork', n: 2, attempt: 1, outcome: { ok: true, value: 1, logs: [] } });
  t.equal(run.events.length, events, 'what it gives afterwards lapses');
});

t.test('an environment value resolves in what the engine does, a secret only where work is done', async (t) => {
  const world = new World();
  world.env['URL'] = 'http://here';
  world.env['TOKEN'] = '***';
  const run = world.start(`
start: { type: startEvent, next: set }
set: { type: setVariable, set: { url: "{env.URL}", token: "Bearer {env.TOKEN}", none: "{env.NONE}" }, next: work }
work: { type: domainTask, handler: it, input: "{env.TOKEN}" }`);
  t.strictSame(run.variables, { url: 'http://here', token: 'Bearer ***', none: '{env.NONE}' });
  t.match(run.logged('WARN'), [/^set: \{env\.TOKEN\} .*\*\*\*/, 'set: {env.NONE} has no value; it stays as text']);
  const { input, warnings } = prepareWork(run.flow, run.state, 3, (name) => (name === 'TOKEN' ? 'secret' : undefined));
  t.match(input, { input: 'secret' });
  t.strictSame(warnings, []);
});

t.test('text that a reference brings in is never resolved again', async (t) => {
  const run = new World().start(
    'start: { type: startEvent, next: set }\nset: { type: setVariable, set: { a: "{given}", b: "<{given}>" }, next: two }\ntwo: { type: setVariable, set: { c: "{a}" } }',
    { data: { given: '{env.SECRET} {given}' } },
  );
  t.match(run.variables, { a: '{env.SECRET} {given}', b: '<{env.SECRET} {given}>', c: '{env.SECRET} {given}' });
  t.strictSame(run.logged('WARN'), []);
});

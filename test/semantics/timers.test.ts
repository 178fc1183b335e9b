import t from 'tap';
import { BEGINNING, World } from './engine.ts';

const HOUR = 3600_000;
const waiting = (timer: string) => `
start: { type: startEvent, next: wait }
wait: { type: intermediateCatchEvent, timer: "${timer}", next: after }
after: { type: task }`;

t.test('16: the due time is absolute, and is in the state', async (t) => {
  const due = (timer: string, data = {}) =>
    new World()
      .start(waiting(timer), { data })
      .activation('wait')
      .timers.map((one) => one.due - BEGINNING);
  t.strictSame(due('PT2H'), [2 * HOUR]);
  t.strictSame(due('P1DT30M'), [24.5 * HOUR]);
  t.strictSame(due('2026-01-01T06:00:00Z'), [6 * HOUR]);
  t.strictSame(due('2026-01-01T06:00:00+02:00'), [4 * HOUR]);
  t.strictSame(due('30 4 * * *'), [4.5 * HOUR]);
  t.strictSame(due('{hours}', { hours: 'PT3H' }), [3 * HOUR]);
  t.strictSame(due('PT{n}M', { n: 90 }), [1.5 * HOUR]);
});

t.test('16: never early', async (t) => {
  const world = new World();
  const run = world.start(waiting('PT1H'));
  world.at += HOUR - 1;
  run.command({ type: 'fireTimer', n: 2, purpose: 'catch', due: BEGINNING + HOUR });
  t.strictSame(run.active, ['wait']);
  world.at += 1;
  run.command({ type: 'fireTimer', n: 2, purpose: 'catch', due: BEGINNING + HOUR - 1 });
  t.strictSame(run.active, ['wait'], 'not by a due time that is not armed');
  run.command({ type: 'fireTimer', n: 2, purpose: 'catch', due: BEGINNING + HOUR });
  t.equal(run.outcome, 'Completed');
  t.strictSame(run.nodes.slice(1), ['wait Completed', 'after Completed']);
});

t.test('16: zero, negative or past is at once', async (t) => {
  for (const timer of ['PT0S', '-PT5M', 'P0D', '2020-02-02T00:00:00Z']) {
    const world = new World();
    const run = world.start(waiting(timer));
    t.equal(run.activation('wait').timers[0]?.due, BEGINNING, timer);
    world.advance(0);
    t.equal(run.outcome, 'Completed', timer);
  }
});

t.test('16: a timer that is overdue fires once, at once', async (t) => {
  const world = new World();
  const run = world.start(waiting('0 * * * *'));
  const [timer] = run.activation('wait').timers;
  world.at += 10 * HOUR;
  for (let times = 0; times < 3; times += 1) {
    run.command({ type: 'fireTimer', n: 2, purpose: 'catch', due: timer?.due as number });
  }
  t.strictSame(run.nodes.slice(1), ['wait Completed', 'after Completed']);
});

t.test('a timer that resolves to nonsense is the error TIMER_INVALID', async (t) => {
  for (const when of ['soon', '', '99 * * * *', 'P', '0 0 31 2 *']) {
    const run = new World().start(waiting('{when}'), { data: { when } });
    t.equal(run.outcome, 'Failed TIMER_INVALID at wait', when);
  }
  const caught = new World().start(waiting('{when}').replace('next: after', 'errorFlow: after'));
  t.equal(caught.outcome, 'Completed');
});

t.test('a timeout that resolves to nonsense fails its node before it does anything', async (t) => {
  const run = new World().start(`
start: { type: startEvent, next: work }
work: { type: domainTask, handler: it, timeout: "{soon}" }`);
  t.equal(run.outcome, 'Failed TIMER_INVALID at work');
  t.notOk(run.events.some(({ type }) => type === 'workStarted'));
});

t.test('a timer as far away as time goes', async (t) => {
  const run = new World().start(waiting('P999999999Y'));
  t.equal(run.activation('wait').timers[0]?.due, 8_640_000_000_000_000);
});

t.test(
  'timers of one node that are due together fire one after the other, and the first may withdraw the rest',
  async (t) => {
    const world = new World();
    const run = world.start(`
start: { type: startEvent, next: work }
work: { type: userTask, timeout: PT1H, timeoutFlow: late }
edge: { type: boundaryEvent, attachedTo: work, timer: PT1H, next: other }
late: { type: task }
other: { type: task }`);
    world.advance('PT1H');
    t.equal(run.outcome, 'Completed');
    t.equal(run.nodes.filter((node) => /late|other/.test(node)).length, 1);
  },
);

import t from 'tap';
import {
  applyAll,
  begin,
  type Command,
  type Context,
  DEFAULT_LIMITS,
  decide,
  LogFold,
  restoreState,
  type State,
  storedState,
} from '../../src/engine/index.ts';
import { compiled, flowOf } from './flows.ts';

const flow = compiled(
  flowOf(
    '  start: { type: startEvent, next: ask }\n  ask: { type: callAgent, goal: tidy, retry: { attempts: 3 }, result: answer, next: done }\n  done: { type: endEvent }',
  ),
);
const context: Context = { at: 1_000, env: () => undefined, limits: DEFAULT_LIMITS };
const START = {
  id: 'i',
  processId: flow.id,
  version: '1',
  path: [],
  organizationId: 'o',
  environment: 'PRODUCTION',
  trigger: {},
  depth: 0,
  data: {},
};

function started(): State {
  const decision = begin(flow, START, context);
  if (!decision.ok) throw new Error(decision.refusal.message);
  return decision.state;
}

function after(state: State, command: Command, limits = DEFAULT_LIMITS) {
  const decision = decide(flow, state, command, { ...context, limits });
  if (!decision.ok) throw new Error(decision.refusal.message);
  return decision;
}

const workOf = (state: State) => [...state.active.values()].find(({ node }) => node === 'ask');
const step = (n: number, text: string, attempt = 1): Command => ({
  type: 'recordProgress',
  n,
  attempt,
  step: text,
  logs: [{ level: 'INFO', message: `did ${text}` }],
});

t.test('finished steps are kept with the activation, over checkpoints and attempts', async (t) => {
  const n = workOf(started())?.n as number;
  const one = after(started(), step(n, 'one'));
  const two = after(restoreState(storedState(one.state)), step(n, 'two'));
  t.strictSame(workOf(two.state)?.progress, ['one', 'two']);
  t.strictSame(workOf(two.state)?.phase, 'working', 'the work goes on');
  t.strictSame(workOf(applyAll(one.state, two.events, 1_000))?.progress, ['one', 'two'], 'replay gives the same');

  const error = { code: 'AI_UNREACHABLE', message: 'gone' };
  const failed = after(two.state, { type: 'finishWork', n, attempt: 1, outcome: { ok: false, error, logs: [] } });
  const [timer] = workOf(failed.state)?.timers ?? [];
  const due = timer?.due as number;
  const again = decide(flow, failed.state, { type: 'fireTimer', n, purpose: 'retry', due }, { ...context, at: due });
  t.match(again.ok && workOf(again.state), { attempt: 2, phase: 'working', progress: ['one', 'two'] });
});

t.test('the log lines of a step become log entries', async (t) => {
  const decision = begin(flow, START, context);
  const fold = new LogFold(flow);
  const events = decision.ok ? decision.events : [];
  const n = workOf(started())?.n as number;
  const lines = [...events, ...after(started(), step(n, 'one')).events].map((event) => fold.next(event, 1_000));
  t.match(lines.at(-2), { nodeId: 'ask', message: 'did one', level: 'INFO' });
  t.equal(lines.at(-1), undefined, 'the step itself is no entry');
});

t.test('a step of another attempt, or of work that is over, changes nothing', async (t) => {
  const n = workOf(started())?.n as number;
  t.strictSame(after(started(), step(n, 'late', 2)).events, []);
  const done = after(started(), {
    type: 'finishWork',
    n,
    attempt: 1,
    outcome: { ok: true, value: 'tidied', logs: [] },
  });
  t.strictSame(after(done.state, step(n, 'late')).events, []);
});

t.test('steps larger than the limit fail the work', async (t) => {
  const n = workOf(started())?.n as number;
  const limits = { ...DEFAULT_LIMITS, variableBytes: 100 };
  const first = after(started(), step(n, 'x'.repeat(60)), limits);
  const second = after(first.state, step(n, 'x'.repeat(60)), limits);
  t.match(second.events.at(-1), { type: 'workFailed', error: { code: 'PROGRESS_TOO_LARGE' } });
});

t.test('a final error is not tried again', async (t) => {
  const n = workOf(started())?.n as number;
  const error = { code: 'CARD_STOLEN', message: 'no', final: true } as const;
  const failed = after(started(), { type: 'finishWork', n, attempt: 1, outcome: { ok: false, error, logs: [] } });
  t.match(failed.state, { stateCd: 2, error: { code: 'CARD_STOLEN' } });
});

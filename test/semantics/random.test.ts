import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import type { Json } from '../../src/engine/index.ts';
import { flowOf, type Run, World } from './engine.ts';
import { randomNodes } from './random-flow.ts';

const OTHER = '0d2c7a52-4f5e-4c0e-9a57-7f0a1f0f6a01';
const RUNS = Number(process.env['WFX_RANDOM_RUNS'] ?? 700);
const SEED = process.env['WFX_RANDOM_SEED'];

/** A flow that may be started by others, and starts itself in turn: chains of starts meet the limit of depth. */
const other = {
  s: { type: 'startEvent', next: 'o' },
  o: {
    type: 'exclusiveGateway',
    next: [
      { to: 'a', condition: '${c > 2}' },
      { to: 'b', condition: '${c == 2}' },
      { to: 'e', default: true },
    ],
  },
  a: { type: 'userTask', next: 'e' },
  b: { type: 'subProcess', processId: OTHER, data: { c: '{c}' }, next: 'e' },
  e: { type: 'endEvent' },
};

// However many runs are asked for.
t.setTimeout(24 * 3600_000);

type Act = () => void;

/** All that could happen next to an instance, from outside or by time. */
function possible(world: World, run: Run, value: number): Act[] {
  const acts: Act[] = [];
  const given: Json = value % 4;
  for (const { n, node, phase, attempt, task, timers, subscriptions } of run.state.active.values()) {
    if (phase === 'working') {
      const done = (attempt: number) => (): void => {
        run.command({ type: 'finishWork', n, attempt, outcome: { ok: true, value: given, logs: [] } });
      };
      acts.push(done(attempt), done(attempt + 1), () => {
        const error = { code: value % 2 === 0 ? 'BROKEN' : 'NO_STOCK', message: 'it broke' };
        run.command({ type: 'finishWork', n, attempt, outcome: { ok: false, error, logs: [] } });
      });
      acts.push(() => run.command({ type: 'resumeWork', n, attempt }));
    }
    if (task !== undefined) {
      acts.push(
        () => run.complete(node, { inputValue: given, c: given }),
        () => run.complete(node, { inputValue: 'no number' }),
        () => run.cancelTask(node, { c: given }),
      );
    }
    for (const { due } of timers) acts.push(() => world.advance(Math.max(0, due - world.at)));
    for (const { kind, name, correlationKey } of subscriptions) {
      acts.push(() => world.send(kind, name, correlationKey, { c: given }));
    }
  }
  if (value % 7 === 0) acts.push(() => run.cancel());
  return acts;
}

/** Goes through what the numbers pick. The world checks after every command what always holds. */
function play(nodes: object, picks: readonly number[], turn: number): void {
  const world = new World({ steps: 150, turn, depth: 4, variableBytes: 2000 }, 25);
  world.publish(OTHER, other);
  const begun = world.tryStart(flowOf(nodes), { data: { c: picks[0] ?? 0, big: 'x' }, correlationKey: 'k' });
  assert.ok('state' in begun, 'it begins');
  for (const pick of picks) {
    const running = world.runs.filter(({ state }) => state.stateCd === 0);
    const acts = running.flatMap((run) => possible(world, run, pick));
    if (acts.length === 0) break;
    acts[pick % acts.length]?.();
  }
  for (const run of world.runs) if (run.state.stateCd === 0 && run.state.parent === undefined) run.cancel();
  for (const run of world.runs) assert.notEqual(run.outcome, 'Running', 'whatever is left can be cancelled');
  assert.equal(world.waiting, 0, 'no subscription is left');
}

t.test(
  `random flows and random interleavings keep the invariants (${RUNS} runs)`,
  { timeout: 3_600_000 },
  async (t) => {
    const scenario = fc.property(
      randomNodes(OTHER),
      fc.array(fc.nat(10_000), { maxLength: 25 }),
      fc.constantFrom(1, 3, 500),
      (nodes, picks, turn) => {
        play(nodes, picks, turn);
      },
    );
    const result = fc.check(scenario, { numRuns: RUNS, ...(SEED && { seed: Number(SEED) }) });
    if (result.failed) t.fail(`${fc.defaultReportMessage(result)}\nagain: WFX_RANDOM_SEED=${result.seed}`);
    t.notOk(result.failed);
  },
);

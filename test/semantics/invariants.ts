import assert from 'node:assert/strict';
import type { Activation, State } from '../../src/engine/index.ts';
import { jsonSize } from '../../src/engine/json.ts';

/** The status of a node never goes back: what ended stays as it ended, what waits does not run again. */
export function checkProgress(before: readonly number[], after: readonly number[]): void {
  assert.ok(after.length >= before.length, 'no node is forgotten');
  for (const [index, was] of before.entries()) {
    const is = after[index] as number;
    assert.ok(was >= 2 ? is === was : is >= was, `node number ${index + 1} went from status ${was} to ${is}`);
  }
}

/** An ended instance holds nothing any more. */
export function checkEnded(state: State): void {
  assert.deepEqual([...state.active.values()], [], 'an ended instance has nothing active');
  assert.deepEqual([...state.joins], [], 'an ended instance has no tokens at joins');
  assert.deepEqual(state.ready, [], 'an ended instance has nothing ready');
  assert.deepEqual([...state.scopes.keys()], [0], 'an ended instance has no iterations');
  assert.equal(state.population.get(0) ?? 0, 0, 'nothing is alive in the body of an ended instance');
  assert.equal(typeof state.endTime, 'number');
  assert.equal(state.error !== undefined, state.stateCd === 2, 'a failed instance alone has an error');
}

/** A running instance that came to rest waits on something by which it can go on. */
export function checkRunning(state: State, instance: (id: string) => State | undefined): void {
  assert.ok(state.active.size > 0, 'a running instance has an active node');
  assert.ok(
    [...state.active.values()].some((one) => one.phase !== 'body' || one.timers.length + one.subscriptions.length > 0),
    'a running instance waits on something',
  );
  assert.equal(state.endTime, undefined);
  assert.equal(state.size, jsonSize(state.variables), 'the size is that of the variables');
  assert.equal(state.held, heldBy(state), 'what is held beside the variables is counted');
  for (const activation of state.active.values()) checkActivation(activation, state, instance);
  checkScopes(state);
}

function checkActivation(activation: Activation, state: State, instance: (id: string) => State | undefined): void {
  const { n, node, phase, timers, subscriptions, task, child, loop } = activation;
  const waits = [...timers, ...subscriptions].map(({ purpose }) => purpose);
  assert.equal(new Set(waits).size, waits.length, `${node} waits for each thing once`);
  switch (phase) {
    case 'ready':
      assert.fail(`${node} was never run`);
      break;
    case 'working':
      assert.ok(!waits.includes('retry'), `${node} works and waits for no retry`);
      break;
    case 'retrying':
      assert.ok(waits.includes('retry'), `${node} is tried again some time`);
      assert.ok(!waits.includes('timeout'), `${node} has no timeout between attempts`);
      break;
    case 'waiting':
      assert.ok(task !== undefined || waits.includes('catch'), `${node} waits for something`);
      break;
    case 'child': {
      const its = instance(child ?? '');
      assert.equal(its?.stateCd, 0, `${node} waits for a child that runs`);
      assert.deepEqual([its?.parent?.instanceId, its?.parent?.activation], [state.id, n]);
      break;
    }
    case 'body': {
      const scopes = [...state.scopes.values()].filter(({ owner }) => owner === n);
      assert.ok(scopes.length > 0, `${node} has an iteration that runs`);
      assert.equal(scopes.length, loop?.running, `${node} knows how many iterations run`);
    }
  }
}

function checkScopes(state: State): void {
  for (const { id, owner } of state.scopes.values()) {
    const live = state.population.get(id) ?? 0;
    const active = [...state.active.values()].filter(({ scope }) => scope === id).length;
    const tokens = [...state.joins].filter(([key]) => key.startsWith(`${id}/`));
    const standing = tokens.flatMap(([, byVia]) => [...byVia.values()]).reduce((sum, count) => sum + count, 0);
    assert.equal(live, active + standing, `scope ${id} counts what lives in it`);
    assert.ok(live > 0, `scope ${id} is not over`);
    if (id !== 0) assert.ok(state.active.has(owner as number), `scope ${id} has its loop`);
  }
  for (const { scope } of state.active.values()) assert.ok(state.scopes.has(scope), `there is a scope ${scope}`);
}

function heldBy({ active, scopes }: State): number {
  let held = 0;
  for (const { task, loop, progress, subscriptions } of active.values()) {
    for (const { name, correlationKey } of subscriptions) held += name.length + correlationKey.length;
    for (const part of [...(progress ?? []), ...(task ? [task] : []), ...(loop?.items ? [loop.items] : [])])
      held += jsonSize(part);
    const results = loop?.results?.flat() ?? [];
    for (const result of results) held += jsonSize(result) + 1;
    // Places of iterations that are not over count nothing.
    if (loop?.results !== undefined) held -= (jsonSize(null) + 1) * (results.length - (loop.next - loop.running));
  }
  for (const scope of scopes.values()) held += scope.held;
  return held;
}

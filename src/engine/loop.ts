import { innerBody } from './body.ts';
import type { Body, Node } from './flow.ts';
import type { KeysOf } from './nodes/keys.ts';
import type { Loop } from './state.ts';
import type { Turn } from './turn.ts';

/** Starts what a loop may start now, or leaves it when all its iterations are over (semantics 18). */
export function advance(turn: Turn): void {
  turn.checkHeld();
  const node = turn.node() as Node<KeysOf<'loopNode'>>;
  if (loopOf(turn).count === undefined) advanceWhile(turn, node);
  else advanceCounted(turn, node);
}

const loopOf = (turn: Turn): Loop => turn.activation().loop as Loop;

function advanceWhile(turn: Turn, node: Node<KeysOf<'loopNode'>>): void {
  const { condition } = node.keys;
  const { next } = loopOf(turn);
  if (condition === undefined || !turn.test(condition, { loop: { index: next } })) return finish(turn, node);
  if (next >= node.keys.maxIterations) return exceed(turn, node);
  startIteration(turn, node);
}

function advanceCounted(turn: Turn, node: Node<KeysOf<'loopNode'>>): void {
  const count = loopOf(turn).count as number;
  while (loopOf(turn).next < count && loopOf(turn).running < (node.keys.concurrency ?? 1)) startIteration(turn, node);
  if (loopOf(turn).running === 0) finish(turn, node);
}

function startIteration(turn: Turn, node: Node<KeysOf<'loopNode'>>): void {
  const scope = turn.draft.nextScope;
  const as = node.keys.as;
  turn.emit({ type: 'iterationStarted', n: turn.n, scope, ...(as !== undefined && { as }) });
  turn.start((innerBody(node) as Body).start, scope);
}

function finish(turn: Turn, node: Node<KeysOf<'loopNode'>>): void {
  turn.result(node.keys.result, loopOf(turn).results?.flat() ?? []);
  turn.leave(node.next);
}

export function exceed(turn: Turn, node: Node<KeysOf<'loopNode'>>): never {
  return turn.fail(
    'LOOP_LIMIT',
    `the loop "${node.name}" has more than ${node.keys.maxIterations} iterations, its maxIterations`,
  );
}

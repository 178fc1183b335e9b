import type { Json } from '../json.ts';
import { advance, exceed } from '../loop.ts';
import { defineNode } from '../node.ts';
import type { Turn } from '../turn.ts';
import type { KeysOf } from './keys.ts';

type Keys = KeysOf<'loopNode'>;

export const loopNode = defineNode<Keys>({
  enter(turn, node) {
    const { items, times } = node.keys;
    if (items !== undefined) turn.emit({ type: 'loopStarted', n: turn.n, ...listOf(turn, turn.value(items)) });
    else if (times !== undefined)
      turn.emit({ type: 'loopStarted', n: turn.n, count: countOf(turn, turn.value(times)) });
    else turn.emit({ type: 'loopStarted', n: turn.n });
    const count = turn.activation().loop?.count;
    if (count !== undefined && count > node.keys.maxIterations) exceed(turn, node);
    advance(turn);
  },
});

function listOf(turn: Turn, items: Json): { items: readonly Json[]; count: number } {
  if (!Array.isArray(items)) return turn.fail('LOOP_ITEMS', '`items` of a loop must be a list');
  return { items, count: items.length };
}

function countOf(turn: Turn, times: Json): number {
  const count = typeof times === 'string' && times.trim() !== '' ? Number(times) : times;
  if (typeof count === 'number' && Number.isInteger(count) && count >= 0) return count;
  return turn.fail('LOOP_ITEMS', '`times` of a loop must be a whole number from 0');
}

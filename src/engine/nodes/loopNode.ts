import type { Json } from '../json.ts';
import { advance, exceed } from '../loop.ts';
import { defineNode } from '../node.ts';
import type { Turn } from '../turn.ts';
import type { KeysOf } from './keys.ts';

type Keys = KeysOf<'loopNode'>;

export const loopNode = defineNode<Keys>({
  enter(turn, node) {
    const rounds = roundsOf(turn, node.keys);
    if (rounds.count !== undefined && rounds.count > node.keys.maxIterations) exceed(turn, node);
    turn.emit({ type: 'loopStarted', n: turn.n, ...rounds, ...(node.keys.result && { collects: true }) });
    advance(turn);
  },
});

function roundsOf(turn: Turn, { items, times }: Keys): { items?: readonly Json[]; count?: number } {
  if (items !== undefined) return listOf(turn, turn.value(items));
  return times === undefined ? {} : { count: countOf(turn, turn.value(times)) };
}

function listOf(turn: Turn, items: Json): { items: readonly Json[]; count: number } {
  if (!Array.isArray(items)) return turn.fail('LOOP_ITEMS', '`items` of a loop must be a list');
  return { items, count: items.length };
}

function countOf(turn: Turn, times: Json): number {
  const count = typeof times === 'string' && times.trim() !== '' ? Number(times) : times;
  if (typeof count === 'number' && Number.isInteger(count) && count >= 0) return count;
  return turn.fail('LOOP_ITEMS', '`times` of a loop must be a whole number from 0');
}

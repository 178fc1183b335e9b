import { childFlow } from '../child.ts';
import { defineNode } from '../node.ts';
import type { KeysOf } from './keys.ts';

/** The parent waits for a child instance (semantics 17, 19). */
export const subProcess = defineNode<KeysOf<'subProcess'>>({
  enter(turn, node) {
    const data = node.keys.data === undefined ? {} : turn.values(node.keys.data);
    const { processId } = node.keys;
    const child = processId === undefined ? {} : { processId: childFlow(turn, processId) };
    turn.owe({ kind: 'startChild', n: turn.n, ...child, data });
  },
});

import { childFlow } from '../child.ts';
import { defineNode } from '../node.ts';
import type { KeysOf } from './keys.ts';

/** Starts an independent instance; the node is done as soon as that instance exists (semantics 20). */
export const callProcess = defineNode<KeysOf<'callProcess'>>({
  enter(turn, node) {
    const data = node.keys.data === undefined ? {} : turn.values(node.keys.data);
    turn.owe({ kind: 'call', n: turn.n, processId: childFlow(turn, node.keys.processId), data });
  },
});

import { defineNode } from '../node.ts';
import type { KeysOf } from './keys.ts';

export const intermediateThrowEvent = defineNode<KeysOf<'intermediateThrowEvent'>>({
  enter(turn, node) {
    const { message, signal, correlationKey } = node.keys;
    const data = node.keys.data === undefined ? {} : turn.values(node.keys.data);
    const key = correlationKey === undefined ? (turn.draft.correlationKey ?? '') : turn.text(correlationKey);
    if (message !== undefined) {
      turn.owe({ kind: 'throw', n: turn.n, event: 'message', name: turn.text(message), correlationKey: key, data });
    } else if (signal !== undefined) {
      turn.owe({ kind: 'throw', n: turn.n, event: 'signal', name: turn.text(signal), correlationKey: '', data });
    }
    turn.leave(node.next);
  },
});

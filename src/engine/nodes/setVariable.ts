import { defineNode } from '../node.ts';
import type { KeysOf } from './keys.ts';

export const setVariable = defineNode<KeysOf<'setVariable'>>({
  enter(turn, node) {
    // One at a time, so that a later value may use an earlier name.
    for (const { path, value } of node.keys.set) turn.set([{ path, value: turn.value(value) }]);
    turn.leave(node.next);
  },
});

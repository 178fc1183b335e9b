import { defineNode } from '../node.ts';
import type { KeysOf } from './keys.ts';

export const setVariable = defineNode<KeysOf<'setVariable'>>({
  enter(turn, node) {
    turn.setEach(node.keys.set);
    turn.leave(node.next);
  },
});

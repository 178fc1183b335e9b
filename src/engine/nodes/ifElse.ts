import { defineNode } from '../node.ts';
import type { KeysOf } from './keys.ts';

export const ifElse = defineNode<KeysOf<'ifElse'>>({
  enter(turn, node) {
    const way = turn.test(node.keys.condition) ? node.keys.then : node.keys.else;
    turn.leave(way === undefined ? [] : [way]);
  },
});

import { defineNode } from '../node.ts';

export const task = defineNode({
  enter: (turn, node) => turn.leave(node.next),
});

import { defineNode } from '../node.ts';

export const startEvent = defineNode({
  enter: (turn, node) => turn.leave(node.next),
});

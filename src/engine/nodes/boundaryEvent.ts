import { defineNode } from '../node.ts';

/** It is entered when it has fired; what it waited for was armed with its activity (semantics 8). */
export const boundaryEvent = defineNode({
  enter: (turn, node) => turn.leave(node.next),
});

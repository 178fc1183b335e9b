import { defineNode } from '../node.ts';

/** Every way, whatever conditions it carries (semantics 3). Joining is done before the node is entered. */
export const parallelGateway = defineNode({
  enter: (turn, node) => turn.leave(node.next),
});

import { defineNode } from '../node.ts';
import type { KeysOf } from './keys.ts';

export const scriptTask = defineNode<KeysOf<'scriptTask'>>({
  enter: (turn) => turn.work(),
  work: {
    kind: () => 'script',
    input: (node, resolver) => ({ script: node.keys.script, variables: resolver.variables }),
  },
});

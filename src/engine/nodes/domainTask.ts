import { defineNode } from '../node.ts';
import type { KeysOf } from './keys.ts';

export const domainTask = defineNode<KeysOf<'domainTask'>>({
  enter: (turn) => turn.work(),
  work: {
    kind: () => 'domain',
    input: ({ keys }, resolver) => ({
      handler: keys.handler,
      input: keys.input === undefined ? {} : resolver.value(keys.input),
    }),
  },
});

import type { Json } from '../json.ts';
import { defineNode } from '../node.ts';
import type { KeysOf } from './keys.ts';

export const memoryAction = defineNode<KeysOf<'memoryAction'>>({
  enter: (turn) => turn.work(),
  work: {
    kind: () => 'memory',
    input({ keys }, resolver) {
      const input: Record<string, Json> = { action: keys.action, scope: keys.scope };
      if (keys.key !== undefined) input['key'] = resolver.text(keys.key);
      if (keys.value !== undefined) input['value'] = resolver.value(keys.value);
      if (keys.query !== undefined) input['query'] = resolver.text(keys.query);
      if (keys.limit !== undefined) input['limit'] = keys.limit;
      return input;
    },
  },
});

import type { Json } from '../json.ts';
import { defineNode } from '../node.ts';
import type { KeysOf } from './keys.ts';

type Keys = KeysOf<'callAgent'>;

export const callAgent = defineNode<Keys>({
  enter: (turn) => turn.work(),
  work: {
    kind: () => 'agent',
    input({ keys }, resolver) {
      const input: Record<string, Json> = { goal: resolver.text(keys.goal), maxSteps: keys.maxSteps };
      for (const key of ['agent', 'provider', 'model', 'system'] as const) {
        const template = keys[key];
        if (template !== undefined) input[key] = resolver.text(template);
      }
      return input;
    },
  },
});

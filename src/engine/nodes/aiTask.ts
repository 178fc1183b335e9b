import type { Json } from '../json.ts';
import { defineNode } from '../node.ts';
import type { KeysOf } from './keys.ts';

export const aiTask = defineNode<KeysOf<'aiTask'>>({
  enter: (turn) => turn.work(),
  work: {
    kind: () => 'ai',
    input({ keys }, resolver) {
      const input: Record<string, Json> = { prompt: resolver.text(keys.prompt) };
      for (const key of ['provider', 'model', 'system'] as const) {
        const template = keys[key];
        if (template !== undefined) input[key] = resolver.text(template);
      }
      for (const key of ['schema', 'temperature', 'maxTokens'] as const) {
        const setting = keys[key];
        if (setting !== undefined) input[key] = setting;
      }
      return input;
    },
  },
});

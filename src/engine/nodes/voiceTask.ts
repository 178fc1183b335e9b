import type { Json } from '../json.ts';
import { defineNode } from '../node.ts';
import type { KeysOf } from './keys.ts';

export const voiceTask = defineNode<KeysOf<'voiceTask'>>({
  enter: (turn) => turn.work(),
  work: {
    kind: () => 'voice',
    input({ keys }, resolver) {
      const input: Record<string, Json> = { action: keys.action };
      for (const key of ['provider', 'model', 'text', 'voice'] as const) {
        const template = keys[key];
        if (template !== undefined) input[key] = resolver.text(template);
      }
      if (keys.file !== undefined) input['file'] = resolver.value(keys.file);
      return input;
    },
  },
});

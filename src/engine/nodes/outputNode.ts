import type { JsonObject } from '../json.ts';
import { defineNode } from '../node.ts';
import type { KeysOf } from './keys.ts';

/** `value` is kept under the name `output`. */
export const outputNode = defineNode<KeysOf<'outputNode'>>({
  enter(turn, node) {
    const { output, value } = node.keys;
    const emitted: JsonObject = output === undefined ? { output: turn.value(value) } : turn.values(output);
    turn.set(
      Object.entries(emitted).map(([name, item]) => ({ path: [name], value: item })),
      'outputEmitted',
    );
    turn.leave(node.next);
  },
});

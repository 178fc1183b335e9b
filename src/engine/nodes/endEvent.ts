import { throwFrom } from '../failure.ts';
import { defineNode } from '../node.ts';
import { terminate } from '../scope.ts';
import type { KeysOf } from './keys.ts';

export const endEvent = defineNode<KeysOf<'endEvent'>>({
  enter(turn, node) {
    const { error } = node.keys;
    if (error !== undefined) {
      throwFrom(turn, { code: error, message: `"${node.name}" ended with the error ${error}`, nodeId: node.id });
    } else if (node.keys.terminate) terminate(turn);
    else turn.leave([]);
  },
});

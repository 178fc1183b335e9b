import { defineNode } from '../node.ts';
import type { KeysOf } from './keys.ts';

/** The first true way, in the order written; the default's condition is never evaluated (semantics 1). */
export const exclusiveGateway = defineNode<KeysOf<'exclusiveGateway'>>({
  enter(turn, node) {
    const { ways } = node.keys;
    if (ways.length === 0) return turn.leave([]);
    const way =
      ways.find(({ condition, default: last }) => !last && (condition === undefined || turn.test(condition))) ??
      ways.find(({ default: last }) => last);
    if (way === undefined)
      return turn.fail('NO_FLOW_SELECTED', `no condition of "${node.name}" is true, and it has no default`);
    return turn.leave([way]);
  },
});

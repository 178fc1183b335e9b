import { defineNode } from '../node.ts';
import type { KeysOf } from './keys.ts';

/** Every true way; the default only when none is (semantics 5). Joining is done before the node is entered. */
export const inclusiveGateway = defineNode<KeysOf<'inclusiveGateway'>>({
  enter(turn, node) {
    const { ways } = node.keys;
    if (ways.length === 0) return turn.leave([]);
    const chosen = ways.filter(
      ({ condition, default: last }) => !last && (condition === undefined || turn.test(condition)),
    );
    if (chosen.length > 0) return turn.leave(chosen);
    const last = ways.find((way) => way.default);
    if (last === undefined)
      return turn.fail('NO_FLOW_SELECTED', `no condition of "${node.name}" is true, and it has no default`);
    return turn.leave([last]);
  },
});

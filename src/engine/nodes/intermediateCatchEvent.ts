import { defineNode } from '../node.ts';
import type { KeysOf } from './keys.ts';

export const intermediateCatchEvent = defineNode<KeysOf<'intermediateCatchEvent'>>({
  enter(turn, node) {
    const { message, signal, timer, correlationKey } = node.keys;
    if (message !== undefined) turn.subscribe('catch', 'message', message, correlationKey);
    if (signal !== undefined) turn.subscribe('catch', 'signal', signal, undefined);
    if (timer !== undefined) turn.arm('catch', timer);
    turn.wait();
  },
  resume(turn, node, data) {
    turn.setAll(data);
    turn.result(node.keys.result, data);
    turn.leave(node.next);
  },
});

import type { Reconnecting } from '../client/stream.ts';
import type { Wfx } from './wfx.ts';

/** Warns that a stream is opened again: whenever one is lost, and then only as the reason changes. */
export function warningOfLosses({ io }: Wfx): (state: Reconnecting) => void {
  let told = '';
  return ({ attempt, reason }) => {
    if (attempt === 1 || reason !== told) io.warn(`${reason}; trying again`);
    told = reason;
  };
}

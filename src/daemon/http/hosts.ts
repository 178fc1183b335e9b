import type { FastifyRequest } from 'fastify';
import { Refusal } from '../refusal.ts';

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/** Whether an address to listen on is reached from this machine alone. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);

/**
 * A check of the Host header for a daemon on a loopback address: a web page can point a name of its own at 127.0.0.1 and so
 * reach it from the user's browser (DNS rebinding), but it can't choose the header. FORBIDDEN for names that are not ours.
 */
export function hostCheck(host: string, allowed: readonly string[]): (request: FastifyRequest) => void {
  if (!isLoopback(host)) return () => undefined;
  const names = new Set([...LOOPBACK, host, ...allowed.map((name) => name.toLowerCase())]);
  return ({ headers }) => {
    const named = (headers.host ?? 'localhost').toLowerCase().replace(/:\d*$/, '');
    if (!names.has(named))
      throw new Refusal(
        'FORBIDDEN',
        'The Host header does not name this daemon: call it by 127.0.0.1 or localhost, or add the name to allowedHosts.',
      );
  };
}

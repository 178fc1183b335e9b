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

/**
 * A check of the Origin header, which a browser adds and a page can't choose: FORBIDDEN for requests from pages of other
 * sites than this daemon's own and the `allowed` ones. What is no browser sends none.
 */
export function originCheck(allowed: readonly string[]): (request: FastifyRequest) => void {
  const origins = new Set(allowed.map((origin) => origin.toLowerCase()));
  return ({ headers }) => {
    const origin = headers.origin?.toLowerCase();
    if (
      origin === undefined ||
      origins.has(origin) ||
      origin.replace(/^https?:\/\//, '') === headers.host?.toLowerCase()
    )
      return;
    throw new Refusal(
      'FORBIDDEN',
      'Web pages of other sites may not call this daemon: add the origin of the page to allowedOrigins.',
    );
  };
}

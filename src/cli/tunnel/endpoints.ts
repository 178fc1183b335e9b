import type { Environment, Webhook } from '../../contract/types.ts';

/** An address of a webhook, as it is reached from outside. */
export interface PublicEndpoint {
  readonly webhook: string;
  readonly provider: Webhook['provider'];
  /** Null: the address that all environments share. */
  readonly environment: Environment | null;
  readonly url: string;
}

/** What a tunnel tells while it is there. */
export interface TunnelEvents {
  /** It is open, for the first time or again; programs may give it another address then. */
  readonly opened: (endpoints: readonly PublicEndpoint[]) => void;
  /** It is down; `waitMs` from now it is tried again. */
  readonly lost: (reason: string, waitMs: number) => void;
  /** A delivery did not arrive as it was sent, or not at all. */
  readonly harmed: (what: string) => void;
}

export const publicEndpoints = (
  webhooks: readonly Webhook[],
  urlOf: (path: string) => string,
): readonly PublicEndpoint[] =>
  webhooks.flatMap(({ name, provider, endpoints }) =>
    endpoints.map(({ environment, path }) => ({ webhook: name, provider, environment, url: urlOf(path) })),
  );

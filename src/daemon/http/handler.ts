import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RouteName } from '../../contract/endpoints.ts';
import type { Routes } from '../../contract/routes.ts';
import type { Answer, Body, Params, Query } from '../../contract/types.ts';
import type { Caller } from '../auth/caller.ts';
import type { RateLimits } from '../auth/limits.ts';
import type { Oidc } from '../auth/oidc.ts';
import type { Runtime } from '../runtime/door.ts';
import type { Stores } from '../store/index.ts';
import type { Triggers } from '../triggers/index.ts';
import type { WorkerTasks } from '../work/worker-tasks.ts';
import type { Streams } from './streams.ts';

/** What handlers work with. */
export interface Services {
  readonly runtime: Runtime;
  readonly stores: Stores;
  readonly limits: RateLimits;
  /** Undefined: nobody signs in here, there are keys alone. */
  readonly oidc: Oidc | undefined;
  readonly streams: Streams;
  readonly workers: WorkerTasks;
  readonly triggers: Triggers;
  /** Prometheus text. */
  readonly metrics: () => string;
  readonly version: string;
  /** Tells this start of the daemon from others; also in `daemon.json`. */
  readonly daemonId: string;
}

/** A request that is authenticated, allowed and valid. Ids among the parameters have their form. */
export interface Call<N extends RouteName> {
  readonly caller: Caller;
  readonly params: Params<N>;
  readonly query: Query<N>;
  readonly body: Kind<N> extends { readonly body: 'bytes' } ? Readable : Body<N>;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}
type Kind<N extends RouteName> = Routes[N] extends { readonly body: { readonly kind: infer K } }
  ? { readonly body: K }
  : { readonly body: undefined };

/** A stream's handler answers by itself; bytes are answered as a stream of them. */
type Result<N extends RouteName> = Routes[N]['answer'] extends { readonly kind: infer K }
  ? K extends 'stream'
    ? undefined
    : K extends 'redirect'
      ? string
      : K extends 'bytes'
        ? Readable
        : Answer<N>
  : never;

export type Handler<N extends RouteName> = (call: Call<N>) => Result<N> | Promise<Result<N>>;
export type Handlers<N extends RouteName = RouteName> = { readonly [K in N]: Handler<K> };

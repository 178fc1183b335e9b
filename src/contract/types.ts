import type { Static, TSchema } from 'typebox';
import type { ENDPOINTS, ParameterOf, RouteName } from './endpoints.ts';
import type { Routes } from './routes.ts';
import type * as admin from './schemas/admin.ts';
import type * as auth from './schemas/auth.ts';
import type * as daemon from './schemas/daemon.ts';
import type * as emailConnection from './schemas/email-connection.ts';
import type * as flow from './schemas/flow.ts';
import type * as instance from './schemas/instance.ts';
import type * as memory from './schemas/memory.ts';
import type * as webhook from './schemas/webhook.ts';
import type * as why from './schemas/why.ts';
import type * as worker from './schemas/worker.ts';

/** What travels is never changed in place. JSON values (index signatures) are read-only already. */
type Immutable<T> = string extends keyof T
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Immutable<Item>[]
    : T extends object
      ? { readonly [K in keyof T]: Immutable<T[K]> }
      : T;

type Of<S extends TSchema> = Immutable<Static<S>>;

export type Params<N extends RouteName> = { readonly [K in ParameterOf<(typeof ENDPOINTS)[N]['path']>]: string };
export type Query<N extends RouteName> = Routes[N] extends { readonly query: infer Q extends TSchema }
  ? Of<Q>
  : Record<never, never>;
export type Body<N extends RouteName> = Routes[N] extends { readonly body: infer B }
  ? B extends { readonly kind: 'json'; readonly schema: infer S extends TSchema; readonly optional: true }
    ? Of<S> | undefined
    : B extends { readonly kind: 'json'; readonly schema: infer S extends TSchema }
      ? Of<S>
      : B extends { readonly kind: 'flow' }
        ? string
        : Uint8Array
  : undefined;
/** The answer of a success; `never` for streams, which are read event by event. */
export type Answer<N extends RouteName> = Routes[N]['answer'] extends infer A
  ? A extends { readonly kind: 'json'; readonly schema: infer S extends TSchema; readonly orNone: true }
    ? Of<S> | undefined
    : A extends { readonly kind: 'json'; readonly schema: infer S extends TSchema }
      ? Of<S>
      : A extends { readonly kind: 'text' }
        ? string
        : A extends { readonly kind: 'bytes' }
          ? Uint8Array
          : A extends { readonly kind: 'none' }
            ? undefined
            : never
  : never;

/** Names of the routes that answer with Server-Sent Events. */
export type StreamName = {
  [N in RouteName]: Routes[N]['answer'] extends { readonly kind: 'stream' } ? N : never;
}[RouteName];

type Need<Key extends string, Value> = [Value] extends [undefined]
  ? unknown
  : [Value] extends [string | Uint8Array]
    ? { readonly [K in Key]: Value }
    : undefined extends Value
      ? { readonly [K in Key]?: Exclude<Value, undefined> }
      : [keyof Value] extends [never]
        ? unknown
        : Partial<Value> extends Value
          ? { readonly [K in Key]?: Value }
          : { readonly [K in Key]: Value };

/** What a client hands over: `client.call('startProcess', { body: { processId } })`. A part with no required field may be left out. */
export type Input<N extends RouteName> = Need<'params', Params<N>> & Need<'query', Query<N>> & Need<'body', Body<N>>;

export type FlowSummary = Of<typeof flow.FlowSummary>;
export type FlowDefinition = Of<typeof flow.FlowDefinition>;
export type FlowVersion = Of<typeof flow.FlowVersion>;
export type Problem = Of<typeof flow.Problem>;
export type Published = Of<typeof flow.Published>;
export type Activated = Of<typeof flow.Activated>;
export type Instance = Of<typeof instance.Instance>;
export type InstanceSummary = Of<typeof instance.InstanceSummary>;
export type Started = Of<typeof instance.Started>;
export type Task = Of<typeof instance.Task>;
export type LogEntry = Of<typeof instance.LogEntry>;
export type HistoryStep = Of<typeof instance.HistoryStep>;
export type LogEnd = Of<typeof instance.LogEnd>;
export type LifecycleData = Of<typeof instance.LifecycleData>;
export interface LifecycleEvent {
  readonly type: LifecycleData['type'];
  readonly data: LifecycleData;
}
export type AuditEntry = Of<typeof admin.AuditEntry>;
export type Explanation = Of<typeof why.Explanation>;
export type Wait = Of<typeof why.Wait>;
export type Key = Of<typeof admin.Key>;
export type NewKey = Of<typeof admin.NewKey>;
export type EnvironmentValue = Of<typeof admin.EnvironmentValue>;
export type Organization = Of<typeof admin.Organization>;
export type Whoami = Of<typeof admin.Whoami>;
export type SignInSettings = Of<typeof auth.SignInSettings>;
export type Memory = Of<typeof memory.Memory>;
export type WorkerTask = Of<typeof worker.WorkerTask>;
export type Webhook = Of<typeof webhook.Webhook>;
export type Delivery = Of<typeof webhook.Delivery>;
export type DeliverySummary = Of<typeof webhook.DeliverySummary>;
export type EmailConnection = Of<typeof emailConnection.EmailConnection>;
export type EmailConnectionTest = Of<typeof emailConnection.EmailConnectionTest>;
export type FileReference = Of<typeof daemon.FileReference>;
export type Environment = 'DEVELOPMENT' | 'PRODUCTION';

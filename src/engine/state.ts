import type { Json, JsonObject } from './json.ts';

/** Everything the engine knows of one live process instance. Immutable: a commit makes a new one that shares what stayed. */
export interface State {
  readonly id: string;
  readonly processId: string;
  readonly processName: string;
  readonly version: string;
  /** Ids of the inline subProcess nodes that lead to the body this instance runs; empty: the flow's own body. */
  readonly path: readonly string[];
  readonly organizationId: string;
  readonly environment: string;
  readonly correlationKey?: string;
  readonly trigger: JsonObject;
  readonly parent?: Parent;
  readonly retryOf?: string;
  /** The instance that began the chain of callProcess and subProcess starts which led here; itself where there is none. */
  readonly root: string;
  /** Length of the chain of callProcess and subProcess starts that led here. */
  readonly depth: number;
  readonly startTime: number;
  /** 0 Running, 1 Completed, 2 Failed, 3 Cancelled (interface). */
  readonly stateCd: 0 | 1 | 2 | 3;
  readonly endTime?: number;
  readonly error?: Failure;
  /** How many events the instance has: the next one's number is `seq + 1`. */
  readonly seq: number;
  /** Number of the next activation. */
  readonly nextActivation: number;
  readonly nextScope: number;
  readonly nextOwed: number;
  readonly variables: JsonObject;
  /** Approximate bytes of `variables`, as JSON (semantics 24). */
  readonly size: number;
  /** Approximate bytes of what is kept beside them: lists and results of loops, an iteration's own names, waiting forms. */
  readonly held: number;
  /** Top-level names written since the start: what an inline subProcess brings back to its parent. */
  readonly written: ReadonlySet<string>;
  readonly active: ReadonlyMap<number, Activation>;
  /** Activations that were entered and not yet run, in order. */
  readonly ready: readonly number[];
  /** Scope 0 is the instance's own body. */
  readonly scopes: ReadonlyMap<number, Scope>;
  /** Activations and standing tokens by scope: a scope without any is over. */
  readonly population: ReadonlyMap<number, number>;
  /** Tokens standing at joins, by `<scope>/<node>`. */
  readonly joins: ReadonlyMap<string, JoinTokens>;
  /** What the instance owes to other instances, by number, until it is delivered. */
  readonly outbox: ReadonlyMap<number, Owed>;
}

export interface Parent {
  readonly instanceId: string;
  readonly activation: number;
  /** An inline subProcess works on a copy of its parent's variables, which comes back (semantics 17). */
  readonly inline: boolean;
}

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly nodeId: string;
}

/**
 * ready: entered, not run yet. working: outside work is under way. retrying: waits for the next attempt. waiting: for a
 * task, an event or a timer. child: for another instance. body: for its loop's iterations.
 */
export type Phase = 'ready' | 'working' | 'retrying' | 'waiting' | 'child' | 'body';

/** One node being run: BPMN's token in an activity. */
export interface Activation {
  readonly n: number;
  readonly node: string;
  readonly scope: number;
  readonly phase: Phase;
  readonly startedAt: number;
  /** Counts attempts of outside work, from 1. */
  readonly attempt: number;
  /** The steps of its work that are finished, over all attempts. */
  readonly progress?: readonly Json[];
  readonly timers: readonly Timer[];
  readonly subscriptions: readonly Subscription[];
  /** A waiting task as it was resolved when it was entered: title, form, assignee. */
  readonly task?: JsonObject;
  readonly loop?: Loop;
  /** Its part of the state's `held`. */
  readonly held: number;
  /** The child instance of a subProcess node, as long as it runs. */
  readonly child?: string;
}

/** Purpose of a timer or subscription: the node's own, or a boundary event's (`boundary:<node id>`). */
export type Purpose = 'timeout' | 'retry' | 'catch' | `boundary:${string}`;

export interface Timer {
  readonly purpose: Purpose;
  /** Absolute, ms since the epoch (semantics 16). */
  readonly due: number;
}

export interface Subscription {
  readonly purpose: Purpose;
  readonly kind: 'message' | 'signal';
  /** message_or_signal_ref of the interface. */
  readonly name: string;
  /** Empty for signals. */
  readonly correlationKey: string;
}

export interface Loop {
  /** The list of a for-each, read once on entry (semantics 18). */
  readonly items?: readonly Json[];
  /** How many iterations a for-each or times loop has; absent for a while loop. */
  readonly count?: number;
  /** Index of the next iteration to start. */
  readonly next: number;
  readonly running: number;
  /** What its iterations gave, by their index, in chunks of RESULT_CHUNK; absent where no `result` asks for it. */
  readonly results?: readonly (readonly Json[])[];
}

/** Adding a result costs the copy of one chunk and of the list of chunks. */
export const RESULT_CHUNK = 256;

/** The instance's body, or one iteration of a loop. */
export interface Scope {
  readonly id: number;
  /** Absent for scope 0. */
  readonly parent?: number;
  /** The loop's activation. */
  readonly owner?: number;
  readonly index?: number;
  /** Names that only this iteration sees: `loop`, and the `as` name. */
  readonly local: JsonObject;
  /** What the iteration's last node to set something set: the iteration's result. Null where the loop has no `result`. */
  readonly value: Json;
  /** Its part of the state's `held`. */
  readonly held: number;
}

/** Standing tokens of one join: how many by connection id. */
export type JoinTokens = ReadonlyMap<string, number>;

/** Something for another instance. Delivered by the runtime in one commit with what it causes there. */
export type Owed =
  | { readonly kind: 'startChild'; readonly n: number; readonly processId?: string; readonly data: JsonObject }
  | { readonly kind: 'cancelChild'; readonly child: string }
  | { readonly kind: 'call'; readonly n: number; readonly processId: string; readonly data: JsonObject }
  | {
      readonly kind: 'throw';
      /** The activation that throws: what this instance began to wait for after it does not take the event. */
      readonly n?: number;
      readonly event: 'message' | 'signal';
      readonly name: string;
      readonly correlationKey: string;
      readonly data: JsonObject;
    }
  | { readonly kind: 'tellParent' };

export const ROOT_SCOPE = 0;
export const joinKey = (scope: number, node: string): string => `${scope}/${node}`;

/** Where the tokens of `joins` under this key stand. */
export function placeOf(key: string): { readonly scope: number; readonly node: string } {
  const slash = key.indexOf('/');
  return { scope: Number(key.slice(0, slash)), node: key.slice(slash + 1) };
}

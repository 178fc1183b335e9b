import type { Json, JsonObject } from './json.ts';
import type { Failure, Owed, Parent, Purpose } from './state.ts';

/** Version of the events' format; a journal written by a newer one is refused. */
export const EVENT_FORMAT = 1;

/**
 * What happened to an instance. Events are facts: applying one never evaluates, reads a clock or asks the outside. `n` is
 * the number of the activation that the event is about. The time is the frame's.
 */
export type Event =
  | InstanceStarted
  | NodeStarted
  | NodePassed
  | { readonly type: 'nodeWaiting'; readonly n: number; readonly task?: JsonObject }
  | { readonly type: 'workStarted'; readonly n: number; readonly attempt: number }
  | { readonly type: 'workProgressed'; readonly n: number; readonly step: Json }
  | { readonly type: 'workFailed'; readonly n: number; readonly error: Failure; readonly retryAt: number }
  | { readonly type: 'timerSet'; readonly n: number; readonly purpose: Purpose; readonly due: number }
  | { readonly type: 'timerLapsed'; readonly n: number; readonly purpose: Purpose }
  | {
      readonly type: 'subscribed';
      readonly n: number;
      readonly purpose: Purpose;
      readonly kind: 'message' | 'signal';
      readonly name: string;
      readonly correlationKey: string;
    }
  | { readonly type: 'eventTaken'; readonly n: number; readonly purpose: Purpose; readonly name: string }
  | { readonly type: 'nodeCompleted'; readonly n: number }
  | { readonly type: 'nodeFailed'; readonly n: number; readonly error: Failure }
  | { readonly type: 'nodeCancelled'; readonly n: number }
  | { readonly type: 'nodeTimedOut'; readonly n: number }
  | { readonly type: 'variablesSet'; readonly n: number; readonly set: readonly Assignment[] }
  | { readonly type: 'outputEmitted'; readonly n: number; readonly set: readonly Assignment[] }
  | { readonly type: 'logged'; readonly n: number; readonly level: LogLevel; readonly message: string }
  | { readonly type: 'tokenArrived'; readonly node: string; readonly scope: number; readonly via: string }
  | { readonly type: 'joinFired'; readonly node: string; readonly scope: number; readonly vias: readonly string[] }
  | {
      readonly type: 'loopStarted';
      readonly n: number;
      readonly items?: readonly Json[];
      readonly count?: number;
      /** What its iterations give is kept. */
      readonly collects?: true;
    }
  | { readonly type: 'iterationStarted'; readonly n: number; readonly scope: number; readonly as?: string }
  | { readonly type: 'iterationEnded'; readonly n: number; readonly scope: number }
  | { readonly type: 'scopeDropped'; readonly scope: number }
  | { readonly type: 'owed'; readonly owed: Owed }
  | { readonly type: 'delivered'; readonly id: number }
  | { readonly type: 'childStarted'; readonly n: number; readonly child: string }
  | { readonly type: 'childEnded'; readonly n: number }
  | { readonly type: 'instanceEnded'; readonly stateCd: 1 | 2 | 3; readonly error?: Failure };

export interface NodeStarted {
  readonly type: 'nodeStarted';
  readonly n: number;
  readonly node: string;
  readonly scope?: number;
  readonly via?: string;
}

/** `nodeStarted` and `nodeCompleted` in one: most nodes only pass their token on. */
export interface NodePassed extends Omit<NodeStarted, 'type'> {
  readonly type: 'nodePassed';
}

/** What a reader is told of in place of an event: of a node that passed, that it started and that it completed. */
export function unfolded(events: readonly Event[]): readonly Event[] {
  return events.flatMap((event) =>
    event.type === 'nodePassed'
      ? [
          { ...event, type: 'nodeStarted' },
          { type: 'nodeCompleted', n: event.n },
        ]
      : event,
  );
}

export type LogLevel = 'INFO' | 'WARN' | 'ERROR';

/** One variable written: the value at `path` (dotted names reach inside), in an iteration's own names where `scope` is given. */
export interface Assignment {
  readonly path: readonly string[];
  readonly value: Json;
  readonly scope?: number;
}

export interface InstanceStarted {
  readonly type: 'instanceStarted';
  readonly format: number;
  readonly id: string;
  readonly processId: string;
  readonly processName: string;
  readonly version: string;
  readonly path?: readonly string[];
  readonly organizationId: string;
  readonly environment: string;
  readonly correlationKey?: string;
  readonly trigger: JsonObject;
  readonly parent?: Parent;
  readonly retryOf?: string;
  readonly depth?: number;
  readonly root?: string;
  readonly variables: JsonObject;
}

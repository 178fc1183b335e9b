import type { LogLevel } from './event.ts';
import type { Json, JsonObject } from './json.ts';
import type { Parent, Purpose } from './state.ts';

/** What can be asked of an instance. Answers of the outside (work done, a timer due) come in as commands too. */
export type Command =
  | { readonly type: 'completeTask'; readonly node: string; readonly data: JsonObject }
  | { readonly type: 'cancelTask'; readonly node: string; readonly data: JsonObject }
  | { readonly type: 'finishWork'; readonly n: number; readonly attempt: number; readonly outcome: WorkOutcome }
  /** A step of work that goes on is finished: kept, so that the work can be taken up after it. */
  | {
      readonly type: 'recordProgress';
      readonly n: number;
      readonly attempt: number;
      readonly step: Json;
      readonly logs: readonly WorkLog[];
    }
  /** Work that was under way when the daemon died is tried again (semantics 22). */
  | { readonly type: 'resumeWork'; readonly n: number; readonly attempt: number }
  | { readonly type: 'fireTimer'; readonly n: number; readonly purpose: Purpose; readonly due: number }
  | {
      readonly type: 'takeEvent';
      readonly n: number;
      readonly purpose: Purpose;
      readonly name: string;
      readonly data: JsonObject;
    }
  | { readonly type: 'deliver'; readonly id: number; readonly answer: DeliveryAnswer }
  | { readonly type: 'endChild'; readonly n: number; readonly child: string; readonly result: ChildResult }
  | { readonly type: 'cancel'; readonly byParent: boolean }
  /** Something outside of the flow went wrong for good. */
  | { readonly type: 'fail'; readonly code: string; readonly message: string }
  /** Goes on with a turn that was cut for fairness. */
  | { readonly type: 'continue' };

export interface StartCommand {
  readonly id: string;
  readonly processId: string;
  readonly version: string;
  readonly path: readonly string[];
  readonly organizationId: string;
  readonly environment: string;
  readonly correlationKey?: string;
  readonly trigger: JsonObject;
  readonly parent?: Parent;
  readonly retryOf?: string;
  readonly depth: number;
  readonly root?: string;
  /** Laid over the flow's defaults; a retry and an inline child bring theirs whole. */
  readonly data: JsonObject;
  /** The node to start at; absent: the start event. */
  readonly from?: string;
  /** What a retry takes up beside that node. */
  readonly beside?: Beside;
}

/** What an instance had beside one node of its own body. */
export interface Beside {
  /** Other nodes that were active, in the order they began. */
  readonly nodes: readonly string[];
  /** Tokens that stood at joins, by the connection that they came along. */
  readonly tokens: readonly { readonly node: string; readonly via: string }[];
}

export type WorkOutcome =
  | { readonly ok: true; readonly value: Json; readonly logs: readonly WorkLog[] }
  | {
      readonly ok: false;
      /** `final`: another attempt would fail the same way, so the retry policy does not apply. */
      readonly error: { readonly code: string; readonly message: string; readonly final?: true };
      readonly logs: readonly WorkLog[];
    };

export interface WorkLog {
  readonly level: LogLevel;
  readonly message: string;
}

export type DeliveryAnswer =
  | { readonly ok: true; readonly instanceId?: string }
  | { readonly ok: false; readonly code: string; readonly message: string };

export interface ChildResult {
  readonly stateCd: 1 | 2 | 3;
  readonly variables: JsonObject;
  /** Names that the child wrote, for an inline subProcess. */
  readonly written: readonly string[];
  readonly error?: { readonly code: string; readonly message: string; readonly nodeId: string };
}

/** What a turn may know of the world: it comes in with the command. */
export interface Context {
  /** ms since the epoch. */
  readonly at: number;
  /** Environment values; a secret reads `***` (decisions §4). */
  readonly env: (name: string) => Json | undefined;
  readonly limits: Limits;
}

export interface Limits {
  /** Node activations in an instance's whole life; beyond: STEP_LIMIT (semantics 24). */
  readonly steps: number;
  /** Bytes of an instance's variables as JSON; beyond: VARIABLES_TOO_LARGE. */
  readonly variableBytes: number;
  /** Activations run in one turn before others get theirs. */
  readonly turn: number;
  /** Length of a chain of callProcess and subProcess starts; beyond: CALL_DEPTH. */
  readonly depth: number;
}

export const DEFAULT_LIMITS: Limits = { steps: 100_000, variableBytes: 4 * 1024 * 1024, turn: 500, depth: 64 };

export interface Refusal {
  readonly code: 'TASK_NOT_WAITING' | 'NODE_NOT_FOUND' | 'INSTANCE_FINISHED' | 'VALIDATION_ERROR' | 'CONFLICT';
  readonly message: string;
  readonly details?: readonly { readonly path: string; readonly message: string }[];
}

import type { Flow } from '../../engine/flow.ts';
import type { Ended, Step, Wait } from '../../engine/index.ts';
import type { Json, JsonObject } from '../../engine/json.ts';
import type { Fact } from '../ports.ts';
import type { KeptEvent } from './messages.ts';
import type { MissedEvent, RefusedAnswer } from './misses.ts';

/**
 * What the other rooms of the daemon see of the runtime. Every promise resolves only after what it tells is durable, and
 * rejects with a Rejection (nothing was accepted) or a StorageError (nothing was accepted; safe to retry).
 */
export interface Runtime {
  start(request: StartRequest, once?: Once): Promise<Started>;
  /**
   * Several starts, and facts that tell of them, as one commit. A start that is refused is left out, its Rejection in its
   * place; everything else is done together or not at all. A repeat of `once` does nothing, and gets the first `answer`.
   */
  startAll(batch: StartBatch, once?: Once): Promise<BatchOutcome>;
  /** The first answer to a request that was made before; undefined when it is new. CONFLICT when its key was for another. */
  answered(once: Once): Promise<Started | undefined>;
  /** COMPLETE checks `data` against the node's form; both need the node to wait (TASK_NOT_WAITING otherwise). */
  submitTask(request: TaskRequest): Promise<void>;
  cancel(organizationId: string | undefined, instanceId: string): Promise<void>;
  /** Starts a new instance from where a finished one failed, or from `from`; semantics of decisions §3. */
  retry(organizationId: string | undefined, instanceId: string, request: RetryRequest): Promise<Started>;
  event(request: EventRequest): Promise<EventAnswer>;

  /**
   * The instance resource, folded from durable history, as it is or as it was once its log had `entries` entries; undefined
   * when unknown or of another organization.
   */
  instance(organizationId: string | undefined, instanceId: string, entries?: number): Promise<InstanceView | undefined>;
  /** What happened to an instance after `step`, oldest first; undefined when unknown or of another organization. */
  history(
    organizationId: string | undefined,
    instanceId: string,
    page: { readonly step: number; readonly limit: number },
  ): Promise<Page<Step> | undefined>;
  /** What an instance waits for; undefined when unknown or of another organization. */
  waits(organizationId: string | undefined, instanceId: string): Promise<Waits | undefined>;
  /** What came near to moving an instance and did not. */
  readonly near: Near;
  /** Newest first. `cursor` is a `nextCursor` given before. */
  instances(query: InstanceQuery): Promise<Page<InstanceSummary>>;
  /** Waiting Input Nodes and User Tasks, oldest first. */
  tasks(query: TaskQuery): Page<Task>;
  /**
   * Log entries with id > `after` (0 = all), history first, then live as they become durable; ends after the entry that
   * ends the instance. A slow reader is fed from disk. Throws a Rejection when unknown. `return()` frees it.
   */
  log(
    organizationId: string | undefined,
    instanceId: string,
    after: number,
    signal: AbortSignal,
  ): AsyncIterable<LogEvent>;
  /** How many log entries an instance has by now, and whether it ended; undefined when unknown. */
  logPosition(
    organizationId: string | undefined,
    instanceId: string,
  ): Promise<{ readonly last: number; readonly ended: boolean } | undefined>;
  /**
   * Lifecycle events of one organization (undefined: of all) with id > `after`; from now on when that is undefined, no id
   * of theirs, or beyond what the journal holds.
   */
  lifecycle(
    organizationId: string | undefined,
    after: string | undefined,
    signal: AbortSignal,
  ): AsyncIterable<LifecycleEvent>;

  /** Keyed collections (definitions, keys, environment values, ...): durable facts that are not instances. */
  readonly facts: Facts;
  readonly stats: RuntimeStats;
  /** Resolves when commands can be taken; rejects with StorageError while the disk takes no writes. */
  ready(): Promise<void>;
  /** Takes no more commands (SHUTTING_DOWN), waits for pending commits, aborts work, ends streams. */
  close(): Promise<void>;
}

export interface Facts {
  get(collection: string, key: string): Json | undefined;
  all(collection: string): ReadonlyMap<string, Json>;
  /**
   * Resolves when durable; all of them together or none. `get` shows them from then on. False: `once` was used before, and
   * nothing was changed.
   */
  put(facts: readonly Fact[], once?: Once): Promise<boolean>;
}

/** Flows by version, as the runtime asks for them; the definitions store answers. Synchronous: compiled flows are cached. */
export interface Definitions {
  flow(processId: string, version: string): Flow;
  /** The active version in an environment, with its owner, or undefined (unknown, or not published there). */
  active(
    processId: string,
    environment: Environment,
  ): { readonly version: string; readonly organizationId: string } | undefined;
  /** Plain environment values; a secret's name gives `***` here. */
  environmentValue(organizationId: string, environment: Environment, name: string): Json | undefined;
}

/** The part of a pino logger that the runtime uses. */
export interface RuntimeLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export type Environment = 'DEVELOPMENT' | 'PRODUCTION';

/** A request that must take effect once: the same key and fingerprint answers as the first time, another fingerprint is CONFLICT. */
export interface Once {
  readonly key: string;
  readonly fingerprint: string;
  readonly expiresAt: number;
}

export interface StartRequest {
  readonly organizationId: string;
  readonly processId: string;
  readonly version: string;
  readonly environment: Environment;
  readonly correlationKey?: string;
  readonly data: JsonObject;
  /** What started it, e.g. `{type: 'api'}`, `{type: 'webhook', deliveryId}`. */
  readonly trigger: JsonObject;
  /** The live instance whose work starts it: the new one counts to its chain of starts, whose length is bounded. */
  readonly calledBy?: string;
}
export interface StartBatch {
  readonly starts: readonly StartRequest[];
  /** What becomes durable with the starts, of which there may be none; `started` is in their order. */
  readonly facts: (started: readonly (Started | Rejection)[]) => readonly Fact[];
  readonly answer: Json;
}
export type BatchOutcome = 'done' | { readonly repeatOf: Json };
export interface Started {
  readonly processInstanceId: string;
  readonly processId: string;
  readonly startTime: string;
}
export interface TaskRequest {
  readonly organizationId: string | undefined;
  readonly processInstanceId: string;
  readonly nodeId: string;
  readonly action: 'COMPLETE' | 'CANCEL';
  readonly data: JsonObject;
}
export interface RetryRequest {
  readonly from?: string;
  readonly data?: JsonObject;
}
export interface EventRequest {
  readonly organizationId: string;
  readonly eventType: string;
  readonly correlationKey: string;
  readonly data: JsonObject;
  readonly messageId?: string;
  /** Milliseconds; absent: not buffered. */
  readonly timeToLive?: number;
}
export interface EventAnswer {
  readonly status: 'correlated' | 'buffered';
  readonly processInstanceIds: readonly string[];
}

export interface InstanceError {
  readonly code: string;
  readonly message: string;
  readonly nodeId: string;
}
export interface InstanceSummary {
  readonly processInstanceId: string;
  readonly processId: string;
  readonly processName: string;
  readonly processVersion: string;
  readonly stateCd: 0 | 1 | 2 | 3;
  readonly startTime: string;
  readonly endTime?: string;
  readonly correlationKey?: string;
  readonly environment: Environment;
  readonly organizationId: string;
  readonly parentInstanceId?: string;
  readonly retryOf?: string;
  readonly trigger: JsonObject;
  readonly error?: InstanceError;
}
export interface InstanceView extends InstanceSummary {
  readonly data: JsonObject;
  readonly children: readonly string[];
  readonly nodes: readonly NodeView[];
}
export interface Waits {
  readonly instance: InstanceSummary;
  /** One for each token; none once it ended. */
  readonly waits: readonly Wait[];
  readonly ended: Ended | undefined;
}
/** Of the newest only, and since the daemon began; kept messages excepted, which are durable. */
export interface Near {
  /** Events that nothing waited for, newest first. */
  missed(organizationId: string): readonly MissedEvent[];
  /** Messages that wait for somebody to take them. */
  kept(organizationId: string): readonly KeptEvent[];
  /** Answers that a task's form refused, newest first. */
  refused(instanceId: string, nodeId: string): readonly RefusedAnswer[];
  /** Instances that began to wait for the same message before this one; the oldest takes it (semantics 12). */
  ahead(organizationId: string, instanceId: string, name: string, correlationKey: string): readonly string[];
}
export interface NodeView {
  readonly nodeId: string;
  readonly nodeName: string;
  readonly nodeType: string;
  /** 0 Running, 1 Waiting, 2 Completed, 3 Failed, 4 Cancelled, 5 TimedOut. */
  readonly statusCd: 0 | 1 | 2 | 3 | 4 | 5;
  readonly startTime: string;
  readonly endTime?: string;
  readonly attempt: number;
}
export interface InstanceQuery {
  readonly organizationId: string | undefined;
  readonly processId?: string;
  readonly stateCd?: number;
  readonly environment?: Environment;
  readonly correlationKey?: string;
  readonly limit: number;
  readonly cursor?: string;
}
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}
export interface TaskQuery {
  readonly organizationId: string | undefined;
  readonly processInstanceId?: string;
  readonly processId?: string;
  readonly limit: number;
  readonly cursor?: string;
}
export interface Task {
  readonly processInstanceId: string;
  readonly processId: string;
  readonly processName: string;
  readonly nodeId: string;
  readonly nodeName: string;
  readonly nodeType: 'inputNode' | 'userTask';
  readonly environment: Environment;
  readonly correlationKey?: string;
  /** When it began to wait, ISO 8601. */
  readonly since: string;
  /** When its `timeout` passes, or (User Task) when it is due. */
  readonly timeoutAt?: string;
  readonly dueAt?: string;
  readonly assignee?: string;
  readonly candidates?: readonly string[];
  readonly form: JsonObject;
}
export type LogEvent =
  | { readonly id: number; readonly entry: LogEntry }
  /** The instance ended; no more will come. */
  | { readonly end: { readonly stateCd: 1 | 2 | 3 } };
export interface LogEntry {
  readonly nodeId: string;
  readonly nodeName: string;
  readonly nodeType: string;
  readonly message: string;
  readonly level: 'INFO' | 'WARN' | 'ERROR';
  readonly timestamp: string;
  readonly variables?: JsonObject;
}
export interface LifecycleEvent {
  /** `<frame>.<index>`: a position in the journal. */
  readonly id: string;
  readonly type:
    | 'NODE_STARTED'
    | 'NODE_COMPLETED'
    | 'NODE_CANCELLED'
    | 'NODE_TIMEDOUT'
    | 'NODE_FAILED'
    | 'INSTANCE_STARTED'
    | 'INSTANCE_ENDED';
  readonly data: JsonObject;
}
export interface RuntimeStats {
  readonly live: number;
  readonly queued: number;
  readonly timers: number;
  readonly subscriptions: number;
  readonly commands: number;
  readonly transitions: number;
  readonly work: number;
}

/** Why a command was not accepted; the codes and their HTTP status are in the contract's table of errors. */
export class Rejection extends Error {
  override readonly name = 'Rejection';
  readonly code: RejectionCode;
  readonly details: readonly { readonly path: string; readonly message: string }[] | undefined;
  constructor(
    code: RejectionCode,
    message: string,
    details?: readonly { readonly path: string; readonly message: string }[],
  ) {
    super(message);
    this.code = code;
    this.details = details;
  }
}
export type RejectionCode =
  | 'VALIDATION_ERROR'
  | 'PROCESS_NOT_FOUND'
  | 'VERSION_NOT_FOUND'
  | 'INSTANCE_NOT_FOUND'
  | 'NODE_NOT_FOUND'
  | 'NO_MATCHING_SUBSCRIPTION'
  | 'NOT_PUBLISHED'
  | 'TASK_NOT_WAITING'
  | 'INSTANCE_FINISHED'
  | 'CONFLICT'
  | 'PAYLOAD_TOO_LARGE'
  | 'SHUTTING_DOWN'
  | 'OVERLOADED';

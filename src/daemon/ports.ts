import type { Json, JsonObject } from '../engine/json.ts';

/**
 * What the runtime needs from the outside, kept small: another implementation on another store passes the same tests.
 * A frame is one commit: everything in it becomes durable together, or nothing does.
 */
export interface Frame {
  /** Time of the commit's command, ms since the epoch. All events of the frame happened then. */
  readonly at: number;
  /** Events of process instances; an instance appears at most once in a frame. */
  readonly instances: readonly InstanceEvents[];
  /** Changes of everything that is not an instance: definitions, keys, dedupe keys, buffered messages, audit. */
  readonly facts: readonly Fact[];
}

export interface InstanceEvents {
  readonly id: string;
  /** Number of the first of `events` in the instance's life, counted from 1: a gap or an overlap is corruption. */
  readonly seq: number;
  readonly events: readonly JsonObject[];
  /** Present in the frame that ends the instance: what a list of finished instances shows of it. */
  readonly ended?: JsonObject;
}

/** One change of a keyed collection: a value put, or (null) deleted. */
export interface Fact {
  readonly collection: string;
  readonly key: string;
  readonly value: Json;
}

/** A frame as read back, with its number: frames count from 1 without gaps over the journal's whole life. */
export interface StoredFrame extends Frame {
  readonly number: number;
}

/** What one read of an instance's history gives: its part of one frame. */
export interface StoredEvents extends InstanceEvents {
  readonly at: number;
  readonly frame: number;
}

/** An ended instance as the history index keeps it. */
export interface EndedInstance {
  readonly id: string;
  readonly ended: JsonObject;
}

export interface JournalPort {
  /**
   * Appends a frame; resolves with its number once it is durable (written and fdatasync'ed, together with all that was
   * pending). Frames become durable in the order of the calls. Rejects with StorageError, after which every append
   * rejects until `reopen`; what was rejected is gone after a `reopen`, and after a crash may or may not be there.
   * A frame that cannot be written as JSON, or is larger than a record may be, is no failure of the disk: RangeError or
   * TypeError is thrown at once, so that nothing has to be built on it, and other frames are not affected.
   */
  append(frame: Frame): Promise<number>;
  /** Resolves when everything appended so far is durable (at once when nothing is pending); StorageError as `append`. */
  flushed(): Promise<void>;
  /**
   * Durable history of an instance in order, from event number `fromSeq` (default 1) on; empty for an unknown id. Goes on
   * working after a failed append.
   */
  history(id: string, fromSeq?: number): AsyncIterable<StoredEvents>;
  /** Durable frames with a number above `after`, oldest first, up to the newest when reading begins. */
  frames(after: number): AsyncIterable<StoredFrame>;
  /**
   * Instances that ended, newest id first (ids are time-ordered), with id < `before`; the caller stops reading when it
   * has enough. Reads a bounded part of the index at a time.
   */
  ended(before?: string): AsyncIterable<EndedInstance>;
  /** The summary of one ended instance, or undefined (unknown, or still alive). */
  endedInstance(id: string): Promise<EndedInstance | undefined>;
  /**
   * Writes a checkpoint: `entries` are read lazily in small slices, so that the event loop stays responsive, and hold
   * the whole live state as it was right after frame `upTo`. Appends go on meanwhile.
   */
  checkpoint(upTo: number, entries: Iterable<JsonObject>): Promise<void>;
  /**
   * After a StorageError: goes back to the last durable frame and reads the journal anew, as opening it does. Rejects
   * with StorageError while the disk still takes no writes; appends are taken again once `Recovery.frames` was read.
   */
  reopen(): Promise<Recovery>;
  readonly stats: JournalStats;
  /** Makes what is pending durable, then lets go of the files. */
  close(): Promise<void>;
}

export interface JournalStats {
  /** Durable frames over the journal's whole life: the number of the newest one. */
  readonly frames: number;
  /** Size of all segments. */
  readonly bytes: number;
  readonly segments: number;
  /** Group commits since the process opened the journal. */
  readonly syncs: number;
  /** Bytes appended since the last checkpoint: when to write the next one. */
  readonly bytesSinceCheckpoint: number;
  /** Appends that are not durable yet. */
  readonly pending: number;
}

/**
 * What opening a journal finds, handed over in order: first the checkpoint's entries, then the frames after it. Both are
 * streamed from disk. Appending before `frames` was read to its end is a programming error.
 */
export interface Recovery {
  readonly checkpoint: AsyncIterable<JsonObject>;
  readonly frames: AsyncIterable<StoredFrame>;
  /** A torn tail (a write that a crash interrupted, never acknowledged) that was cut: how much, where its copy is kept. */
  readonly cut?: { readonly bytes: number; readonly file: string; readonly copy: string };
}

/** The disk did not take a write (full, read-only, I/O error). Nothing of it was acknowledged; retrying is safe. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
}

export type WorkKind = 'http' | 'command' | 'script' | 'email' | 'domain' | 'ai' | 'voice' | 'memory' | 'agent';

/** Reads a value that was set for the run's environment; undefined where none bears the name. */
export type EnvLookup = (name: string) => Json | undefined;

/** One attempt of one node. */
export interface WorkItem {
  readonly instanceId: string;
  readonly nodeId: string;
  readonly activation: number;
  /** Counted from 1. */
  readonly attempt: number;
  /** `instance:node:activation`: the same for every attempt (semantics 22). */
  readonly idempotencyKey: string;
  readonly organizationId: string;
  readonly environment: 'DEVELOPMENT' | 'PRODUCTION';
  readonly processId: string;
  readonly kind: WorkKind;
  /** Resolves the node's templates at this moment; environment values, secrets too, come in only here. Throws {code, message}. */
  readonly prepare: (env: EnvLookup) => Prepared;
  /** Steps that earlier attempts, and this one before a crash, recorded. */
  readonly progress: readonly Json[];
  /** Keeps a finished step with its log lines; resolves when that is durable. */
  readonly record: (step: Json, logs: readonly WorkLog[]) => Promise<void>;
}

export interface Prepared {
  readonly input: JsonObject;
  readonly warnings: readonly string[];
  /** What the agent's tool with this index is, its arguments being variables. Throws {code, message}. */
  readonly tool?: (index: number, variables: JsonObject, env: EnvLookup) => Omit<Prepared, 'tool'>;
}

export interface WorkLog {
  readonly level: 'INFO' | 'WARN' | 'ERROR';
  readonly message: string;
}

export type Outcome =
  | { readonly ok: true; readonly value: Json; readonly logs: readonly WorkLog[] }
  | {
      readonly ok: false;
      /** `final`: the node's retry policy does not apply. */
      readonly error: { readonly code: string; readonly message: string; readonly final?: true };
      readonly logs: readonly WorkLog[];
    };

/**
 * What nodes do outside (semantics 21-23). Node timeouts are not kept here: they are durable timers elsewhere, which
 * call `abort`. The bounds of the executors are safety nets for flows that set no timeout.
 */
export interface Work {
  /**
   * Does the item when its turn comes; `done` is called once with the outcome, never before `start` returned, and never
   * after `abort`. An item that starts while the same activation still works replaces it.
   */
  start(item: WorkItem, done: (outcome: Outcome) => void): void;
  /** Stops the work of an activation, waiting or running; unknown ones are ignored. */
  abort(instanceId: string, activation: number): void;
  /** Attempts under way, those included that were aborted and still end (a command has 5 s for it). */
  readonly running: number;
  readonly queued: number;
  /** Aborts everything, calls no `done` any more, and resolves when all work has ended, after 8 s at the latest. */
  close(): Promise<void>;
}

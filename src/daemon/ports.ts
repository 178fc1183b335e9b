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
   * A frame that cannot be written as JSON, or is larger than a record may be, rejects alone with RangeError or TypeError.
   */
  append(frame: Frame): Promise<number>;
  /** Resolves when everything appended so far is durable (at once when nothing is pending); StorageError as `append`. */
  flushed(): Promise<void>;
  /**
   * Durable history of an instance in order, from event number `fromSeq` (default 1) on; empty for an unknown id. Goes on
   * working after a failed append.
   */
  history(id: string, fromSeq?: number): AsyncIterable<StoredEvents>;
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

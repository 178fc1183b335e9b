import { open, rm } from 'node:fs/promises';
import path from 'node:path';
import type { JsonObject } from '../../engine/json.ts';
import type {
  EndedInstance,
  Frame,
  JournalPort,
  JournalStats,
  Recovery,
  StorageError,
  StoredEvents,
  StoredFrame,
} from '../ports.ts';
import { ActiveSegment } from './active-segment.ts';
import { type CheckpointFile, pruneCheckpoints, readCheckpoint, writeCheckpoint } from './checkpoint.ts';
import { UNFINISHED, writeAll } from './durable-file.ts';
import { CorruptJournalError, storageError } from './errors.ts';
import { decodeFrame } from './frame.ts';
import { type Batch, GroupCommit } from './group-commit.ts';
import { findEnded, type IndexedSegment, readEnded, readHistory } from './history.ts';
import type { Log } from './log.ts';
import { type Recovered, recover } from './recover.ts';
import { SegmentScan } from './scan.ts';
import { SealedIndexes } from './sealed-indexes.ts';
import type { SealedSegment } from './segment.ts';

export interface JournalOptions {
  /** The journal's own folder, made when it is not there. */
  readonly dir: string;
  /** A segment is sealed when the next batch would make it larger than this. */
  readonly segmentBytes: number;
  readonly log: Log;
}

/** What is written before a failed disk is believed to take writes again. */
const PROBE_BYTES = 256 * 1024;

/** The journal over a folder of segments: see format.ts for what is on disk. */
export class Journal implements JournalPort {
  readonly #options: JournalOptions;
  readonly #indexes: SealedIndexes;
  #sealed: SealedSegment[] = [];
  #active: ActiveSegment;
  #commits: GroupCommit;
  #checkpoint: CheckpointFile | undefined;
  #state: 'recovering' | 'open' | 'closed' = 'recovering';
  #lastFrame = 0;
  #sealedBytes = 0;
  #syncs = 0;
  #bytesSinceCheckpoint = 0;
  /** The index file that is being written; the last checkpoint. Both never reject. */
  #indexing: Promise<void> = Promise.resolve();
  #checkpointing: Promise<void> = Promise.resolve();

  private constructor(options: JournalOptions, recovered: Recovered, active: ActiveSegment) {
    this.#options = options;
    this.#indexes = new SealedIndexes(options.log);
    this.#active = active;
    this.#commits = this.#begin(recovered);
  }

  /** Opens the journal in `dir`. CorruptJournalError, StorageError. */
  static async open(options: JournalOptions): Promise<{ journal: Journal; recovery: Recovery }> {
    const recovered = await recover(options.dir, options.log);
    const journal = new Journal(options, recovered, await ActiveSegment.open(recovered.active));
    return { journal, recovery: journal.#recovery(recovered) };
  }

  async reopen(): Promise<Recovery> {
    // Of one that was opened anew the reading may have failed too.
    if (this.#state === 'closed' || (this.#state === 'open' && this.#commits.failure === undefined)) {
      throw new Error('Only a journal that failed can be opened again.');
    }
    await Promise.all([this.#indexing, this.#checkpointing]);
    await this.#probe();
    await this.#active.cutUndurable();
    const recovered = await recover(this.#options.dir, this.#options.log);
    if (recovered.lastFrame < this.#lastFrame) {
      const { file, bytes } = recovered.active;
      throw new CorruptJournalError(
        file,
        bytes,
        `lost the frames from ${recovered.lastFrame + 1} to ${this.#lastFrame}`,
      );
    }
    const active = await ActiveSegment.open(recovered.active);
    await this.#active.close().catch(() => undefined);
    this.#active = active;
    this.#commits = this.#begin(recovered);
    return this.#recovery(recovered);
  }

  append(frame: Frame): Promise<number> {
    if (this.#state === 'open') return this.#commits.append(frame);
    const why = this.#state === 'closed' ? 'is closed' : 'was opened, but its frames were not read to the end';
    return Promise.reject(new Error(`Nothing can be appended: the journal ${why}.`));
  }

  flushed(): Promise<void> {
    return this.#commits.flushed();
  }

  history(id: string, fromSeq = 1): AsyncIterable<StoredEvents> {
    return readHistory(this.#segments(), id, fromSeq);
  }

  async *frames(after: number): AsyncGenerator<StoredFrame> {
    const last = this.#lastFrame;
    for (const segment of [...this.#sealed, this.#active.sealed(last)]) {
      if (segment.lastFrame <= after) continue;
      for await (const { frame } of readFrames(segment, after)) {
        // What is being appended may be in the file already.
        if (frame.number > last) return;
        yield frame;
      }
    }
  }

  ended(before?: string): AsyncIterable<EndedInstance> {
    return readEnded(this.#segments(), before);
  }

  endedInstance(id: string): Promise<EndedInstance | undefined> {
    return findEnded(this.#segments(), id);
  }

  checkpoint(upTo: number, entries: Iterable<JsonObject>): Promise<void> {
    const turn = this.#checkpointing.then(() => this.#writeCheckpoint(upTo, entries));
    this.#checkpointing = turn.catch(() => undefined);
    return turn;
  }

  get stats(): JournalStats {
    return {
      frames: this.#lastFrame,
      bytes: this.#sealedBytes + this.#active.bytes,
      segments: this.#sealed.length + 1,
      syncs: this.#syncs,
      bytesSinceCheckpoint: this.#bytesSinceCheckpoint,
      pending: this.#commits.pending,
    };
  }

  async close(): Promise<void> {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    await this.#commits.flushed().catch((error: StorageError) => {
      this.#options.log.warn({ err: error }, 'closing a journal that failed');
    });
    await Promise.all([this.#indexing, this.#checkpointing]);
    await this.#active.close();
  }

  #begin(recovered: Recovered): GroupCommit {
    this.#state = 'recovering';
    this.#sealed = [...recovered.sealed];
    this.#checkpoint = recovered.checkpoint;
    this.#lastFrame = recovered.lastFrame;
    this.#sealedBytes = recovered.sealed.reduce((sum, segment) => sum + segment.bytes, 0);
    this.#bytesSinceCheckpoint = recovered.bytesSinceCheckpoint;
    return new GroupCommit(recovered.lastFrame + 1, (batch) => this.#commit(batch));
  }

  #recovery({ checkpoint, cut, sealed, lastFrame }: Recovered): Recovery {
    const newest = { ...this.#active.segment, lastFrame };
    const entries = checkpoint === undefined ? none() : readCheckpoint(checkpoint);
    const frames = this.#replay(this.#active, [...sealed, newest], checkpoint?.upTo ?? 0);
    return { checkpoint: entries, frames, ...(cut && { cut }) };
  }

  /** The frames after `upTo`. On its way it fills the index of the segment that is written to, which no file holds. */
  async *#replay(active: ActiveSegment, segments: readonly SealedSegment[], upTo: number): AsyncGenerator<StoredFrame> {
    for (const segment of segments) {
      const isActive = segment.file === active.segment.file;
      if (!isActive && segment.lastFrame <= upTo) continue;
      for await (const { frame, offset, bytes } of readFrames(segment, isActive ? 0 : upTo)) {
        if (isActive) active.index.add(offset, bytes, frame.instances);
        if (frame.number > upTo) yield frame;
      }
    }
    if (this.#state === 'recovering' && this.#active === active) this.#state = 'open';
  }

  async #commit(batch: Batch): Promise<void> {
    const isFull = this.#active.bytes + batch.bytes > this.#options.segmentBytes;
    if (isFull && !this.#active.isEmpty) await this.#roll();
    await this.#active.append(batch);
    this.#lastFrame += batch.frames.length;
    this.#bytesSinceCheckpoint += batch.bytes;
    this.#syncs += 1;
  }

  /** Seals the newest segment and begins the next. Waits for the index before, so that at most two are in memory. */
  async #roll(): Promise<void> {
    await this.#indexing;
    const full = this.#active;
    this.#active = await ActiveSegment.create(this.#options.dir, full.segment.segment + 1, this.#lastFrame + 1);
    const sealed = full.sealed(this.#lastFrame);
    this.#sealed.push(sealed);
    this.#sealedBytes += sealed.bytes;
    this.#indexing = this.#indexes.write(sealed, full.index);
    await full.close();
  }

  async #writeCheckpoint(upTo: number, entries: Iterable<JsonObject>): Promise<void> {
    await this.flushed();
    if (upTo > this.#lastFrame) throw new RangeError(`Frame ${upTo} was not appended: no checkpoint can be of it.`);
    if (upTo <= (this.#checkpoint?.upTo ?? 0)) return;
    const bytesBefore = this.#bytesSinceCheckpoint;
    const checkpoint = await writeCheckpoint(this.#options.dir, upTo, entries);
    const valid = this.#checkpoint === undefined ? [checkpoint] : [this.#checkpoint, checkpoint];
    this.#checkpoint = checkpoint;
    this.#bytesSinceCheckpoint -= bytesBefore;
    await pruneCheckpoints(this.#options.dir, valid).catch((error: Error) => {
      this.#options.log.warn({ err: error }, 'old checkpoints could not be deleted');
    });
  }

  /** Rejects with StorageError when the disk does not take a write. */
  async #probe(): Promise<void> {
    const file = path.join(this.#options.dir, `probe${UNFINISHED}`);
    try {
      const handle = await open(file, 'w', 0o600);
      try {
        await writeAll(handle.fd, Buffer.alloc(PROBE_BYTES, 1), PROBE_BYTES, 0);
        await handle.sync();
      } finally {
        await handle.close();
        await rm(file, { force: true });
      }
    } catch (error) {
      throw storageError('written', this.#options.dir, error);
    }
  }

  /** All segments as they are now, oldest first: what is appended later is not in a reading that has begun. */
  #segments(): IndexedSegment[] {
    const sealed = this.#sealed.map((segment) => ({
      file: segment.file,
      span: () => this.#indexes.span(segment),
      find: (id: string) => this.#indexes.find(segment, id),
      ended: (before: string | undefined) => this.#indexes.ended(segment, before),
    }));
    return [...sealed, this.#active.indexed];
  }
}

async function* none(): AsyncGenerator<never> {}

/** The frames of a segment with a number above `upTo`, oldest first, each with the place of its record. */
async function* readFrames(segment: SealedSegment, upTo: number) {
  const handle = await open(segment.file, 'r').catch((error) => {
    throw storageError('read', segment.file, error);
  });
  try {
    const scan = new SegmentScan(handle, segment.bytes, segment.firstFrame);
    for (let records = await scan.next(); records !== undefined; records = await scan.next()) {
      for (const record of records) {
        if (record.number <= upTo) continue;
        yield { frame: decodeFrame(record, segment.file), offset: record.offset, bytes: record.bytes };
      }
    }
    scan.assertReached(segment.file, segment.lastFrame);
  } finally {
    await handle.close();
  }
}

import { open } from 'node:fs/promises';
import type { EndedInstance } from '../ports.ts';
import { storageError } from './errors.ts';
import { decodeFrame } from './frame.ts';
import { DamagedIndexError, FileIndex, writeIndexFile } from './index-file.ts';
import type { Log } from './log.ts';
import { SegmentScan } from './scan.ts';
import { indexFile, type SealedSegment } from './segment.ts';
import { type IdSpan, type IndexEntry, MemoryIndex, type SegmentIndex } from './segment-index.ts';

/** So many index files have their footer in memory at a time. */
const OPEN_INDEXES = 64;

/**
 * The indexes of all sealed segments, opened when they are asked for. One that is missing or damaged is made again from
 * its segment; CorruptJournalError where that is damaged too.
 */
export class SealedIndexes {
  readonly #log: Log;
  /** By segment number, least recently used first. */
  readonly #open = new Map<number, Promise<SegmentIndex>>();
  readonly #spans = new Map<number, IdSpan>();
  /** Of segments that were sealed just now: used until the index file is there. */
  readonly #unwritten = new Map<number, MemoryIndex>();
  readonly #rebuilding = new Map<number, Promise<SegmentIndex>>();
  /** The one segment whose index is in memory because its file could not be written. */
  #inMemory: number | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Writes the index file of a segment that was just sealed. Never rejects: without the file, the segment is read. */
  async write(segment: SealedSegment, index: MemoryIndex): Promise<void> {
    this.#unwritten.set(segment.segment, index);
    await this.#tryWriting(segment, index);
    this.#unwritten.delete(segment.segment);
  }

  async span(segment: SealedSegment): Promise<IdSpan> {
    let span = this.#spans.get(segment.segment);
    if (span === undefined) {
      span = (await this.#index(segment)).span;
      this.#spans.set(segment.segment, span);
    }
    return span;
  }

  async find(segment: SealedSegment, id: string): Promise<IndexEntry | undefined> {
    try {
      return await (await this.#index(segment)).find(id);
    } catch (error) {
      if (!(error instanceof DamagedIndexError)) throw storageError('read', indexFile(segment.file), error);
      return (await this.#replace(segment, error)).find(id);
    }
  }

  /** As SegmentIndex.ended. */
  async *ended(segment: SealedSegment, before: string | undefined): AsyncGenerator<EndedInstance> {
    let below = before;
    try {
      for await (const instance of (await this.#index(segment)).ended(before)) {
        below = instance.id;
        yield instance;
      }
    } catch (error) {
      if (!(error instanceof DamagedIndexError)) throw storageError('read', indexFile(segment.file), error);
      yield* (await this.#replace(segment, error)).ended(below);
    }
  }

  #index(segment: SealedSegment): Promise<SegmentIndex> {
    const unwritten = this.#unwritten.get(segment.segment);
    if (unwritten !== undefined) return Promise.resolve(unwritten);
    return this.#keep(segment, this.#open.get(segment.segment) ?? this.#openOrRebuild(segment));
  }

  #replace(segment: SealedSegment, damage: DamagedIndexError): Promise<SegmentIndex> {
    return this.#keep(segment, this.#rebuildOnce(segment, damage));
  }

  #keep(segment: SealedSegment, index: Promise<SegmentIndex>): Promise<SegmentIndex> {
    this.#open.delete(segment.segment);
    this.#open.set(segment.segment, index);
    index.catch(() => this.#open.delete(segment.segment));
    const [oldest] = this.#open.keys();
    if (this.#open.size > OPEN_INDEXES && oldest !== undefined) this.#open.delete(oldest);
    return index;
  }

  async #openOrRebuild(segment: SealedSegment): Promise<SegmentIndex> {
    try {
      return await FileIndex.open(segment);
    } catch (error) {
      if (!(error instanceof DamagedIndexError)) throw storageError('read', indexFile(segment.file), error);
      return await this.#rebuildOnce(segment, error);
    }
  }

  #rebuildOnce(segment: SealedSegment, damage: DamagedIndexError): Promise<SegmentIndex> {
    let rebuilding = this.#rebuilding.get(segment.segment);
    if (rebuilding === undefined) {
      rebuilding = this.#rebuild(segment, damage).finally(() => this.#rebuilding.delete(segment.segment));
      this.#rebuilding.set(segment.segment, rebuilding);
    }
    return rebuilding;
  }

  async #rebuild(segment: SealedSegment, damage: DamagedIndexError): Promise<SegmentIndex> {
    this.#log.info({ file: indexFile(segment.file), reason: damage.message }, 'making a journal index again');
    const index = await indexOf(segment);
    if (await this.#tryWriting(segment, index)) return await FileIndex.open(segment);
    if (this.#inMemory !== undefined) this.#open.delete(this.#inMemory);
    this.#inMemory = segment.segment;
    return index;
  }

  async #tryWriting(segment: SealedSegment, index: MemoryIndex): Promise<boolean> {
    try {
      await writeIndexFile(segment, index);
      return true;
    } catch (error) {
      this.#log.warn({ file: indexFile(segment.file), err: error }, 'a journal index could not be written');
      return false;
    }
  }
}

async function indexOf(segment: SealedSegment): Promise<MemoryIndex> {
  const index = new MemoryIndex();
  const handle = await open(segment.file, 'r').catch((error) => {
    throw storageError('read', segment.file, error);
  });
  try {
    const scan = new SegmentScan(handle, segment.bytes, segment.firstFrame);
    for (let records = await scan.next(); records !== undefined; records = await scan.next()) {
      for (const record of records) index.add(record.offset, record.bytes, decodeFrame(record, segment.file).instances);
    }
    scan.assertReached(segment.file, segment.lastFrame);
    return index;
  } finally {
    await handle.close();
  }
}

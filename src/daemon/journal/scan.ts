import type { FileHandle } from 'node:fs/promises';
import { readUpTo } from './durable-file.ts';
import { CorruptJournalError } from './errors.ts';
import { decodeRecordHeader, HEADER_BYTES, isIntact, isPayloadLength, RECORD_HEADER_BYTES } from './format.ts';

/** A record that was found intact. */
export interface StoredRecord {
  /** Where it begins in its segment, and its length with its header. */
  readonly offset: number;
  readonly bytes: number;
  readonly number: number;
  readonly place: number;
  /** Valid until the next chunk is read. */
  readonly payload: Buffer;
}

/** Why a scan stopped before the end of the file. */
export interface Fault {
  readonly offset: number;
  /** Sentence part: what is wrong at `offset`. */
  readonly problem: string;
  /** Intact, but another frame belongs there: no interrupted write leaves this. */
  readonly misplaced: boolean;
}

const CHUNK_BYTES = 1 << 20;

/**
 * Reads a segment from front to back, a chunk at a time, and checks each record: its length, its checksum, and that its
 * number follows the one before. Stops at the first that does not pass (`fault`) or at the end of the file.
 */
export class SegmentScan {
  /** Set when the scan met what is no record; `position` is then where that begins. */
  fault: Fault | undefined;
  /** First byte after the last intact record. */
  position = HEADER_BYTES;
  /** The number that the next record must have. */
  expected: number;
  /** Where the last batch begins: only its records may be there without having been synced. */
  lastBatch = HEADER_BYTES;
  readonly #handle: FileHandle;
  #size: number;
  #chunk = Buffer.allocUnsafe(CHUNK_BYTES);

  /** `size` is how far the file is read, `firstFrame` what its header names. */
  constructor(handle: FileHandle, size: number, firstFrame: number) {
    this.#handle = handle;
    this.#size = size;
    this.expected = firstFrame;
  }

  /** The next records, at least one; undefined at the end or at a fault. */
  async next(): Promise<readonly StoredRecord[] | undefined> {
    while (this.fault === undefined && this.position < this.#size) {
      const start = this.position;
      const wanted = Math.min(this.#chunk.length, this.#size - start);
      const filled = await readUpTo(this.#handle, this.#chunk, wanted, start);
      if (filled < wanted) this.#size = start + filled;
      const records = this.#parse(start, filled);
      if (records.length > 0) return records;
    }
    return undefined;
  }

  /** Throws CorruptJournalError unless the scan of `file` went through all frames up to `lastFrame` and met no fault. */
  assertReached(file: string, lastFrame: number): void {
    if (this.fault !== undefined) throw new CorruptJournalError(file, this.fault.offset, this.fault.problem);
    if (this.expected === lastFrame + 1) return;
    const problem = `ends with frame ${this.expected - 1} where frame ${lastFrame} is the last`;
    throw new CorruptJournalError(file, this.position, problem);
  }

  #parse(start: number, filled: number): StoredRecord[] {
    const records: StoredRecord[] = [];
    for (let at = 0; at < filled; at = this.position - start) {
      const record = this.#recordAt(at, start, filled);
      if (record === undefined) break;
      records.push(record);
      if (record.place === 0) this.lastBatch = record.offset;
      this.expected += 1;
      this.position += record.bytes;
    }
    return records;
  }

  /** The record at `at` of the chunk; undefined when there is none (`fault`) or when more of it must be read first. */
  #recordAt(at: number, start: number, filled: number): StoredRecord | undefined {
    const offset = start + at;
    if (at + RECORD_HEADER_BYTES > filled) {
      return start + filled < this.#size ? undefined : this.#stop(offset, 'ends within a record');
    }
    const header = decodeRecordHeader(this.#chunk, at);
    const bytes = RECORD_HEADER_BYTES + header.payloadBytes;
    if (!isPayloadLength(header.payloadBytes)) return this.#stop(offset, 'holds a record of an impossible length');
    if (offset + bytes > this.#size) return this.#stop(offset, 'ends within a record');
    if (at + bytes > filled) {
      if (bytes > this.#chunk.length) this.#chunk = Buffer.allocUnsafe(bytes);
      return undefined;
    }
    if (!isIntact(this.#chunk, at, header)) return this.#stop(offset, 'holds a record whose checksum does not match');
    if (header.number !== this.expected) {
      return this.#stop(offset, `holds frame ${header.number} where frame ${this.expected} belongs`, true);
    }
    const payload = this.#chunk.subarray(at + RECORD_HEADER_BYTES, at + bytes);
    return { offset, bytes, number: header.number, place: header.place, payload };
  }

  #stop(offset: number, problem: string, misplaced = false): undefined {
    this.fault = { offset, problem, misplaced };
    return undefined;
  }
}

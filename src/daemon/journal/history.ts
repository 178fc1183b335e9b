import { type FileHandle, open } from 'node:fs/promises';
import type { EndedInstance, StoredEvents } from '../ports.ts';
import { readUpTo } from './durable-file.ts';
import { CorruptJournalError, storageError } from './errors.ts';
import { decodeRecordHeader, isIntact, RECORD_HEADER_BYTES } from './format.ts';
import { decodeFrame } from './frame.ts';
import type { IdSpan, IndexEntry } from './segment-index.ts';

/** A segment and what its index answers, wherever the index is kept. */
export interface IndexedSegment {
  readonly file: string;
  span(): Promise<IdSpan>;
  find(id: string): Promise<IndexEntry | undefined>;
  ended(before: string | undefined): AsyncIterable<EndedInstance>;
}

/**
 * The events of an instance from number `fromSeq` on, oldest first, out of `segments` (oldest first). Only what the indexes
 * name is read, and they name durable records only. Stops where the instance ended. CorruptJournalError, StorageError.
 */
export async function* readHistory(
  segments: readonly IndexedSegment[],
  id: string,
  fromSeq: number,
): AsyncGenerator<StoredEvents> {
  let seq: number | undefined = 1;
  for (const segment of segments) {
    const entry = mayHold(await segment.span(), id) ? await segment.find(id) : undefined;
    if (entry === undefined) continue;
    for await (const part of readParts(segment.file, entry, fromSeq, seq)) {
      seq = part.seq + part.events.length;
      const wanted = from(part, fromSeq);
      if (wanted !== undefined) yield wanted;
    }
    if (entry.ended !== undefined) return;
  }
}

/** The parts of one segment, without those that surely lie before `fromSeq`. `seq` is the number that comes next. */
async function* readParts(
  file: string,
  { id, places }: IndexEntry,
  fromSeq: number,
  seq: number,
): AsyncGenerator<StoredEvents> {
  let first = 0;
  while (first + 3 < places.length && (places[first + 5] as number) <= fromSeq) first += 3;
  let expected = first === 0 ? seq : (places[first + 2] as number);
  const reader = await RecordReader.open(file);
  try {
    for (let at = first; at < places.length; at += 3) {
      const offset = places[at] as number;
      const frame = await reader.frame(offset, places[at + 1] as number);
      const instance = frame.instances.find((candidate) => candidate.id === id);
      if (instance?.seq !== expected) {
        throw new CorruptJournalError(file, offset, `does not hold event ${expected} of instance ${id}`);
      }
      expected += instance.events.length;
      yield { ...instance, at: frame.at, frame: frame.number };
    }
  } finally {
    await reader.close();
  }
}

/** `part` without its events before number `fromSeq`; undefined when nothing is left. */
function from(part: StoredEvents, fromSeq: number): StoredEvents | undefined {
  if (part.seq >= fromSeq) return part;
  if (part.seq + part.events.length <= fromSeq) return undefined;
  return { ...part, seq: fromSeq, events: part.events.slice(fromSeq - part.seq) };
}

const mayHold = ({ least, greatest }: IdSpan, id: string): boolean =>
  least !== undefined && greatest !== undefined && least <= id && id <= greatest;

interface Cursor {
  readonly rows: AsyncIterator<EndedInstance>;
  head: EndedInstance;
}

/**
 * Instances that ended, greatest id first over all `segments`, those with id < `before` only. A segment's index is opened
 * when its greatest id comes up, and a block of it read at a time.
 */
export async function* readEnded(
  segments: readonly IndexedSegment[],
  before: string | undefined,
): AsyncGenerator<EndedInstance> {
  const unopened = await byGreatestEnded(segments, before);
  const cursors: Cursor[] = [];
  for (;;) {
    let next = greatest(cursors);
    for (let top = unopened.at(-1); top !== undefined && (next === undefined || next.head.id < top.id); ) {
      unopened.pop();
      const cursor = await openCursor(top.segment, before);
      if (cursor !== undefined) cursors.push(cursor);
      next = greatest(cursors);
      top = unopened.at(-1);
    }
    if (next === undefined) return;
    yield next.head;
    const { value, done } = await next.rows.next();
    if (done === true) cursors.splice(cursors.indexOf(next), 1);
    else next.head = value;
  }
}

/** Segments in which an instance with id < `before` ended, each with its greatest such id or one above it, ascending. */
async function byGreatestEnded(segments: readonly IndexedSegment[], before: string | undefined) {
  const found: { readonly id: string; readonly segment: IndexedSegment }[] = [];
  for (const segment of segments) {
    const { leastEnded, greatestEnded } = await segment.span();
    if (leastEnded === undefined || greatestEnded === undefined) continue;
    if (before !== undefined && leastEnded >= before) continue;
    found.push({ id: before !== undefined && before < greatestEnded ? before : greatestEnded, segment });
  }
  return found.sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
}

async function openCursor(segment: IndexedSegment, before: string | undefined): Promise<Cursor | undefined> {
  const rows = segment.ended(before)[Symbol.asyncIterator]();
  const { value, done } = await rows.next();
  return done === true ? undefined : { rows, head: value };
}

const greatest = (cursors: readonly Cursor[]): Cursor | undefined =>
  cursors.reduce<Cursor | undefined>(
    (most, cursor) => (most && most.head.id > cursor.head.id ? most : cursor),
    undefined,
  );

/** The summary of one ended instance; undefined when none of `segments` holds its end. */
export async function findEnded(segments: readonly IndexedSegment[], id: string): Promise<EndedInstance | undefined> {
  for (const segment of segments.toReversed()) {
    const { leastEnded, greatestEnded } = await segment.span();
    if (leastEnded === undefined || greatestEnded === undefined || id < leastEnded || id > greatestEnded) continue;
    const entry = await segment.find(id);
    if (entry?.ended !== undefined) return { id, ended: entry.ended };
  }
  return undefined;
}

/** Neighbouring records come with one read: an instance that ran alone has its records side by side. */
const WINDOW_BYTES = 64 * 1024;

/** Reads records of one segment in ascending order. */
class RecordReader {
  readonly #file: string;
  readonly #handle: FileHandle;
  #window = Buffer.alloc(0);
  #start = 0;

  private constructor(file: string, handle: FileHandle) {
    this.#file = file;
    this.#handle = handle;
  }

  static async open(file: string): Promise<RecordReader> {
    const handle = await open(file, 'r').catch((error) => {
      throw storageError('read', file, error);
    });
    return new RecordReader(file, handle);
  }

  /** The frame in the record at `offset`. */
  async frame(offset: number, bytes: number) {
    const end = offset + bytes;
    if (offset < this.#start || end > this.#start + this.#window.length) await this.#fill(offset, bytes);
    const at = offset - this.#start;
    const header = at + bytes <= this.#window.length ? decodeRecordHeader(this.#window, at) : undefined;
    if (header?.payloadBytes !== bytes - RECORD_HEADER_BYTES || !isIntact(this.#window, at, header)) {
      throw new CorruptJournalError(this.#file, offset, 'holds a record whose checksum does not match');
    }
    const payload = this.#window.subarray(at + RECORD_HEADER_BYTES, at + bytes);
    return decodeFrame({ number: header.number, offset, payload }, this.#file);
  }

  async #fill(offset: number, bytes: number): Promise<void> {
    const buffer = Buffer.allocUnsafe(Math.max(bytes, WINDOW_BYTES));
    try {
      const read = await readUpTo(this.#handle, buffer, buffer.length, offset);
      this.#window = buffer.subarray(0, read);
      this.#start = offset;
    } catch (error) {
      throw storageError('read', this.#file, error);
    }
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

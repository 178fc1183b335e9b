import { type Frame, type InstanceEvents, StorageError } from '../ports.ts';
import { encodeRecordHeader, MAX_PAYLOAD_BYTES, RECORD_HEADER_BYTES } from './format.ts';
import { assertFits, encodeFrame } from './frame.ts';

/** A batch takes no more frames once it holds this much: what one write and one sync have to carry. */
const BATCH_BYTES = 4 * 1024 * 1024;
const FIRST_BUFFER_BYTES = 256 * 1024;
/** A UTF-16 unit becomes at most so many bytes of UTF-8. */
const MAX_BYTES_PER_UNIT = 3;

interface WaitingFrame {
  readonly number: number;
  /** Where its record begins in the batch, and its length. */
  readonly offset: number;
  readonly bytes: number;
  readonly instances: readonly InstanceEvents[];
  readonly resolve: (number: number) => void;
  readonly reject: (error: Error) => void;
}

/** Frames that become durable together: their records, one behind the other, ready to be written. */
export class Batch {
  readonly frames: WaitingFrame[] = [];
  readonly firstNumber: number;
  bytes = 0;
  #buffer: Buffer;

  /** `buffer` is used, and replaced when it is too small. */
  constructor(firstNumber: number, buffer: Buffer) {
    this.firstNumber = firstNumber;
    this.#buffer = buffer;
  }

  get buffer(): Buffer {
    return this.#buffer;
  }

  /** Adds a record with `text` as its payload. RangeError when it is too large. */
  add(text: string, instances: readonly InstanceEvents[], answer: Pick<WaitingFrame, 'resolve' | 'reject'>): void {
    const offset = this.bytes;
    this.#makeRoom(text);
    const payloadBytes = this.#buffer.write(text, offset + RECORD_HEADER_BYTES, 'utf8');
    const place = this.frames.length;
    const number = this.firstNumber + place;
    encodeRecordHeader(this.#buffer, offset, payloadBytes, number, place);
    const bytes = RECORD_HEADER_BYTES + payloadBytes;
    this.bytes += bytes;
    this.frames.push({ number, offset, bytes, instances, ...answer });
  }

  #makeRoom(text: string): void {
    const free = this.#buffer.length - this.bytes - RECORD_HEADER_BYTES;
    if (text.length * MAX_BYTES_PER_UNIT <= Math.min(free, MAX_PAYLOAD_BYTES)) return;
    const payloadBytes = Buffer.byteLength(text);
    assertFits(payloadBytes);
    if (payloadBytes <= free) return;
    const needed = this.bytes + RECORD_HEADER_BYTES + payloadBytes;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.bytes);
    this.#buffer = larger;
  }
}

/**
 * Gathers frames into batches and has them committed one batch at a time: while one is written and synced, the next one
 * gathers. A batch begins when the work at hand of the event loop is done, so that frames of one moment share a sync.
 */
export class GroupCommit {
  readonly #commit: (batch: Batch) => Promise<void>;
  /** Those that wait to be committed, oldest first; the last one still takes frames. */
  #batches: Batch[] = [];
  #next: number;
  #pending = 0;
  #running = false;
  #failure: Error | undefined;
  #flushes: { readonly upTo: number; readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];
  #spare: Buffer | undefined;

  /** `next` is the number of the next frame; `commit` makes a batch durable or rejects, and is not called after that. */
  constructor(next: number, commit: (batch: Batch) => Promise<void>) {
    this.#next = next;
    this.#commit = commit;
  }

  get pending(): number {
    return this.#pending;
  }

  /** What made a commit fail; nothing is taken any more. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** As JournalPort.append. */
  append(frame: Frame): Promise<number> {
    if (this.#failure !== undefined) return Promise.reject(this.#rejection(this.#failure));
    const text = encodeFrame(frame);
    let answer!: Pick<WaitingFrame, 'resolve' | 'reject'>;
    const durable = new Promise<number>((resolve, reject) => {
      answer = { resolve, reject };
    });
    this.#openBatch().add(text, frame.instances, answer);
    this.#next += 1;
    this.#pending += 1;
    this.#wake();
    return durable;
  }

  /** As JournalPort.flushed. */
  flushed(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#rejection(this.#failure));
    if (this.#pending === 0) return Promise.resolve();
    return new Promise((resolve, reject) => this.#flushes.push({ upTo: this.#next - 1, resolve, reject }));
  }

  #openBatch(): Batch {
    const last = this.#batches.at(-1);
    if (last !== undefined && last.bytes < BATCH_BYTES) return last;
    const batch = new Batch(this.#next, this.#spare ?? Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES));
    this.#spare = undefined;
    this.#batches.push(batch);
    return batch;
  }

  #wake(): void {
    if (this.#running) return;
    this.#running = true;
    setImmediate(() => void this.#commitNext());
  }

  async #commitNext(): Promise<void> {
    const batch = this.#batches.shift();
    if (batch === undefined || batch.frames.length === 0) {
      this.#running = false;
      return;
    }
    try {
      await this.#commit(batch);
    } catch (error) {
      this.#fail(error as Error, batch);
      return;
    }
    this.#acknowledge(batch);
    setImmediate(() => void this.#commitNext());
  }

  #acknowledge(batch: Batch): void {
    this.#pending -= batch.frames.length;
    for (const { resolve, number } of batch.frames) resolve(number);
    const durable = batch.firstNumber + batch.frames.length - 1;
    while (this.#flushes[0] !== undefined && this.#flushes[0].upTo <= durable) this.#flushes.shift()?.resolve();
    if (batch.buffer.length <= BATCH_BYTES) this.#spare = batch.buffer;
  }

  #fail(cause: Error, failed: Batch): void {
    this.#failure = cause;
    const batches = [failed, ...this.#batches];
    this.#batches = [];
    this.#pending = 0;
    for (const batch of batches) for (const { reject } of batch.frames) reject(this.#rejection(cause));
    for (const { reject } of this.#flushes.splice(0)) reject(this.#rejection(cause));
  }

  #rejection(cause: Error): StorageError {
    return cause instanceof StorageError ? cause : new StorageError(cause.message, { cause });
  }
}

import { type FileHandle, open } from 'node:fs/promises';
import { syncData, writeAll } from './durable-file.ts';
import { storageError } from './errors.ts';
import { HEADER_BYTES } from './format.ts';
import type { Batch } from './group-commit.ts';
import type { IndexedSegment } from './history.ts';
import { createSegment, type SealedSegment, type Segment } from './segment.ts';
import { MemoryIndex } from './segment-index.ts';

/** The segment that is written to. What its index names, and everything before `bytes`, is durable. */
export class ActiveSegment {
  readonly segment: Segment;
  readonly index = new MemoryIndex();
  #bytes: number;
  readonly #handle: FileHandle;

  private constructor(segment: Segment, handle: FileHandle) {
    this.segment = segment;
    this.#bytes = segment.bytes;
    this.#handle = handle;
  }

  /** Opens a segment whose `bytes` are all durable, to write behind them. Its index is empty yet. StorageError. */
  static async open(segment: Segment): Promise<ActiveSegment> {
    try {
      return new ActiveSegment(segment, await open(segment.file, 'r+'));
    } catch (error) {
      throw storageError('written', segment.file, error);
    }
  }

  static async create(dir: string, number: number, firstFrame: number): Promise<ActiveSegment> {
    return ActiveSegment.open(await createSegment(dir, number, firstFrame));
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#bytes === HEADER_BYTES;
  }

  get indexed(): IndexedSegment {
    const { index } = this;
    return {
      file: this.segment.file,
      span: () => Promise.resolve(index.span),
      find: (id) => index.find(id),
      ended: (before) => index.ended(before),
    };
  }

  /** Makes a batch durable behind what is there. After an error nothing may be appended any more. */
  async append(batch: Batch): Promise<void> {
    try {
      await writeAll(this.#handle.fd, batch.buffer, batch.bytes, this.#bytes);
      await syncData(this.#handle.fd);
    } catch (error) {
      throw storageError('written', this.segment.file, error);
    }
    for (const { offset, bytes, instances } of batch.frames) this.index.add(this.#bytes + offset, bytes, instances);
    this.#bytes += batch.bytes;
  }

  sealed(lastFrame: number): SealedSegment {
    return { ...this.segment, bytes: this.#bytes, lastFrame };
  }

  /** Goes back to the last durable byte: cuts what a failed append may have left. StorageError. */
  async cutUndurable(): Promise<void> {
    try {
      const handle = await open(this.segment.file, 'r+');
      try {
        const { size } = await handle.stat();
        if (size > this.#bytes) await handle.truncate(this.#bytes);
        await handle.sync();
      } finally {
        await handle.close();
      }
    } catch (error) {
      throw storageError('repaired', this.segment.file, error);
    }
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

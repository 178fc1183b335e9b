import { type FileHandle, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, syncFolder } from '../durable-folder.ts';
import { StorageError } from '../ports.ts';

/** Where a content lies. */
export interface ContentPlace {
  readonly segment: number;
  readonly offset: number;
  /** Bytes. */
  readonly length: number;
}

interface Waiting {
  readonly bytes: Buffer;
  readonly resolve: (place: ContentPlace) => void;
  readonly reject: (error: Error) => void;
}

const SEGMENT_BYTES = 16 * 1024 * 1024;
const NAME = /^(\d{8})\.content$/;

/**
 * What deliveries carried: bytes appended to segment files, all that wait at a time with one write and one sync. Kept apart
 * from the journal, whose facts rest in memory and in every checkpoint; a content is durable before the fact that names its
 * place is. Every start begins a new segment, so that a torn end is never written behind.
 */
export class ContentLog {
  readonly #folder: string;
  readonly #segmentBytes: number;
  readonly #sizes: Map<number, number>;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  #current: { readonly number: number; readonly file: FileHandle } | undefined;
  #last: number;

  private constructor(folder: string, sizes: Map<number, number>, segmentBytes: number) {
    this.#folder = folder;
    this.#sizes = sizes;
    this.#segmentBytes = segmentBytes;
    this.#last = Math.max(0, ...sizes.keys());
  }

  static async open(folder: string, segmentBytes = SEGMENT_BYTES): Promise<ContentLog> {
    await makeFolder(folder);
    const sizes = new Map<number, number>();
    for (const name of (await readdir(folder)).sort()) {
      const number = NAME.exec(name)?.[1];
      if (number !== undefined) sizes.set(Number(number), (await stat(join(folder, name))).size);
    }
    return new ContentLog(folder, sizes, segmentBytes);
  }

  /** Bytes of each segment, oldest first. */
  get segments(): ReadonlyMap<number, number> {
    return this.#sizes;
  }

  /** Of the newest segment that there ever was; 0 when there was none. */
  get newest(): number {
    return this.#last;
  }

  /** Resolves when durable; rejects with StorageError. */
  append(bytes: Buffer): Promise<ContentPlace> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ bytes, resolve, reject });
      this.#writing ??= this.#write();
    });
  }

  /** The bytes, or undefined when they are not there any more. */
  async read({ segment, offset, length }: ContentPlace): Promise<Buffer | undefined> {
    let file: FileHandle;
    try {
      file = await open(this.#path(segment), 'r');
    } catch {
      return undefined;
    }
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
      return bytesRead === length ? buffer : undefined;
    } finally {
      await file.close();
    }
  }

  /** Nothing names its contents any more. */
  async remove(segment: number): Promise<void> {
    this.#sizes.delete(segment);
    await rm(this.#path(segment), { force: true });
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#current?.file.close();
    this.#current = undefined;
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        const places = await this.#append(batch.map(({ bytes }) => bytes));
        for (const [at, { resolve }] of batch.entries()) resolve(places[at] as ContentPlace);
      } catch (error) {
        // What a failed write left is unknown: the next one goes to a new segment.
        await this.#leave();
        const reason = new StorageError(`A delivery cannot be kept: ${(error as Error).message}.`, { cause: error });
        for (const { reject } of batch) reject(reason);
      }
    }
    this.#writing = undefined;
  }

  async #append(parts: readonly Buffer[]): Promise<ContentPlace[]> {
    const { number, file } = await this.#segment();
    let offset = this.#sizes.get(number) ?? 0;
    const places = parts.map(({ length }) => {
      offset += length;
      return { segment: number, offset: offset - length, length };
    });
    const bytes = Buffer.concat(parts);
    const { bytesWritten } = await file.write(bytes, 0, bytes.length, places[0]?.offset ?? 0);
    if (bytesWritten < bytes.length) throw new Error('the disk took only a part of it');
    await file.datasync();
    this.#sizes.set(number, offset);
    return places;
  }

  async #segment(): Promise<{ readonly number: number; readonly file: FileHandle }> {
    if (this.#current !== undefined && (this.#sizes.get(this.#current.number) ?? 0) < this.#segmentBytes)
      return this.#current;
    await this.#leave();
    this.#last += 1;
    const number = this.#last;
    const file = await open(this.#path(number), 'wx', 0o600);
    this.#current = { number, file };
    this.#sizes.set(number, 0);
    await syncFolder(this.#folder);
    return this.#current;
  }

  async #leave(): Promise<void> {
    await this.#current?.file.close().catch(() => undefined);
    this.#current = undefined;
  }

  #path(segment: number): string {
    return join(this.#folder, `${String(segment).padStart(8, '0')}.content`);
  }
}

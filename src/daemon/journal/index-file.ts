/**
 * The index file of a sealed segment: blocks of rows `[id, places, ended]` by ascending id, each block one JSON list; a
 * footer, JSON, that says which segment is meant and where each block lies; and a trailer of 16 bytes: length of the
 * footer, its CRC-32 (4 bytes each, little endian), magic "wfxindx\n". A lookup reads the footer, then one block.
 */
import { open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import type { JsonObject } from '../../engine/json.ts';
import type { EndedInstance } from '../ports.ts';
import { createWhole, readUpTo } from './durable-file.ts';
import { indexFile, type SealedSegment } from './segment.ts';
import type { IdSpan, IndexEntry, MemoryIndex, SegmentIndex } from './segment-index.ts';

const FORMAT = 1;
const MAGIC = Buffer.from('wfxindx\n', 'latin1');
const TRAILER_BYTES = 16;
/** A block is closed when it has grown to this many characters. */
const BLOCK_LENGTH = 32 * 1024;

/** The index file is missing, damaged or another segment's: it must be made again. */
export class DamagedIndexError extends Error {
  override readonly name = 'DamagedIndexError';
}

type Row = readonly [id: string, places: readonly number[], ended: JsonObject | null];

interface Block {
  readonly firstId: string;
  readonly offset: number;
  readonly bytes: number;
  readonly crc: number;
  /** How many of its instances ended in the segment. */
  readonly ended: number;
}

interface Footer {
  readonly format: number;
  readonly segment: number;
  readonly firstFrame: number;
  readonly lastFrame: number;
  /** Size of the segment. */
  readonly bytes: number;
  readonly span: IdSpan;
  readonly blocks: readonly Block[];
}

/** Writes the index file of `segment`. It stops in between for other work. Errors are those of the file system. */
export async function writeIndexFile(segment: SealedSegment, index: MemoryIndex): Promise<void> {
  await createWhole(indexFile(segment.file), async (handle) => {
    const blocks: Block[] = [];
    let offset = 0;
    for (const { firstId, rows, ended } of blocksOf(index.sorted())) {
      const bytes = Buffer.from(`[${rows.join(',')}]`);
      blocks.push({ firstId, offset, bytes: bytes.length, crc: crc32(bytes), ended });
      await handle.writeFile(bytes);
      offset += bytes.length;
    }
    const { segment: number, firstFrame, lastFrame, bytes } = segment;
    const footer: Footer = { format: FORMAT, segment: number, firstFrame, lastFrame, bytes, span: index.span, blocks };
    await handle.writeFile(withTrailer(Buffer.from(JSON.stringify(footer))));
  });
}

function* blocksOf(entries: Iterable<IndexEntry>): Generator<{ firstId: string; rows: string[]; ended: number }> {
  let block = { firstId: '', rows: [] as string[], ended: 0 };
  let length = 0;
  for (const { id, places, ended } of entries) {
    if (block.rows.length === 0) block.firstId = id;
    const row = JSON.stringify([id, places, ended ?? null] satisfies Row);
    block.rows.push(row);
    if (ended !== undefined) block.ended += 1;
    length += row.length;
    if (length < BLOCK_LENGTH) continue;
    yield block;
    block = { firstId: '', rows: [], ended: 0 };
    length = 0;
  }
  if (block.rows.length > 0) yield block;
}

function withTrailer(footer: Buffer): Buffer {
  const trailer = Buffer.alloc(TRAILER_BYTES);
  trailer.writeUInt32LE(footer.length, 0);
  trailer.writeUInt32LE(crc32(footer), 4);
  MAGIC.copy(trailer, 8);
  return Buffer.concat([footer, trailer]);
}

/** An index file, of which only the footer is kept in memory. Its methods reject with DamagedIndexError. */
export class FileIndex implements SegmentIndex {
  readonly span: IdSpan;
  readonly #file: string;
  readonly #blocks: readonly Block[];

  private constructor(file: string, footer: Footer) {
    this.#file = file;
    this.span = footer.span;
    this.#blocks = footer.blocks;
  }

  static async open(segment: SealedSegment): Promise<FileIndex> {
    const file = indexFile(segment.file);
    const footer = await readFooter(file);
    const isOfSegment =
      footer.format === FORMAT &&
      footer.segment === segment.segment &&
      footer.firstFrame === segment.firstFrame &&
      footer.lastFrame === segment.lastFrame &&
      footer.bytes === segment.bytes;
    if (!isOfSegment) throw new DamagedIndexError(`${file} is not the index of ${segment.file}`);
    return new FileIndex(file, footer);
  }

  async find(id: string): Promise<IndexEntry | undefined> {
    const block = this.#blocks[this.#lastBlockFrom(id)];
    const row = block && (await this.#rows(block)).find((candidate) => candidate[0] === id);
    if (row === undefined) return undefined;
    const [, places, ended] = row;
    return ended === null ? { id, places } : { id, places, ended };
  }

  async *ended(before: string | undefined): AsyncGenerator<EndedInstance> {
    const last = before === undefined ? this.#blocks.length - 1 : this.#lastBlockFrom(before);
    for (let at = last; at >= 0; at -= 1) {
      const block = this.#blocks[at] as Block;
      if (block.ended === 0) continue;
      for (const [id, , ended] of (await this.#rows(block)).toReversed()) {
        if (ended !== null && (before === undefined || id < before)) yield { id, ended };
      }
    }
  }

  /** Number of the last block whose first id is not above `id`: the one that holds it, if any does; -1 for none. */
  #lastBlockFrom(id: string): number {
    let low = 0;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#blocks[middle] as Block).firstId <= id) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  async #rows(block: Block): Promise<Row[]> {
    const bytes = await readPart(this.#file, block.offset, block.bytes);
    if (crc32(bytes) !== block.crc) throw new DamagedIndexError(`${this.#file} is damaged at byte ${block.offset}`);
    return JSON.parse(bytes.toString('utf8')) as Row[];
  }
}

async function readFooter(file: string): Promise<Footer> {
  const trailer = await readPart(file, -TRAILER_BYTES, TRAILER_BYTES);
  if (!trailer.subarray(8).equals(MAGIC)) throw new DamagedIndexError(`${file} does not end as an index does`);
  const length = trailer.readUInt32LE(0);
  const footer = await readPart(file, -TRAILER_BYTES - length, length);
  if (crc32(footer) !== trailer.readUInt32LE(4)) throw new DamagedIndexError(`${file} has a damaged footer`);
  return JSON.parse(footer.toString('utf8')) as Footer;
}

/** Reads `length` bytes at `offset`, a negative one counting from the end. DamagedIndexError when they are not there. */
async function readPart(file: string, offset: number, length: number): Promise<Buffer> {
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw new DamagedIndexError(`${file} is missing`);
  });
  try {
    const { size } = await handle.stat();
    const from = offset < 0 ? size + offset : offset;
    if (from < 0 || from + length > size) throw new DamagedIndexError(`${file} is too short`);
    const bytes = Buffer.allocUnsafe(length);
    if ((await readUpTo(handle, bytes, length, from)) < length) throw new DamagedIndexError(`${file} is too short`);
    return bytes;
  } finally {
    await handle.close();
  }
}

import { type FileHandle, open, stat } from 'node:fs/promises';
import path from 'node:path';
import { createWhole, readUpTo } from './durable-file.ts';
import { CorruptJournalError, storageError } from './errors.ts';
import {
  decodeSegmentHeader,
  encodeSegmentHeader,
  HEADER_BYTES,
  isAllZero,
  isUnbornHeader,
  type SegmentHeader,
} from './format.ts';

/** A segment as found on disk. */
export interface Segment extends SegmentHeader {
  readonly file: string;
  /** Size of the file, header included. */
  readonly bytes: number;
}

/** A segment that is written no more. */
export interface SealedSegment extends Segment {
  readonly lastFrame: number;
}

export const segmentFile = (dir: string, segment: number): string =>
  path.join(dir, `${String(segment).padStart(8, '0')}.log`);

export const indexFile = (segment: string): string => segment.replace(/\.log$/, '.idx');

/** The number in the name of a segment (`.log`) or index (`.idx`), or undefined when `name` is another file's. */
export function numberInName(name: string, ending: 'log' | 'idx'): number | undefined {
  const match = /^(\d{8})\.(log|idx)$/.exec(name);
  return match?.[2] === ending ? Number(match[1]) : undefined;
}

/** Makes an empty segment, durable under its name before it is used. */
export async function createSegment(dir: string, segment: number, firstFrame: number): Promise<Segment> {
  const header = { segment, firstFrame, createdAt: Date.now() };
  const file = segmentFile(dir, segment);
  try {
    await createWhole(file, (handle) => handle.writeFile(encodeSegmentHeader(header)));
  } catch (error) {
    throw storageError('made', file, error);
  }
  return { ...header, file, bytes: HEADER_BYTES };
}

/**
 * Reads the header of segment `number`; undefined when a crash interrupted its making and nothing was ever in it (only
 * the newest segment may be that). CorruptJournalError for anything else that is not that segment.
 */
export async function readSegment(dir: string, number: number): Promise<Segment | undefined> {
  const file = segmentFile(dir, number);
  const start = Buffer.alloc(HEADER_BYTES);
  try {
    const { size } = await stat(file);
    const handle = await open(file, 'r');
    try {
      const header = decodeSegmentHeader(start.subarray(0, await readUpTo(handle, start, HEADER_BYTES, 0)));
      if (typeof header !== 'string' && header.segment === number) return { ...header, file, bytes: size };
      if (await holdsNothing(handle, size)) return undefined;
      const problem = typeof header === 'string' ? header : `is a copy of segment ${header.segment}`;
      throw new CorruptJournalError(file, 0, problem);
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw storageError('read', file, error);
  }
}

async function holdsNothing(handle: FileHandle, size: number): Promise<boolean> {
  const chunk = Buffer.alloc(1 << 20);
  if (size < HEADER_BYTES) return isUnbornHeader(chunk.subarray(0, await readUpTo(handle, chunk, size, 0)));
  for (let at = 0; at < size; at += chunk.length) {
    const read = await readUpTo(handle, chunk, chunk.length, at);
    if (!isAllZero(chunk, 0, read)) return false;
  }
  return true;
}

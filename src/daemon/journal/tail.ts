import { type FileHandle, open, rename } from 'node:fs/promises';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { syncFolder } from '../durable-folder.ts';
import type { Recovery } from '../ports.ts';
import { createWhole, readUpTo } from './durable-file.ts';
import { CorruptJournalError, storageError } from './errors.ts';
import {
  decodeRecordHeader,
  frameNumberAt,
  isAllZero,
  isIntact,
  isPayloadLength,
  RECORD_HEADER_BYTES,
} from './format.ts';
import type { Fault } from './scan.ts';

export type Cut = NonNullable<Recovery['cut']>;

/** The unit in which a disk writes: of an interrupted write, each sector is there or not. */
const SECTOR_BYTES = 512;
const WINDOW_BYTES = 1 << 20;

/**
 * Throws CorruptJournalError unless the `fault` that a scan of the newest segment met is a torn tail: what a write leaves
 * that a crash interrupted before it was synced, and so before anything of it was acknowledged. It is torn when no intact
 * record of frame `expected` or later follows; or when those that follow are all of the same batch and the disk left out
 * sectors between (a disk is free in the order in which it writes the sectors of a batch).
 */
export async function assertTorn(
  handle: FileHandle,
  file: string,
  size: number,
  fault: Fault,
  expected: number,
): Promise<void> {
  const corrupt = new CorruptJournalError(file, fault.offset, fault.problem);
  if (fault.misplaced) throw corrupt;
  const most = expected + (size - fault.offset) / RECORD_HEADER_BYTES;
  let next = await intactRecordFrom(handle, fault.offset, size, expected, most);
  if (next === undefined) return;
  if (!(await hasZeroSector(handle, fault.offset, next.offset))) throw corrupt;
  while (next !== undefined) {
    if (next.number - next.place > expected) throw corrupt;
    next = await intactRecordFrom(handle, next.offset + next.bytes, size, expected, most);
  }
}

interface Found {
  readonly offset: number;
  readonly bytes: number;
  readonly number: number;
  readonly place: number;
}

/** The first intact record at or after `from` whose frame number is from `least` to `most`. */
async function intactRecordFrom(
  handle: FileHandle,
  from: number,
  size: number,
  least: number,
  most: number,
): Promise<Found | undefined> {
  const window = Buffer.allocUnsafe(WINDOW_BYTES);
  const step = WINDOW_BYTES - RECORD_HEADER_BYTES + 1;
  for (let start = from; start < size; start += step) {
    const filled = await readUpTo(handle, window, Math.min(WINDOW_BYTES, size - start), start);
    for (let at = 0; at + RECORD_HEADER_BYTES <= filled && at < step; at += 1) {
      const number = frameNumberAt(window, at);
      if (number < least || number > most) continue;
      const header = decodeRecordHeader(window, at);
      const offset = start + at;
      const bytes = RECORD_HEADER_BYTES + header.payloadBytes;
      if (!isPayloadLength(header.payloadBytes) || offset + bytes > size || header.place >= header.number) continue;
      if (await isIntactOnDisk(handle, offset, bytes)) {
        return { offset, bytes, number, place: header.place };
      }
    }
  }
  return undefined;
}

async function isIntactOnDisk(handle: FileHandle, offset: number, bytes: number): Promise<boolean> {
  const record = Buffer.allocUnsafe(bytes);
  if ((await readUpTo(handle, record, bytes, offset)) < bytes) return false;
  return isIntact(record, 0, decodeRecordHeader(record, 0));
}

/** Whether some sector between `from` and `to` (the part of it that lies there) is all zeros. */
async function hasZeroSector(handle: FileHandle, from: number, to: number): Promise<boolean> {
  let position = from;
  for await (const chunk of chunksOf(handle, from, to)) {
    for (let at = 0; at < chunk.length; ) {
      const end = Math.min(chunk.length, at + SECTOR_BYTES - ((position + at) % SECTOR_BYTES));
      if (isAllZero(chunk, at, end)) return true;
      at = end;
    }
    position += chunk.length;
  }
  return false;
}

/**
 * Cuts `file` at `offset`, after a copy of what is cut was made durable beside it: `<file>.torn-<offset>-<checksum>`, so that
 * one tail has one copy, however often its cutting is interrupted. StorageError.
 */
export async function cutTail(file: string, offset: number, size: number): Promise<Cut> {
  try {
    const handle = await open(file, 'r+');
    try {
      const copy = await copyTail(handle, file, offset, size);
      await handle.truncate(offset);
      await handle.sync();
      return { bytes: size - offset, file, copy };
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw storageError('repaired', file, error);
  }
}

async function copyTail(handle: FileHandle, file: string, offset: number, size: number): Promise<string> {
  let checksum = 0;
  for await (const chunk of chunksOf(handle, offset, size)) checksum = crc32(chunk, checksum);
  const copy = `${file}.torn-${offset}-${checksum.toString(16).padStart(8, '0')}`;
  await createWhole(copy, async (target) => {
    for await (const chunk of chunksOf(handle, offset, size)) await target.writeFile(chunk);
  });
  return copy;
}

/** The bytes from `from` to `to`, in pieces that are valid until the next one is asked for. */
async function* chunksOf(handle: FileHandle, from: number, to: number): AsyncGenerator<Buffer> {
  const chunk = Buffer.allocUnsafe(WINDOW_BYTES);
  for (let at = from; at < to; at += chunk.length) {
    yield chunk.subarray(0, await readUpTo(handle, chunk, Math.min(chunk.length, to - at), at));
  }
}

/** Takes away a segment whose making a crash interrupted, by another name. StorageError. */
export async function setAside(file: string, size: number): Promise<Cut> {
  const copy = `${file}.torn-0`;
  try {
    await rename(file, copy);
    await syncFolder(path.dirname(file));
    return { bytes: size, file, copy };
  } catch (error) {
    throw storageError('repaired', file, error);
  }
}

/**
 * A checkpoint file: JSON lines, the first `{"wfx":"checkpoint","format":1,"upTo":<frame>}`, then one for each entry; and a
 * last line of fixed length, `#<number of entries, 16 digits> <CRC-32 of all before it, 8 hex digits>`.
 */
import { type FileHandle, open, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import type { JsonObject } from '../../engine/json.ts';
import { syncFolder } from '../durable-folder.ts';
import { createWhole, readUpTo, syncData } from './durable-file.ts';
import { storageError } from './errors.ts';

const FORMAT = 1;
const CHUNK_BYTES = 1 << 20;
/** Entries are turned into text in slices of about this many characters, with other work in between. */
const SLICE_LENGTH = 64 * 1024;
/** Synced in steps, so that commits which come meanwhile do not wait for all of it. */
const SYNC_EVERY_BYTES = 1 << 20;
const KEPT = 2;

export interface CheckpointFile {
  readonly file: string;
  /** The frame right after which the state was as the entries say. */
  readonly upTo: number;
}

export const checkpointFile = (dir: string, upTo: number): string =>
  path.join(dir, `checkpoint-${String(upTo).padStart(16, '0')}.ckpt`);

/** The frame in the name of a checkpoint, or undefined when `name` is another file's. */
export function frameInName(name: string): number | undefined {
  const match = /^checkpoint-(\d{16})\.ckpt$/.exec(name);
  return match === null ? undefined : Number(match[1]);
}

const closingLine = (entries: number, crc: number): string =>
  `#${String(entries).padStart(16, '0')} ${crc.toString(16).padStart(8, '0')}\n`;

const CLOSING_BYTES = closingLine(0, 0).length;

/** Writes a checkpoint; a crash leaves either all of it or none. StorageError; or what `entries` throws. */
export async function writeCheckpoint(
  dir: string,
  upTo: number,
  entries: Iterable<JsonObject>,
): Promise<CheckpointFile> {
  const file = checkpointFile(dir, upTo);
  try {
    await createWhole(file, (handle) => writeEntries(handle, upTo, entries));
    return { file, upTo };
  } catch (error) {
    throw storageError('written', file, error);
  }
}

async function writeEntries(handle: FileHandle, upTo: number, entries: Iterable<JsonObject>): Promise<void> {
  let slice = `${JSON.stringify({ wfx: 'checkpoint', format: FORMAT, upTo })}\n`;
  let crc = 0;
  let count = 0;
  let unsynced = 0;
  const write = async (): Promise<void> => {
    const bytes = Buffer.from(slice);
    slice = '';
    crc = crc32(bytes, crc);
    await handle.writeFile(bytes);
    unsynced += bytes.length;
    if (unsynced < SYNC_EVERY_BYTES) return;
    await syncData(handle.fd);
    unsynced = 0;
  };
  for (const entry of entries) {
    slice += `${JSON.stringify(entry)}\n`;
    count += 1;
    if (slice.length >= SLICE_LENGTH) await write();
  }
  await write();
  await handle.writeFile(closingLine(count, crc));
}

/** Deletes all checkpoints but the newest of `valid` (ascending), and returns those. StorageError. */
export async function pruneCheckpoints(dir: string, valid: readonly CheckpointFile[]): Promise<CheckpointFile[]> {
  const kept = valid.slice(-KEPT);
  try {
    for (const entry of await readdir(dir, { withFileTypes: true })) {
      const upTo = entry.isFile() ? frameInName(entry.name) : undefined;
      if (upTo === undefined || kept.some((checkpoint) => checkpoint.upTo === upTo)) continue;
      await rm(path.join(dir, entry.name));
    }
    await syncFolder(dir);
    return kept;
  } catch (error) {
    throw storageError('changed', dir, error);
  }
}

/** What is wrong with a checkpoint, as a sentence part; undefined when it is whole. Reads all of it. */
export async function checkCheckpoint({ file, upTo }: CheckpointFile): Promise<string | undefined> {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    if (size < CLOSING_BYTES) return 'is too short';
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const closing = chunk.toString('latin1', 0, await readUpTo(handle, chunk, CLOSING_BYTES, size - CLOSING_BYTES));
    let crc = 0;
    let entries = -1;
    let firstLine: string | undefined;
    for (let at = 0; at < size - CLOSING_BYTES; at += chunk.length) {
      const read = await readUpTo(handle, chunk, Math.min(chunk.length, size - CLOSING_BYTES - at), at);
      const part = chunk.subarray(0, read);
      crc = crc32(part, crc);
      for (let line = part.indexOf(10); line >= 0; line = part.indexOf(10, line + 1)) entries += 1;
      firstLine ??= part.toString('utf8', 0, Math.max(part.indexOf(10), 0));
    }
    if (closing !== closingLine(Math.max(entries, 0), crc)) return 'has a checksum that does not match';
    return checkFirstLine(firstLine ?? '', upTo);
  } finally {
    await handle.close();
  }
}

function checkFirstLine(line: string, upTo: number): string | undefined {
  const header = JSON.parse(line) as { readonly format?: unknown; readonly upTo?: unknown };
  if (header.format !== FORMAT)
    return `has format ${header.format}, and this release of wfx reads format ${FORMAT} only`;
  return header.upTo === upTo ? undefined : `is a copy of the checkpoint of frame ${header.upTo}`;
}

/** The entries of a checkpoint that was found whole, streamed. StorageError. */
export async function* readCheckpoint({ file }: CheckpointFile): AsyncGenerator<JsonObject> {
  const handle = await open(file, 'r').catch((error) => {
    throw storageError('read', file, error);
  });
  try {
    let isHeader = true;
    for await (const line of linesOf(handle, file)) {
      if (!isHeader) yield JSON.parse(line) as JsonObject;
      isHeader = false;
    }
  } finally {
    await handle.close();
  }
}

async function* linesOf(handle: FileHandle, file: string): AsyncGenerator<string> {
  try {
    const end = (await handle.stat()).size - CLOSING_BYTES;
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    let begun: Buffer[] = [];
    for (let at = 0; at < end; at += chunk.length) {
      const read = await readUpTo(handle, chunk, Math.min(chunk.length, end - at), at);
      let from = 0;
      for (let to = chunk.indexOf(10); to >= 0 && to < read; to = chunk.indexOf(10, from)) {
        yield Buffer.concat([...begun, chunk.subarray(from, to)]).toString('utf8');
        begun = [];
        from = to + 1;
      }
      begun.push(Buffer.from(chunk.subarray(from, read)));
    }
  } catch (error) {
    throw storageError('read', file, error);
  }
}

import { fdatasync, write } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { syncFolder } from '../durable-folder.ts';
import { StorageError } from '../ports.ts';

/** Ends the name of a file that is not whole yet. */
export const UNFINISHED = '.tmp';

/**
 * Makes `file` out of nothing, so that a crash leaves either all of it or none: `fill` writes it under another name, then it is
 * synced, renamed and its folder synced. Returns what `fill` returned.
 */
export async function createWhole<T>(file: string, fill: (handle: FileHandle) => Promise<T>): Promise<T> {
  const unfinished = file + UNFINISHED;
  try {
    const handle = await open(unfinished, 'w', 0o600);
    let result: T;
    try {
      result = await fill(handle);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(unfinished, file);
    await syncFolder(path.dirname(file));
    return result;
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** Writes the first `length` bytes of `buffer` at `position` of an open file, in as many writes as the disk wants. */
export async function writeAll(fd: number, buffer: Buffer, length: number, position: number): Promise<void> {
  for (let done = 0; done < length; ) {
    const taken = await writeOnce(fd, buffer, done, length - done, position + done);
    if (taken === 0)
      throw new StorageError(`The disk took ${done} of ${length} bytes and then no more: free some space.`);
    done += taken;
  }
}

function writeOnce(fd: number, buffer: Buffer, from: number, length: number, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, buffer, from, length, position, (error, written) => (error === null ? resolve(written) : reject(error)));
  });
}

/** Makes the content of an open file durable, with as much of its metadata as reading it back needs. */
export function syncData(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fdatasync(fd, (error) => (error === null ? resolve() : reject(error)));
  });
}

/** Reads up to `length` bytes at `position`; fewer only where the file ends. */
export async function readUpTo(handle: FileHandle, buffer: Buffer, length: number, position: number): Promise<number> {
  let done = 0;
  while (done < length) {
    const { bytesRead } = await handle.read(buffer, done, length - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return done;
}

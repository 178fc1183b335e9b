import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder, syncFolder } from '../durable-folder.ts';
import { StorageError } from '../ports.ts';

/**
 * Puts a file in place as a whole: a crash at any point leaves either what was there before or the new content, and after
 * this resolves a power cut does not take it back. The folder is made when missing. Rejects with StorageError.
 */
export async function writeWhole(path: string, content: string | Uint8Array, mode = 0o600): Promise<void> {
  const folder = dirname(path);
  const draft = join(folder, `.${randomUUID()}.tmp`);
  try {
    await makeFolder(folder);
    await writeSynced(draft, content, mode);
    await putInPlace(draft, path);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    throw new StorageError(`${path} cannot be written: ${(error as Error).message}.`, { cause: error });
  }
}

async function writeSynced(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Renames a file that is already synced, and syncs its folder, so that the new name lasts too. */
export async function putInPlace(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncFolder(dirname(to));
}

import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolders } from '../home.ts';

/** Makes a folder with those above it, durably, for its owner alone. Rejects with what the file system says. */
export async function makeFolder(path: string): Promise<void> {
  for (const made of makeFolders(path)) await syncFolder(dirname(made));
}

/**
 * Makes the names in a folder durable: files made, renamed and deleted in it. Windows can't open folders; there the change
 * itself is as lasting as it gets.
 */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

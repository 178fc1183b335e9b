import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StorageError } from '../ports.ts';
import { writeWhole } from './durable-file.ts';

export const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');

/**
 * The sources of flow versions, `<folder>/<processId>/<version>.yaml`, each written once. A file is durable before the fact
 * that names it (with its hash) is appended, so a crash at any point leaves either a version with its source, or a file that no
 * fact names, which the next publish replaces. Sources stay out of the journal so that they are neither held in memory nor
 * copied into every checkpoint.
 */
export class FlowFiles {
  readonly #folder: string;
  constructor(folder: string) {
    this.#folder = folder;
  }

  write(processId: string, version: string, source: string): Promise<void> {
    return writeWhole(this.#path(processId, version), source);
  }

  /** The source, proved by its hash; StorageError when the file is lost or was changed. */
  read(processId: string, version: string, hash: string): string {
    const path = this.#path(processId, version);
    let source: string;
    try {
      source = readFileSync(path, 'utf8');
    } catch (error) {
      throw new StorageError(`Flow file ${path} cannot be read: restore it from a backup.`, { cause: error });
    }
    if (sha256(source) !== hash)
      throw new StorageError(
        `Flow file ${path} is not what was published: restore it from a backup (published versions never change).`,
      );
    return source;
  }

  #path(processId: string, version: string): string {
    return join(this.#folder, processId, `${version}.yaml`);
  }
}

import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, type ReadStream } from 'node:fs';
import { open, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Json } from '../../engine/json.ts';
import { makeFolder } from '../durable-folder.ts';
import { StorageError } from '../ports.ts';
import { Refusal } from '../refusal.ts';
import { putInPlace } from './durable-file.ts';
import type { Collections } from './views.ts';

export interface UploadRecord {
  readonly fileId: string;
  readonly organizationId: string;
  readonly name: string;
  readonly contentType: string;
  /** Bytes. */
  readonly size: number;
  /** In hexadecimal. */
  readonly sha256: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

const FILE_ID = /^[0-9a-f]{32}$/;

/** Uploaded files: what inputs of type `file` refer to. The content is durable before the fact that names it. */
export class UploadStore {
  readonly #collections: Collections;
  readonly #folder: string;
  readonly #limit: number;

  /** `limit`: bytes of the largest file that is taken. */
  constructor(collections: Collections, folder: string, limit: number) {
    this.#collections = collections;
    this.#folder = folder;
    this.#limit = limit;
  }

  /** The file, if it belongs to the organization (undefined: to any). */
  find(fileId: string, organizationId: string | undefined): UploadRecord | undefined {
    const record = FILE_ID.test(fileId) ? this.#collections.get<UploadRecord>('files', fileId) : undefined;
    return organizationId === undefined || record?.organizationId === organizationId ? record : undefined;
  }

  /** Rejects before the first byte when the file is lost. */
  async content(record: UploadRecord): Promise<ReadStream> {
    const path = join(this.#folder, record.fileId);
    try {
      const file = await open(path, 'r');
      return createReadStream(path, { fd: file });
    } catch (error) {
      throw new StorageError(`Uploaded file ${path} cannot be read: restore it from a backup.`, { cause: error });
    }
  }

  /** PAYLOAD_TOO_LARGE over the limit; StorageError. Nothing stays of an upload that breaks off. */
  async save(
    content: Readable,
    about: Pick<UploadRecord, 'organizationId' | 'name' | 'contentType'>,
    now: number,
  ): Promise<UploadRecord> {
    const fileId = randomBytes(16).toString('hex');
    const draft = join(this.#folder, `${fileId}.tmp`);
    try {
      await makeFolder(this.#folder);
      const written = await this.#write(content, draft);
      await putInPlace(draft, join(this.#folder, fileId));
      const record = { fileId, ...about, ...written, createdAt: new Date(now).toISOString() };
      await this.#collections.put([{ collection: 'files', key: fileId, value: record as unknown as Json }]);
      return record;
    } catch (error) {
      await rm(draft, { force: true }).catch(() => undefined);
      throw isDiskError(error)
        ? new StorageError(`The file cannot be kept: ${error.message}.`, { cause: error })
        : error;
    }
  }

  /** Deletes what an earlier crash left: drafts, and files that no fact names. */
  async sweep(): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []);
    for (const name of names)
      if (name.endsWith('.tmp') || (FILE_ID.test(name) && this.#collections.get('files', name) === undefined))
        await rm(join(this.#folder, name), { force: true });
  }

  async #write(content: Readable, path: string): Promise<{ size: number; sha256: string }> {
    const hash = createHash('sha256');
    const limit = this.#limit;
    let size = 0;
    const counted = async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of chunks) {
        size += chunk.length;
        if (size > limit)
          throw new Refusal('PAYLOAD_TOO_LARGE', `The file is larger than ${limit} bytes, the limit for uploads.`);
        hash.update(chunk);
        yield chunk;
      }
    };
    const file = await open(path, 'wx', 0o600);
    try {
      await writeFile(file, counted(content));
      await file.sync();
    } finally {
      await file.close();
    }
    return { size, sha256: hash.digest('hex') };
  }
}

const isDiskError = (error: unknown): error is Error =>
  ['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EROFS', 'EACCES', 'EPERM', 'EMFILE'].includes(
    (error as NodeJS.ErrnoException).code ?? '',
  );

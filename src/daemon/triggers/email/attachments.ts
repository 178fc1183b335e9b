import { Readable } from 'node:stream';
import type { JsonObject } from '../../../engine/json.ts';
import { Refusal } from '../../refusal.ts';
import type { UploadStore } from '../../store/uploads.ts';
import type { Mail, MailAttachment } from './mail.ts';

/** Keeps attachments as uploads; gives references to them. Those over the limit for uploads are left out. StorageError. */
export async function storedFiles(
  uploads: UploadStore,
  organizationId: string,
  { attachments }: Mail,
): Promise<JsonObject[]> {
  const files: JsonObject[] = [];
  for (const one of attachments) {
    const file = await stored(uploads, organizationId, one);
    if (file !== undefined) files.push(file);
  }
  return files;
}

async function stored(
  uploads: UploadStore,
  organizationId: string,
  { name, contentType, content }: MailAttachment,
): Promise<JsonObject | undefined> {
  try {
    const about = { organizationId, name, contentType };
    const { fileId: id, size } = await uploads.save(Readable.from([content]), about, Date.now());
    return { id, name, contentType, size };
  } catch (error) {
    if (error instanceof Refusal && error.code === 'PAYLOAD_TOO_LARGE') return undefined;
    throw error;
  }
}

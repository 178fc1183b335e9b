import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { Json, JsonObject } from '../../engine/json.ts';
import { type LogLevel, WorkError } from './executor.ts';

/** Bytes of an answer's body, as it comes and again when it is unpacked. */
const MAX_BODY = 4 * 1024 * 1024;
const MAX_EXCERPT = 64 * 1024;
const EXCERPT_LENGTH = 200;

const UNPACK = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

/** The unpacked body. @throws WorkError HTTP_RESPONSE_TOO_LARGE beyond 4 MiB, without reading or unpacking on. */
export async function contentOf(response: IncomingMessage): Promise<Buffer> {
  const { bytes, complete } = await firstBytes(response, MAX_BODY);
  if (!complete) throw tooLarge();
  return unpacked(response, bytes);
}

/** The first 200 characters of an error's body, masked and on one line; empty where it is no text. */
export async function excerpt(response: IncomingMessage, masked: (text: string) => string): Promise<string> {
  const { bytes, complete } = await firstBytes(response, MAX_EXCERPT);
  const plain = complete ? await unpacked(response, bytes).catch(() => Buffer.alloc(0)) : bytes;
  const text = textOf(plain, response.headers['content-type'] ?? '') ?? '';
  return masked(text)
    .replace(/[\s\x00-\x1f\x7f]+/g, ' ')
    .trim()
    .slice(0, EXCERPT_LENGTH);
}

/**
 * The node's result. The body is the parsed value where the content type is JSON (`null` when empty), text where it is
 * textual or missing and valid UTF-8, else base64 text. A body that claims to be JSON and is not stays text.
 */
export function resultOf(
  response: IncomingMessage,
  content: Buffer,
  name: string,
  log: (level: LogLevel, message: string) => void,
): JsonObject {
  const headers: Record<string, Json> = Object.create(null);
  for (const [key, value] of Object.entries(response.headers)) if (value !== undefined) headers[key] = value;
  const type = response.headers['content-type'] ?? '';
  const text = textOf(content, type);
  const result = (body: Json): JsonObject => ({ status: response.statusCode ?? 0, headers, body });
  if (text === undefined) return result(content.toString('base64'));
  if (!/^[^;]*[/+]json\s*(;|$)/i.test(type)) return result(text);
  if (text.trim() === '') return result(null);
  try {
    return result(JSON.parse(text) as Json);
  } catch {
    log('WARN', `${name} answered with a body that is not the JSON it claims to be; it is kept as text`);
    return result(text);
  }
}

async function firstBytes(response: IncomingMessage, limit: number): Promise<{ bytes: Buffer; complete: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    // Leaving the loop closes the connection.
    if (size > limit) return { bytes: Buffer.concat(chunks).subarray(0, limit), complete: false };
  }
  return { bytes: Buffer.concat(chunks), complete: true };
}

async function unpacked(response: IncomingMessage, bytes: Buffer): Promise<Buffer> {
  const unpack = UNPACK.get((response.headers['content-encoding'] ?? '').trim().toLowerCase());
  if (unpack === undefined || bytes.length === 0) return bytes;
  try {
    return await unpack(bytes, { maxOutputLength: MAX_BODY });
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge() : error;
  }
}

const tooLarge = () =>
  new WorkError('HTTP_RESPONSE_TOO_LARGE', `the answer is larger than ${MAX_BODY / 1024 / 1024} MiB`);

function textOf(content: Buffer, type: string): string | undefined {
  const charset = /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(type)?.[1];
  if (charset !== undefined) return decoded(content, charset, false) ?? decoded(content, 'utf-8', false);
  if (
    /^\s*(text\/|[^;]*[/+](json|xml|yaml|javascript|ecmascript|x-www-form-urlencoded|x-ndjson|graphql)\s*(;|$))/i.test(
      type,
    )
  )
    return decoded(content, 'utf-8', false);
  return type === '' ? decoded(content, 'utf-8', true) : undefined;
}

function decoded(content: Buffer, charset: string, fatal: boolean): string | undefined {
  try {
    return new TextDecoder(charset, { fatal }).decode(content);
  } catch {
    return undefined;
  }
}

import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import parseAddresses from 'nodemailer/lib/addressparser';
import { isObject, type Json, type JsonObject } from '../../engine/json.ts';
import { type ExecutorContext, WorkError } from './executor.ts';
import type { StoredFiles } from './ports.ts';

export interface Mailbox {
  readonly name: string;
  readonly address: string;
}

export interface Attachment {
  readonly filename: string;
  readonly contentType?: string;
  readonly content: Buffer | Readable;
}

/** A message as it goes out. Nothing in it can name a file or an address to be fetched. */
export interface Message {
  readonly from: Mailbox;
  readonly to: readonly Mailbox[];
  readonly cc: readonly Mailbox[];
  readonly bcc: readonly Mailbox[];
  readonly subject: string;
  readonly text?: string;
  readonly html?: string;
  readonly attachments: readonly Attachment[];
  /** Made from the idempotency key: the same for every attempt, so that a mailbox can drop what came twice. */
  readonly messageId: string;
}

const MAX_RECIPIENTS = 1000;
const ADDRESS = /^[^\s<>()[\]\\,;:"\x00-\x1f\x7f]+@[^\s<>()\\,;:"@\x00-\x1f\x7f]+$/;

/**
 * Reads `{to, cc?, bcc?, from?, subject, text?, html?, attachments?}`. Recipients are a text, with commas between several,
 * or a list with one in each. An attachment is an uploaded file (its id, or an object with that `id`) or
 * `{filename, content | base64, contentType?}`.
 * @throws WorkError EMAIL_REJECTED for what no mail server could take, line breaks in one-line fields among it.
 */
export async function messageOf(
  input: JsonObject,
  sender: string | undefined,
  files: StoredFiles | undefined,
  context: ExecutorContext,
): Promise<Message> {
  const [from, ...others] = mailboxes('from', input['from'] ?? sender ?? null, context);
  if (from === undefined || others.length > 0)
    throw rejected(context, 'it needs exactly one sender; give `from`, or set one with the SMTP server');
  const to = mailboxes('to', input['to'] ?? null, context);
  const cc = mailboxes('cc', input['cc'] ?? null, context);
  const bcc = mailboxes('bcc', input['bcc'] ?? null, context);
  const recipients = to.length + cc.length + bcc.length;
  if (recipients === 0) throw rejected(context, 'it has no recipient');
  if (recipients > MAX_RECIPIENTS) throw rejected(context, `it has more than ${MAX_RECIPIENTS} recipients`);
  const subject = oneLine('subject', input['subject'] ?? '', context);
  const { text, html } = input;
  return {
    from,
    to,
    cc,
    bcc,
    subject,
    ...(text !== undefined && text !== null && { text: asText(text) }),
    ...(html !== undefined && html !== null && { html: asText(html) }),
    attachments: await attachmentsOf(input['attachments'] ?? null, files, context),
    messageId: messageIdOf(context.idempotencyKey, from),
  };
}

function messageIdOf(idempotencyKey: string, { address }: Mailbox): string {
  const hash = createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 40);
  return `<${hash}@${address.slice(address.lastIndexOf('@') + 1)}>`;
}

function mailboxes(field: string, value: Json, context: ExecutorContext): Mailbox[] {
  if (value === null || value === '') return [];
  // In a list each text is one recipient: a comma that a variable brought in adds none.
  if (Array.isArray(value)) return value.map((each) => mailbox(field, each, context));
  if (typeof value !== 'string') return [mailbox(field, value, context)];
  const line = oneLine(field, value, context);
  return parseAddresses(line, { flatten: true }).map((parsed) => valid(field, parsed, line, context));
}

function mailbox(field: string, value: Json, context: ExecutorContext): Mailbox {
  const line = oneLine(field, isObject(value) ? (value['address'] ?? '') : value, context);
  const [parsed, ...others] = parseAddresses(line, { flatten: true });
  if (parsed === undefined || others.length > 0)
    throw rejected(context, `each entry of \`${field}\` is one address, and '${line.slice(0, 200)}' is not`);
  const name =
    isObject(value) && typeof value['name'] === 'string' ? oneLine(field, value['name'], context) : parsed.name;
  return valid(field, { name, address: parsed.address }, line, context);
}

function valid(field: string, { name, address }: Mailbox, line: string, context: ExecutorContext): Mailbox {
  if (ADDRESS.test(address)) return { name, address };
  throw rejected(context, `\`${field}\` holds '${line.slice(0, 200)}', which is no email address`);
}

function oneLine(field: string, value: Json, context: ExecutorContext): string {
  const text = asText(value);
  if (/[\r\n\0\x0b\x0c\x85\u2028\u2029]/.test(text))
    throw rejected(context, `\`${field}\` holds a line break; it must be one line`);
  return text;
}

async function attachmentsOf(
  value: Json,
  files: StoredFiles | undefined,
  context: ExecutorContext,
): Promise<Attachment[]> {
  const entries = value === null ? [] : Array.isArray(value) ? value : [value];
  const attachments: Attachment[] = [];
  try {
    for (const entry of entries) attachments.push(inline(entry, context) ?? (await stored(entry, files, context)));
  } catch (error) {
    discard(attachments);
    throw error;
  }
  return attachments;
}

/** Closes the files of attachments that were not read to their end. */
export function discard(attachments: readonly Attachment[]): void {
  for (const { content } of attachments) if (!Buffer.isBuffer(content)) content.destroy();
}

function inline(entry: Json, context: ExecutorContext): Attachment | undefined {
  if (!isObject(entry)) return undefined;
  const { content, base64, filename = 'attachment', contentType } = entry;
  const bytes =
    typeof base64 === 'string'
      ? Buffer.from(base64, 'base64')
      : content === undefined
        ? undefined
        : Buffer.from(asText(content));
  if (bytes === undefined) return undefined;
  return {
    filename: oneLine('filename', filename, context),
    ...(contentType !== undefined && { contentType: oneLine('contentType', contentType, context) }),
    content: bytes,
  };
}

async function stored(entry: Json, files: StoredFiles | undefined, context: ExecutorContext): Promise<Attachment> {
  const id = isObject(entry) ? entry['id'] : entry;
  const file = typeof id === 'string' ? await files?.open(context.organizationId, id) : undefined;
  if (file === undefined)
    throw rejected(
      context,
      `attachment '${asText(entry).slice(0, 200)}' is no uploaded file, and no {filename, content}`,
    );
  return { filename: file.name, contentType: file.contentType, content: file.content };
}

const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

const rejected = ({ nodeId }: ExecutorContext, problem: string): WorkError =>
  new WorkError('EMAIL_REJECTED', `node '${nodeId}': the message can't be sent: ${problem}`);

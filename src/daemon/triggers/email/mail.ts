import { createHash } from 'node:crypto';
import type { AddressObject, ParsedMail } from 'mailparser';

/** A message as flows see it. */
export interface Mail {
  /** With its angle brackets; undefined where the sender gave none. */
  readonly messageId: string | undefined;
  readonly subject: string;
  /** Its address alone, as are the recipients; empty where there is none. */
  readonly sender: string;
  /** Of To and Cc. */
  readonly recipients: readonly string[];
  /** What the sender says when it was sent. */
  readonly date: Date | undefined;
  /** Plain, or made of HTML. */
  readonly text: string;
  readonly attachments: readonly MailAttachment[];
  /** Something of it was left out. */
  readonly truncated: boolean;
}
export interface MailAttachment {
  readonly name: string;
  readonly contentType: string;
  readonly content: Buffer;
}

const MAX_LINE = 10_000;
const MAX_TEXT = 1024 * 1024;
/** Longer than any that mail could reach. */
const MAX_ADDRESS = 320;
const MAX_RECIPIENTS = 1000;
const MAX_ATTACHMENTS = 50;
const MAX_NAME = 200;

/** Reads a message, or as much of it as there is: mail that breaks the rules is read as well as can be. */
export async function readMail(source: Buffer): Promise<Mail> {
  const { simpleParser } = await import('mailparser');
  const parsed = await simpleParser(source, {
    skipTextToHtml: true,
    keepCidLinks: true,
    maxHtmlLengthToParse: MAX_TEXT,
  });
  const text = parsed.text ?? '';
  const recipients = [...new Set([...addressesIn(parsed.to), ...addressesIn(parsed.cc)])];
  return {
    messageId: parsed.messageId?.slice(0, MAX_LINE),
    subject: oneLine(parsed.subject ?? ''),
    sender: addressesIn(parsed.from)[0] ?? '',
    recipients: recipients.slice(0, MAX_RECIPIENTS),
    date: dateOf(parsed),
    text: text.slice(0, MAX_TEXT),
    attachments: parsed.attachments.slice(0, MAX_ATTACHMENTS).map(attachmentOf),
    truncated:
      text.length > MAX_TEXT || parsed.attachments.length > MAX_ATTACHMENTS || recipients.length > MAX_RECIPIENTS,
  };
}

/** With at most so many characters of text. */
export const shortened = (mail: Mail, most: number): Mail =>
  mail.text.length <= most ? mail : { ...mail, text: mail.text.slice(0, most), truncated: true };

/**
 * By what a message is known for the same one, wherever in the inbox it lies: its Message-ID with its date and sender, which
 * copies share; without a Message-ID its bytes.
 */
export function identityOf({ messageId, date, sender }: Mail, start: Buffer): string {
  const hash = createHash('sha256');
  if (messageId === undefined) hash.update(start);
  else hash.update(JSON.stringify([messageId, date?.getTime() ?? null, sender.toLowerCase()]));
  return hash.digest('base64url');
}

function addressesIn(given: AddressObject | AddressObject[] | undefined): string[] {
  const lists = given === undefined ? [] : Array.isArray(given) ? given : [given];
  const entries = lists.flatMap(({ value }) => value.flatMap((entry) => entry.group ?? [entry]));
  return entries
    .map(({ address = '' }) => oneLine(address))
    .filter((address) => address !== '' && address.length <= MAX_ADDRESS);
}

/** From the header itself: the parser takes one that it can't read for now. */
function dateOf({ headerLines }: ParsedMail): Date | undefined {
  const line = headerLines.find(({ key }) => key === 'date')?.line ?? '';
  const date = new Date(line.slice(line.indexOf(':') + 1).replace(/\s+/g, ' '));
  return Number.isNaN(date.getTime()) ? undefined : date;
}

const oneLine = (text: string): string => text.replace(/[\r\n\0]+/g, ' ').slice(0, MAX_LINE);

function attachmentOf({ filename, contentType, content }: ParsedMail['attachments'][number], at: number) {
  // Some senders name a whole path.
  const named = (filename ?? '')
    .replace(/^.*[\\/]/s, '')
    .replace(/[\x00-\x1f\x7f]/g, '')
    .trim()
    .slice(0, MAX_NAME);
  return {
    name: named === '' || named === '.' || named === '..' ? `attachment-${at + 1}` : named,
    contentType: /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(contentType) ? contentType : 'application/octet-stream',
    content,
  };
}

import { isIP } from 'node:net';
import type { Json } from '../../engine/json.ts';
import { discard, type Message, messageOf } from './email-message.ts';
import { type ExecutorContext, type Service, type SmtpSettings, WorkError } from './executor.ts';
import type { StoredFiles } from './ports.ts';

const CONNECT_MS = 30_000;
/** Safety net for servers that fall silent; flows set `timeout`. */
const SILENCE_MS = 5 * 60_000;

/**
 * `service: email`. See `messageOf` for the message. The value is `{messageId, accepted, rejected}`, the latter two being
 * addresses; a message that at least one recipient can get is sent.
 * Errors: EMAIL_NOT_CONFIGURED; EMAIL_REJECTED when the message is wrong or the server refuses it, its recipients or the
 * password; EMAIL_UNREACHABLE when there is no server, the connection breaks or is not safe.
 */
export function createEmail(files: (() => StoredFiles) | undefined): Service {
  return {
    async execute(input, context) {
      const { smtp } = context.settings;
      if (smtp === undefined)
        throw notConfigured(context, 'this daemon has no mail server; set `smtp` in its settings');
      if (typeof input['connection'] === 'string')
        throw notConfigured(
          context,
          `there is no connection '${input['connection']}' that sends; leave it out to use the daemon's mail server`,
        );
      const message = await messageOf(input, smtp.from, files?.(), context);
      try {
        return await send(message, smtp, context);
      } finally {
        discard(message.attachments);
      }
    },
  };
}

const notConfigured = ({ nodeId }: ExecutorContext, problem: string): WorkError =>
  new WorkError('EMAIL_NOT_CONFIGURED', `node '${nodeId}': ${problem}`);

async function send(message: Message, smtp: SmtpSettings, context: ExecutorContext): Promise<Json> {
  const { createTransport } = await import('nodemailer');
  const { host, port, secure = false, user, password = '' } = smtp;
  const transport = createTransport({
    host,
    secure,
    ...(port !== undefined && { port }),
    ...(user !== undefined && { auth: { user, pass: password } }),
    // A password crosses no network in the clear.
    requireTLS: !secure && user !== undefined && !isLoopback(host),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    const { attachments, to, cc, bcc, from, ...rest } = message;
    const sent = await transport.sendMail({
      ...rest,
      from: { ...from },
      to: to.map((each) => ({ ...each })),
      cc: cc.map((each) => ({ ...each })),
      bcc: bcc.map((each) => ({ ...each })),
      attachments: attachments.map((each) => ({ ...each })),
      signal: context.signal,
    });
    const refused = addresses(sent.rejected);
    if (refused.length > 0) context.log('WARN', `the mail server refused ${refused.join(', ')}`);
    return { messageId: message.messageId, accepted: addresses(sent.accepted), rejected: refused };
  } catch (error) {
    throw failure(error as NodeJS.ErrnoException & { response?: string; responseCode?: number }, host, context);
  } finally {
    transport.close();
  }
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

const addresses = (list: readonly (string | { readonly address?: string | undefined })[]): string[] =>
  list.map((each) => (typeof each === 'string' ? each : (each.address ?? '')));

const REFUSALS = new Set(['EENVELOPE', 'EMESSAGE', 'EAUTH', 'ENOAUTH']);

function failure(
  error: NodeJS.ErrnoException & { response?: string },
  host: string,
  { nodeId }: ExecutorContext,
): WorkError {
  // A refusal that came with an answer of the server, not one of a connection that broke at that moment.
  if (REFUSALS.has(error.code ?? '') && error.response !== undefined)
    return new WorkError(
      'EMAIL_REJECTED',
      `node '${nodeId}': mail server ${host} refused the message: ${error.response}`,
    );
  return new WorkError(
    'EMAIL_UNREACHABLE',
    `node '${nodeId}': mail server ${host} could not take the message: ${error.message}`,
  );
}

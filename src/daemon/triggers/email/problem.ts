import type { ImapFlowError } from 'imapflow';
import type { EmailConnectionRecord } from '../../store/email-connections.ts';

/** Which folder of whose, and where. */
export type Inbox = Pick<EmailConnectionRecord, 'host' | 'port' | 'tls' | 'user' | 'mailbox'>;

/** Why an inbox can't be read: one sentence for the operator, which never holds the password. */
export class InboxProblem extends Error {
  override readonly name = 'InboxProblem';
  /** The server refused the login: trying often locks accounts. */
  readonly isLogin: boolean;
  constructor(message: string, isLogin = false) {
    super(message);
    this.isLogin = isLogin;
  }
}

const SHOWN_FOLDERS = 10;

const CERTIFICATE = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_UNTRUSTED',
  'CERT_REVOKED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);
const SILENT = new Set(['ETIMEDOUT', 'CONNECT_TIMEOUT', 'EHOSTUNREACH', 'ENETUNREACH']);

/** What an error of the IMAP client means to whoever set the connection up. */
export function problemOf(error: unknown, inbox: Inbox, password: string): InboxProblem {
  if (error instanceof InboxProblem) return error;
  const known = error as ImapFlowError;
  const said = quoted(known.responseText ?? known.message, password);
  if (known.authenticationFailed === true) return new InboxProblem(loginProblem(inbox, said), true);
  return new InboxProblem(
    connectionProblem(known, inbox) ?? tlsProblem(known, inbox) ?? `${at(inbox)} broke off: ${said}.`,
  );
}

/** The folder can't be opened; `folders` are those that there are. */
export function missingFolder({ host, user, mailbox }: Inbox, folders: readonly string[]): InboxProblem {
  const some = folders.slice(0, SHOWN_FOLDERS).map((path) => quoted(path, ''));
  const there =
    some.length === 0
      ? 'choose another'
      : `choose one of ${some.join(', ')}${folders.length > some.length ? ', …' : ''}`;
  return new InboxProblem(`${user} has no folder ${mailbox} at ${host} that can be opened: ${there}.`);
}

const at = ({ host, port }: Inbox): string => `${host}:${port}`;

const loginProblem = ({ host, user }: Inbox, said: string): string =>
  `${host} refuses the login of ${user} (${said}): check user and password; many providers want a password made for apps.`;

function connectionProblem({ code = '' }: ImapFlowError, inbox: Inbox): string | undefined {
  if (code === 'ENOTFOUND') return `There is no host ${inbox.host}: check its name.`;
  if (code === 'EAI_AGAIN') return `The host ${inbox.host} can't be looked up now: check the name, and the network.`;
  if (code === 'ECONNREFUSED') return `Nothing listens at ${at(inbox)}: check host and port (993 with TLS, else 143).`;
  if (SILENT.has(code)) return `${at(inbox)} does not answer: check host and port, and that no firewall is between.`;
  if (code === 'GREETING_TIMEOUT')
    return inbox.tls
      ? `${at(inbox)} takes connections but does not speak IMAP: check the port (usually 993).`
      : `${at(inbox)} takes connections but says nothing: it may want TLS from the start (tls on, port usually 993).`;
  return undefined;
}

function tlsProblem({ code = '', message, tlsFailed }: ImapFlowError, inbox: Inbox): string | undefined {
  if (CERTIFICATE.has(code))
    return `The certificate of ${at(inbox)} is not trusted (${quoted(message, '')}): use the name that it was made for; a private authority is trusted through NODE_EXTRA_CA_CERTS.`;
  if (tlsFailed === true)
    return `${at(inbox)} offers no STARTTLS, and without it the password would cross the network in the clear: turn tls on (port usually 993).`;
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_') || code === 'ClosedAfterConnectTLS')
    return inbox.tls
      ? `${at(inbox)} does not speak TLS from the start: use its TLS port (usually 993), or turn tls off for STARTTLS (usually 143).`
      : `STARTTLS fails at ${at(inbox)} (${quoted(message, '')}): turn tls on (port usually 993).`;
  return undefined;
}

/** What a server said, in one short line. */
function quoted(text: string, password: string): string {
  const masked = password === '' ? text : text.replaceAll(password, '***');
  return masked
    .replace(/[\s\x00-\x1f\x7f]+/g, ' ')
    .trim()
    .replace(/\.$/, '')
    .slice(0, 200);
}

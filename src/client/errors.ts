import type { ErrorBody, ErrorCode, ErrorDetail } from '../contract/errors.ts';

/** The daemon answered, and the answer is an error (decisions §2). */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  /** UNEXPECTED_ANSWER: what answered is not a wfx daemon, or a proxy stands before it. */
  readonly code: ErrorCode | 'UNEXPECTED_ANSWER';
  readonly details: readonly ErrorDetail[];
  /** Seconds until it may succeed, where the daemon says so. */
  readonly retryAfter: number | undefined;

  constructor(
    status: number,
    body: Pick<ErrorBody, 'message' | 'details' | 'retryAfter'> & { error: ApiError['code'] },
  ) {
    super(body.message);
    this.status = status;
    this.code = body.error;
    this.details = body.details ?? [];
    this.retryAfter = body.retryAfter;
  }
}

/** Nothing answered: refused, no such host, cut off, or too slow. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
  /** Where it was looked for; undefined when no address is known. */
  readonly url: string | undefined;
  /** Nobody listens there, as opposed to an answer that was lost on its way. */
  readonly refused: boolean;

  constructor(url: string | undefined, reason: string, refused: boolean) {
    super(url === undefined ? reason : `nothing answers at ${url} (${reason})`);
    this.url = url;
    this.refused = refused;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name server does not answer',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no network',
  ETIMEDOUT: 'no answer in time',
};
const NEVER_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH']);

/** A socket's error in words. Anything else is a fault of ours and stays what it is. */
export function unreachable(url: string, error: NodeJS.ErrnoException): Error {
  const code = error.code ?? '';
  if (error.name === 'AbortError') return error;
  const certificate = /CERT|SIGNATURE|ISSUER|^ERR_TLS|^ERR_SSL|^EPROTO$/.test(code);
  const reason =
    REASONS[code] ??
    (certificate ? `TLS: ${error.message}; NODE_EXTRA_CA_CERTS names a file of more certificates to trust` : undefined);
  return reason === undefined && code === ''
    ? error
    : new UnreachableError(url, reason ?? code, NEVER_CONNECTED.has(code));
}

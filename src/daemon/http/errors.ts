import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { ERRORS, type ErrorBody, type ErrorCode, type ErrorDetail } from '../../contract/errors.ts';
import { StorageError } from '../ports.ts';
import { Refusal } from '../refusal.ts';
import { Rejection } from '../runtime/door.ts';

export interface ErrorAnswer {
  readonly status: number;
  readonly body: ErrorBody;
}

/** Codes of fastify and of node's HTTP parser, in our words. */
const FOREIGN: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['UNSUPPORTED_MEDIA_TYPE', 'This endpoint does not take that Content-Type.'],
  FST_ERR_CTP_BODY_TOO_LARGE: [
    'PAYLOAD_TOO_LARGE',
    'The body is larger than this daemon takes: 1 MiB, or 64 MiB of a file, unless its settings say otherwise.',
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['VALIDATION_ERROR', 'The body is not as long as Content-Length says.'],
  FST_ERR_BAD_URL: ['VALIDATION_ERROR', 'The address holds a malformed escape: write it as %XX in UTF-8.'],
  FST_ERR_MAX_PARAM_LENGTH: ['URI_TOO_LONG', 'A part of the address is too long.'],
  HPE_HEADER_OVERFLOW: ['HEADERS_TOO_LARGE', 'The headers are larger than 16 KiB.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['REQUEST_TIMEOUT', 'The request did not arrive in time.'],
};

/**
 * What a failed request answers (decisions §2). What none of our rooms threw on purpose is an INTERNAL_ERROR, whose text tells
 * nothing of the inside.
 */
export function answerFor(error: unknown): ErrorAnswer {
  if (error instanceof Refusal) return answer(error.code, error.message, error);
  if (error instanceof Rejection) return answer(error.code, error.message, error);
  if (error instanceof StorageError)
    return answer('STORAGE_UNAVAILABLE', `Nothing was accepted, so it is safe to retry. ${error.message}`);
  const { code = '', statusCode } = error as { code?: string; statusCode?: number };
  const known = Object.hasOwn(FOREIGN, code) ? FOREIGN[code] : undefined;
  if (known !== undefined) return answer(...known);
  if (statusCode === 400) return answer('VALIDATION_ERROR', 'The request is malformed.');
  return answer('INTERNAL_ERROR', 'Something in the daemon failed; its log has the details.');
}

function answer(
  code: ErrorCode,
  message: string,
  { details, retryAfter }: { details?: readonly ErrorDetail[] | undefined; retryAfter?: number | undefined } = {},
): ErrorAnswer {
  const body = { error: code, message, timestamp: new Date().toISOString() };
  return {
    status: ERRORS[code],
    body: { ...body, ...(details && { details }), ...(retryAfter !== undefined && { retryAfter }) },
  };
}

/** For what node's parser refuses before there is a request: writes a whole answer and closes the connection. */
export function answerSocket(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const known = error.code !== undefined && Object.hasOwn(FOREIGN, error.code) ? FOREIGN[error.code] : undefined;
  const { status, body } = answer(...(known ?? (['VALIDATION_ERROR', 'The request is not valid HTTP.'] as const)));
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
    () => socket.destroy(),
  );
}

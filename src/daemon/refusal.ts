import type { ErrorCode, ErrorDetail } from '../contract/errors.ts';

/** A request that is not carried out: its code on the wire, and one sentence for the caller. Nothing was changed. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[] | undefined;
  /** Whole seconds. */
  readonly retryAfter: number | undefined;

  constructor(code: ErrorCode, message: string, extra: { details?: readonly ErrorDetail[]; retryAfter?: number } = {}) {
    super(message);
    this.code = code;
    this.details = extra.details;
    this.retryAfter = extra.retryAfter;
  }
}

/** A field of a body or query that is wrong in itself. */
export const invalid = (path: string, message: string): Refusal =>
  new Refusal('VALIDATION_ERROR', `${path} ${message}.`, { details: [{ path, message }] });

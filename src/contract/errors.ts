/** Every error code on the wire with its HTTP status (decisions §2). */
export const ERRORS = {
  VALIDATION_ERROR: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  PROCESS_NOT_FOUND: 404,
  VERSION_NOT_FOUND: 404,
  INSTANCE_NOT_FOUND: 404,
  NODE_NOT_FOUND: 404,
  NO_MATCHING_SUBSCRIPTION: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  NOT_PUBLISHED: 409,
  TASK_NOT_WAITING: 409,
  INSTANCE_FINISHED: 409,
  CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  URI_TOO_LONG: 414,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMIT_EXCEEDED: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL_ERROR: 500,
  STORAGE_UNAVAILABLE: 503,
  SHUTTING_DOWN: 503,
  OVERLOADED: 503,
  ISSUER_UNAVAILABLE: 503,
} as const;

export type ErrorCode = keyof typeof ERRORS;

/** One thing that is wrong with a request: `path` is dotted (`data.order.id`), empty for the whole body. */
export interface ErrorDetail {
  readonly path: string;
  readonly message: string;
}

/** The body of every answer that is not a success. */
export interface ErrorBody {
  readonly error: ErrorCode;
  readonly message: string;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly details?: readonly ErrorDetail[];
  /** Whole seconds until the request may succeed; on 429, and in the `Retry-After` header. */
  readonly retryAfter?: number;
}

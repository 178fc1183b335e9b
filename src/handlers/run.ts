import type { Handler, HandlerContext, Json } from '../index.ts';

/** A handler failed: what its node fails with. */
export class HandlerError extends Error {
  override readonly name = 'HandlerError';
  readonly code: string;
  /** False: another attempt would fail the same way. */
  readonly retryable: boolean;
  constructor(code: string, message: string, retryable = true) {
    super(message);
    this.code = code;
    this.retryable = retryable;
  }
}

const MAX_RESULT = 4 * 1024 * 1024;
const CODE = /^\S{1,128}$/;

/**
 * Runs a handler on a copy of `input`, so that it can't change the run's variables behind its back. Resolves with its result
 * as JSON (undefined is null); rejects with HandlerError, also as soon as the signal aborts, whatever the handler then does.
 */
export async function runHandler(handler: Handler, input: Json, context: HandlerContext): Promise<Json> {
  const aborted = new Promise<never>((_, reject) => {
    const stop = () => reject(new HandlerError('ABORTED', 'nobody waits for the result any more'));
    if (context.signal.aborted) stop();
    else context.signal.addEventListener('abort', stop, { once: true });
  });
  let result: unknown;
  try {
    const copy = JSON.parse(JSON.stringify(input)) as Json;
    result = await Promise.race([Promise.resolve().then(() => handler(copy, context)), aborted]);
  } catch (thrown) {
    throw failureOf(thrown);
  } finally {
    aborted.catch(() => undefined);
  }
  return jsonOf(result);
}

function failureOf(thrown: unknown): HandlerError {
  if (thrown instanceof HandlerError) return thrown;
  if (typeof thrown !== 'object' || thrown === null) return new HandlerError('HANDLER_FAILED', String(thrown));
  const { code, message, retryable } = thrown as { code?: unknown; message?: unknown; retryable?: unknown };
  const known = typeof code === 'string' && CODE.test(code);
  return new HandlerError(
    known ? code : 'HANDLER_FAILED',
    typeof message === 'string' && message !== '' ? message : 'the handler failed without a message',
    retryable !== false,
  );
}

function jsonOf(result: unknown): Json {
  let text: string | undefined;
  try {
    text = JSON.stringify(result ?? null);
  } catch (error) {
    throw new HandlerError(
      'HANDLER_RESULT',
      `the handler's result can't be written as JSON: ${(error as Error).message}`,
    );
  }
  if (text === undefined)
    throw new HandlerError('HANDLER_RESULT', `the handler's result is a ${typeof result}, not JSON`);
  if (text.length > MAX_RESULT)
    throw new HandlerError('HANDLER_RESULT', `the handler's result is larger than ${MAX_RESULT} bytes`);
  return JSON.parse(text) as Json;
}

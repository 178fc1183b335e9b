/** JSON as values. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** What a handler knows of the task that it does. */
export interface HandlerContext {
  /** `instance:node:activation`: the same when the task is done again after a crash or a failure. */
  readonly idempotencyKey: string;
  readonly instanceId: string;
  readonly nodeId: string;
  /** Counted from 1. */
  readonly attempt: number;
  /** Aborted when nobody waits for the result any more: the run was cancelled, or the node's time is over. */
  readonly signal: AbortSignal;
  /** A line in the run's log; level INFO unless given. */
  readonly log: (message: string, level?: 'INFO' | 'WARN' | 'ERROR') => void;
}

/**
 * Does a domainTask: gets the node's `input`, and what it returns (JSON) becomes the node's result. What it throws is the
 * node's error: with the string `code` of what was thrown, or HANDLER_FAILED. An error with `retryable: false` is not tried again.
 */
export type Handler<Input = Json, Result = unknown> = (
  input: Input,
  context: HandlerContext,
) => Result | Promise<Result>;

/** Types a handler file's default export: `export default defineHandler<{ amount: number }>(async ({ amount }) => …)`. */
export const defineHandler = <Input = Json, Result = unknown>(
  handler: Handler<Input, Result>,
): Handler<Input, Result> => handler;

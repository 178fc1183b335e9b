import type { Node } from './flow.ts';
import { ExpressionError } from './juel/index.ts';
import { cancelInside, endInstance } from './scope.ts';
import { type Failure, ROOT_SCOPE } from './state.ts';
import { TemplateError } from './template.ts';
import type { Turn } from './turn.ts';

/** A node's error: what boundaries, `errorFlow` and the enclosing scopes may catch by its code. */
export class NodeError extends Error {
  override readonly name = 'NodeError';
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** What was thrown while a node ran, as that node's error; what is none of a flow's is thrown on. */
export function nodeError(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof NodeError) return error;
  if (error instanceof ExpressionError) return { code: 'EXPRESSION_ERROR', message: error.message };
  if (error instanceof TemplateError) return { code: 'TEMPLATE_TOO_LARGE', message: error.message };
  throw error;
}

/** Activation `n` fails: tried again while its retry policy allows, else the error looks outward (semantics 11). */
export function fail(turn: Turn, n: number, code: string, message: string): void {
  const failure = failureOf(turn, n, code, message);
  if (!retried(turn, n, failure)) raise(turn, n, failure, 'nodeFailed');
}

/** Activation `n` fails, and would fail again however often it was tried. */
export function failForGood(turn: Turn, n: number, code: string, message: string): void {
  raise(turn, n, failureOf(turn, n, code, message), 'nodeFailed');
}

/** A longer reason is cut: it may hold any text that came from outside. */
const MAX_MESSAGE = 10_000;

const failureOf = (turn: Turn, n: number, code: string, message: string): Failure => ({
  code,
  message: message.slice(0, MAX_MESSAGE),
  nodeId: turn.node(n).id,
});

/** A `timeout` passed: another attempt, `timeoutFlow`, or an error with code TIMEOUT. */
export function timeOut(turn: Turn, n: number): void {
  const node = turn.node(n);
  const failure = { code: 'TIMEOUT', message: `"${node.name}" did not finish in time`, nodeId: node.id };
  if (retried(turn, n, failure)) return;
  if (node.timeoutFlow === undefined) return raise(turn, n, failure, 'nodeTimedOut');
  const { scope } = turn.activation(n);
  cancelInside(turn, n);
  turn.emit({ type: 'nodeTimedOut', n });
  turn.follow([node.timeoutFlow], scope);
}

function retried(turn: Turn, n: number, failure: Failure): boolean {
  const { retry } = turn.node(n);
  const { phase, attempt, timers } = turn.activation(n);
  if (retry === undefined || phase !== 'working' || attempt >= retry.attempts) return false;
  const wait = Math.min(retry.backoffMs * retry.factor ** (attempt - 1), retry.maxBackoffMs);
  if (timers.some(({ purpose }) => purpose === 'timeout')) turn.emit({ type: 'timerLapsed', n, purpose: 'timeout' });
  turn.emit({ type: 'workFailed', n, error: failure, retryAt: turn.context.at + Math.round(wait) });
  return true;
}

/** Boundary with the code, boundary for all, `errorFlow`, the enclosing loop, the instance: the first one catches. */
export function raise(turn: Turn, n: number, failure: Failure, ended: 'nodeFailed' | 'nodeTimedOut'): void {
  const node = turn.node(n);
  const { scope } = turn.activation(n);
  cancelInside(turn, n);
  const boundary = catching(turn, scope, node, failure.code);
  if (boundary === undefined && node.errorFlow === undefined) return raiseOutward(turn, n, scope, failure, ended);
  const { code, message, nodeId } = failure;
  turn.emit({ type: 'variablesSet', n, set: [{ path: ['error'], value: { code, message, nodeId } }] });
  end(turn, n, failure, ended);
  if (boundary !== undefined) turn.start(boundary.id, scope, node.id);
  else if (node.errorFlow !== undefined) turn.follow([node.errorFlow], scope);
}

function catching(turn: Turn, scope: number, node: Node, code: string): Node | undefined {
  const boundaries = turn.body(scope).boundaries.get(node.id) ?? [];
  return boundaries.find(({ keys }) => keys['error'] === code) ?? boundaries.find(({ keys }) => keys['error'] === '*');
}

function raiseOutward(
  turn: Turn,
  n: number,
  scope: number,
  failure: Failure,
  ended: 'nodeFailed' | 'nodeTimedOut',
): void {
  end(turn, n, failure, ended);
  const owner = scope === ROOT_SCOPE ? undefined : turn.draft.scopes.get(scope)?.owner;
  if (owner === undefined) endInstance(turn, 2, failure);
  else raise(turn, owner, failure, 'nodeFailed');
}

function end(turn: Turn, n: number, failure: Failure, ended: 'nodeFailed' | 'nodeTimedOut'): void {
  turn.emit(ended === 'nodeFailed' ? { type: 'nodeFailed', n, error: failure } : { type: 'nodeTimedOut', n });
}

/** An end event throws: its own node completes, and the scope around it errs. */
export function throwFrom(turn: Turn, failure: Failure): void {
  const { n } = turn;
  const { scope } = turn.activation();
  turn.emit({ type: 'nodeCompleted', n });
  const owner = scope === ROOT_SCOPE ? undefined : turn.draft.scopes.get(scope)?.owner;
  if (owner === undefined) endInstance(turn, 2, failure);
  else raise(turn, owner, failure, 'nodeFailed');
}

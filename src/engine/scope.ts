import { advance } from './loop.ts';
import { type Activation, type Failure, type Owed, placeOf, ROOT_SCOPE } from './state.ts';
import type { Turn } from './turn.ts';

/** Nothing is left in a scope: the instance completes, or the loop goes on to its next iteration. */
export function closeScope(turn: Turn, scope: number): void {
  if (scope === ROOT_SCOPE) return endInstance(turn, 1);
  const n = turn.draft.scopes.get(scope)?.owner as number;
  turn.emit({ type: 'iterationEnded', n, scope });
  turn.visit(n, () => advance(turn));
}

/** Ends the nearest scope at once, with everything that runs in it (semantics 7). */
export function terminate(turn: Turn): void {
  const { scope } = turn.activation();
  turn.emit({ type: 'nodeCompleted', n: turn.n });
  cancelScope(turn, scope);
  closeScope(turn, scope);
}

/** Cancels what runs under an activation: a loop's iterations, a child instance. The activation itself stays. */
export function cancelInside(turn: Turn, n: number): void {
  const activation = turn.draft.active.get(n);
  if (activation === undefined) return;
  if (activation.phase === 'child') cancelChild(turn, n, activation.child);
  if (activation.loop === undefined) return;
  for (const scope of [...turn.draft.scopes.values()]) {
    if (scope.owner !== n) continue;
    cancelScope(turn, scope.id);
    turn.emit({ type: 'scopeDropped', scope: scope.id });
  }
}

/** Cancels every activation of a scope and takes its standing tokens away. */
function cancelScope(turn: Turn, scope: number): void {
  for (const activation of [...turn.draft.active.values()]) {
    if (activation.scope === scope) cancelNode(turn, activation.n);
  }
  if (scope === ROOT_SCOPE && turn.draft.joins.size > 0) turn.emit({ type: 'scopeDropped', scope });
}

export function cancelNode(turn: Turn, n: number): void {
  cancelInside(turn, n);
  turn.emit({ type: 'nodeCancelled', n });
}

/** A child that was asked for and not begun yet is not begun at all. */
function cancelChild(turn: Turn, n: number, child: string | undefined): void {
  if (child !== undefined) return turn.owe({ kind: 'cancelChild', child });
  for (const [id, owed] of turn.draft.outbox) {
    if (asks(owed, n)) turn.emit({ type: 'delivered', id });
  }
}

const asks = (owed: Owed, n: number): boolean => (owed.kind === 'startChild' || owed.kind === 'call') && owed.n === n;

/** The instance is over: what still runs is cancelled first, and a waiting parent is told. */
export function endInstance(turn: Turn, stateCd: 1 | 2 | 3, error?: Failure): void {
  cancelScope(turn, ROOT_SCOPE);
  if (turn.draft.parent !== undefined) turn.owe({ kind: 'tellParent' });
  turn.emit({ type: 'instanceEnded', stateCd, ...(error && { error }) });
}

/** A loop does not move by itself, but its timeout or a boundary event may end it, or set another token going. */
const mayMove = ({ phase, timers, subscriptions }: Activation): boolean =>
  phase !== 'body' || timers.length > 0 || subscriptions.length > 0;

/** Tokens stand at joins and nothing else can ever move: the instance fails, naming what never came (semantics 7b). */
export function standstill(turn: Turn): void {
  const { active, joins } = turn.draft;
  if (joins.size === 0) return;
  for (const activation of active.values()) if (mayMove(activation)) return;
  const missing = [...joins].map(([key, tokens]) => {
    const { scope, node } = placeOf(key);
    const incoming = turn.body(scope).incoming.get(node) ?? [];
    const never = incoming.filter(({ id }) => !tokens.has(id)).map(({ from }) => `${from} → ${node}`);
    return { node, text: `"${node}" still waits for ${never.join(', ')}` };
  });
  const message = `nothing can move any more, but tokens stand at joins: ${missing.map(({ text }) => text).join('; ')}`;
  endInstance(turn, 2, { code: 'DEADLOCK', message, nodeId: missing[0]?.node ?? '' });
}

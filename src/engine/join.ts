import type { Body, Connection, Node } from './flow.ts';
import { type JoinTokens, joinKey, placeOf } from './state.ts';
import type { Turn } from './turn.ts';

const joins = (node: Node): boolean => node.type === 'parallelGateway' || node.type === 'inclusiveGateway';

/** A token comes along a connection: it stands at a join, or enters the node at once. */
export function arrive(turn: Turn, connection: Connection, scope: number): void {
  const body = turn.body(scope);
  const node = body.nodes.get(connection.to) as Node;
  const incoming = body.incoming.get(node.id) ?? [];
  if (!joins(node) || incoming.length < 2) return turn.start(node.id, scope, connection.id);
  turn.emit({ type: 'tokenArrived', node: node.id, scope, via: connection.id });
  const tokens = turn.draft.joins.get(joinKey(scope, node.id)) as JoinTokens;
  if (tokens.size === incoming.length) fire(turn, node.id, scope, tokens);
}

/** Uses up one token of each connection that has one; a surplus stays for the next firing (semantics 4). */
function fire(turn: Turn, node: string, scope: number, tokens: JoinTokens): void {
  turn.emit({ type: 'joinFired', node, scope, vias: [...tokens.keys()] });
  turn.start(node, scope);
}

/**
 * Fires the inclusive joins that no other live token of their scope can still reach (semantics 6); false when there is
 * none. Asked whenever no token can move by itself. One that fires sends no token to another that fires with it: as long
 * as a way led there, the other waited.
 */
export function fireInclusiveJoins(turn: Turn): boolean {
  const standing = [...turn.draft.joins].map(([key, tokens]) => ({ ...placeOf(key), tokens }));
  const waiting = standing.filter(({ scope, node }) => isInclusive(turn.body(scope), node));
  if (waiting.length === 0) return false;
  const occupied = occupiedNodes(turn, standing);
  const due = waiting.filter(({ scope, node }) => !isAwaited(turn.body(scope), node, occupied.get(scope) ?? []));
  for (const { scope, node, tokens } of due) fire(turn, node, scope, tokens);
  return due.length > 0;
}

const isInclusive = (body: Body, node: string): boolean => body.nodes.get(node)?.type === 'inclusiveGateway';

/** The nodes at which tokens are, by scope. */
function occupiedNodes(
  turn: Turn,
  standing: readonly { readonly scope: number; readonly node: string }[],
): ReadonlyMap<number, ReadonlySet<string>> {
  const occupied = new Map<number, Set<string>>();
  const add = (scope: number, node: string): void => {
    const nodes = occupied.get(scope);
    if (nodes === undefined) occupied.set(scope, new Set([node]));
    else nodes.add(node);
  };
  for (const { scope, node } of turn.draft.active.values()) add(scope, node);
  for (const { scope, node } of standing) add(scope, node);
  return occupied;
}

function isAwaited(body: Body, join: string, occupied: Iterable<string>): boolean {
  const sources = reaching(body, join);
  for (const node of occupied) if (sources.has(node)) return true;
  return false;
}

/** In larger bodies with many joins what can reach each of them would fill the memory: it is found anew each time. */
const MAX_REMEMBERED = 256;
const reachingByBody = new WeakMap<Body, Map<string, ReadonlySet<string>>>();

/** The nodes from which a path leads to `join` that does not run through it; a boundary event is reached from its activity. */
export function reaching(body: Body, join: string): ReadonlySet<string> {
  if (body.nodes.size > MAX_REMEMBERED) return backwards(body, join);
  const byJoin = reachingByBody.get(body) ?? new Map<string, ReadonlySet<string>>();
  const sources = byJoin.get(join) ?? backwards(body, join);
  reachingByBody.set(body, byJoin.set(join, sources));
  return sources;
}

function backwards(body: Body, join: string): ReadonlySet<string> {
  const found = new Set<string>();
  const open = [join];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const before = (body.incoming.get(id) ?? []).map((connection) => connection.from);
    const attachedTo = body.nodes.get(id)?.keys['attachedTo'] as string | undefined;
    if (attachedTo !== undefined) before.push(attachedTo);
    for (const from of before) {
      if (from === join || found.has(from)) continue;
      found.add(from);
      open.push(from);
    }
  }
  return found;
}

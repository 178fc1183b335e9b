import type { Body, Connection, Node } from './flow.ts';
import { type JoinTokens, joinKey } from './state.ts';
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
 * Fires one inclusive join that no other live token of its scope can still reach (semantics 6); false when there is none.
 * Asked whenever no token can move by itself.
 */
export function fireInclusiveJoin(turn: Turn): boolean {
  for (const [key, tokens] of turn.draft.joins) {
    const slash = key.indexOf('/');
    const scope = Number(key.slice(0, slash));
    const node = key.slice(slash + 1);
    const body = turn.body(scope);
    if (body.nodes.get(node)?.type !== 'inclusiveGateway' || awaited(turn, body, scope, node)) continue;
    fire(turn, node, scope, tokens);
    return true;
  }
  return false;
}

function awaited(turn: Turn, body: Body, scope: number, join: string): boolean {
  const sources = reaching(body, join);
  for (const activation of turn.draft.active.values()) {
    if (activation.scope === scope && sources.has(activation.node)) return true;
  }
  for (const key of turn.draft.joins.keys()) {
    if (key !== joinKey(scope, join) && key.startsWith(`${scope}/`) && sources.has(key.slice(key.indexOf('/') + 1)))
      return true;
  }
  return false;
}

const reachingByBody = new WeakMap<Body, Map<string, ReadonlySet<string>>>();

/** The nodes from which a path leads to `join` that does not run through it; a boundary event is reached from its activity. */
function reaching(body: Body, join: string): ReadonlySet<string> {
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

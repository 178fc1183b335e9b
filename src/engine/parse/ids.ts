import { innerBody } from '../body.ts';
import type { Body, Connection, Node, Way } from '../flow.ts';

/**
 * The body with ids that are unique in the whole flow. Each `nodes` map names its nodes by itself; where a nested node has
 * an id that another one has too, it is called `<node around it>/<id>` from here on. Ids hold no slashes of their own.
 */
export function withDistinctIds(body: Body): Body {
  return distinct(body, '', new Set());
}

function distinct(body: Body, owner: string, taken: Set<string>): Body {
  const ids = new Map<string, string>();
  for (const id of body.nodes.keys()) {
    const distinctId = taken.has(id) ? `${owner}/${id}` : id;
    taken.add(distinctId);
    ids.set(id, distinctId);
  }
  const called = (id: string): string => ids.get(id) ?? id;
  const nodes = [...body.nodes].map(([id, node]) => [called(id), renamed(node, called, taken)] as const);
  const byId = new Map(nodes);
  return {
    start: called(body.start),
    nodes: byId,
    incoming: new Map([...body.incoming].map(([id, list]) => [called(id), list.map((one) => redirected(one, called))])),
    boundaries: new Map(
      [...body.boundaries].map(([id, list]) => [called(id), list.map((one) => byId.get(called(one.id)) as Node)]),
    ),
  };
}

type Called = (id: string) => string;

function renamed(node: Node, called: Called, taken: Set<string>): Node {
  const id = called(node.id);
  const { errorFlow, timeoutFlow } = node;
  const keys: Record<string, unknown> = { ...node.keys };
  const inner = innerBody(node);
  if (inner !== undefined) keys['nodes'] = distinct(inner, id, taken);
  for (const key of ['then', 'else'])
    if (keys[key] !== undefined) keys[key] = redirected(keys[key] as Connection, called);
  if (keys['ways'] !== undefined) keys['ways'] = (keys['ways'] as readonly Way[]).map((one) => redirected(one, called));
  if (keys['attachedTo'] !== undefined) keys['attachedTo'] = called(keys['attachedTo'] as string);
  return {
    ...node,
    id,
    next: node.next.map((one) => redirected(one, called)),
    ...(errorFlow && { errorFlow: redirected(errorFlow, called) }),
    ...(timeoutFlow && { timeoutFlow: redirected(timeoutFlow, called) }),
    keys,
  };
}

function redirected<T extends Connection>(connection: T, called: Called): T {
  const { id, from, to } = connection;
  return { ...connection, id: called(from) + id.slice(from.length), from: called(from), to: called(to) };
}

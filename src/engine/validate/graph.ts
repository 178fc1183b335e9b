import { namedBy, type ReadBody } from '../parse/nodes.ts';

/** Where a token at each node can go next, by node id. */
export type Edges = ReadonlyMap<string, readonly string[]>;

/** The edges of one body: the connections, and from each activity to the boundary events on it. */
export function edgesOf(body: ReadBody): Edges {
  const edges = new Map<string, string[]>();
  for (const node of body.nodes.values()) {
    for (const to of namedBy(node)) if (body.nodes.has(to)) addEdge(edges, node.id, to);
    const activity = node.raw['attachedTo'];
    if (node.type === 'boundaryEvent' && typeof activity === 'string') addEdge(edges, activity, node.id);
  }
  return edges;
}

export function addEdge(edges: Map<string, string[]>, from: string, to: string): void {
  const list = edges.get(from);
  if (list === undefined) edges.set(from, [to]);
  else list.push(to);
}

export function reversed(edges: Edges): Edges {
  const back = new Map<string, string[]>();
  for (const [from, list] of edges) for (const to of list) addEdge(back, to, from);
  return back;
}

/** All nodes that tokens at `from` can come to, those themselves included, not by way of `except`. */
export function follow(from: Iterable<string>, edges: Edges, except?: string): ReadonlySet<string> {
  const reached = new Set<string>();
  const open = [...from];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (id === except || reached.has(id)) continue;
    reached.add(id);
    open.push(...(edges.get(id) ?? []));
  }
  return reached;
}

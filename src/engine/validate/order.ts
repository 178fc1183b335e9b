import type { ReadBody, ReadNode } from '../parse/nodes.ts';
import type { File, Use } from '../parse/place.ts';
import { addEdge, type Edges, edgesOf, follow, reversed } from './graph.ts';
import { BUILT_IN } from './names.ts';

/** Each place takes a walk over the graph: so many nodes are visited altogether, at most. */
const MAX_VISITS = 1_000_000;

/**
 * Warns of a variable that is read where only later nodes set it. Not where something comes before that may bring any name:
 * a task's data, an event's, an inline subProcess; start data may bring it too, and a default under `variables` says so.
 */
export function checkOrder(root: ReadBody, { set, used }: File): void {
  const edges = edgesOfAll(root);
  const back = reversed(edges);
  const nodes = nodesOfAll(root);
  let left = MAX_VISITS / nodes.size;
  for (const [name, places] of used) {
    const setters = set.get(name);
    if (setters === undefined || setters.has('') || BUILT_IN.includes(name)) continue;
    for (const [node, use] of places) {
      if (node === '' || setters.has(node)) continue;
      left -= 1;
      if (left < 0) return;
      checkPlace(name, node, use, setters, { edges, back, nodes });
    }
  }
}

interface Graph {
  readonly edges: Edges;
  readonly back: Edges;
  readonly nodes: ReadonlyMap<string, ReadNode>;
}

function checkPlace(name: string, node: string, use: Use, setters: ReadonlySet<string>, graph: Graph): void {
  const before = follow(graph.back.get(node) ?? [], graph.back);
  if ([...before].some((id) => setters.has(id) || bringsAnything(graph.nodes.get(id)))) return;
  const after = follow(graph.edges.get(node) ?? [], graph.edges);
  const later = [...setters].find((id) => after.has(id));
  if (later === undefined) return;
  const hint = 'give it a default under `variables` when start data brings it';
  use.at.warning('SET_LATER', `\`${name}\` is read here, and only \`${later}\` sets it, which comes later`, {
    hint,
    offset: use.offset,
  });
}

/** What it brings into the variables can't be seen in the flow. */
function bringsAnything(node: ReadNode | undefined): boolean {
  if (node?.type === undefined) return true;
  const { type, raw } = node;
  const event = Object.hasOwn(raw, 'message') || Object.hasOwn(raw, 'signal');
  if (type === 'intermediateCatchEvent' || type === 'boundaryEvent') return event;
  return type === 'userTask' || type === 'inputNode' || (type === 'subProcess' && Object.hasOwn(raw, 'nodes'));
}

function nodesOfAll(body: ReadBody, nodes = new Map<string, ReadNode>()): ReadonlyMap<string, ReadNode> {
  for (const node of body.nodes.values()) {
    nodes.set(node.id, node);
    if (node.inner !== undefined) nodesOfAll(node.inner, nodes);
  }
  return nodes;
}

/** The edges of all bodies: a nested one is entered from its owner and leads back to it. */
function edgesOfAll(body: ReadBody, edges = new Map<string, string[]>()): Edges {
  for (const [from, list] of edgesOf(body)) for (const to of list) addEdge(edges, from, to);
  for (const { id, inner } of body.nodes.values()) {
    if (inner === undefined) continue;
    for (const innerId of inner.nodes.keys()) {
      addEdge(edges, id, innerId);
      addEdge(edges, innerId, id);
    }
    edgesOfAll(inner, edges);
  }
  return edges;
}

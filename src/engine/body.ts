import type { Draft } from './draft.ts';
import type { Body, Flow, Node } from './flow.ts';
import { ROOT_SCOPE } from './state.ts';

interface Place {
  readonly node: Node;
  readonly body: Body;
  /** Inline subProcess nodes around it, outermost first. */
  readonly path: readonly string[];
}

const places = new WeakMap<Flow, ReadonlyMap<string, Place>>();

/** A node by its id, wherever in the flow it stands, with the body it belongs to. */
export function located(flow: Flow, id: string): Place {
  const place = find(flow, id);
  if (place === undefined) throw new Error(`flow ${flow.id} has no node "${id}"`);
  return place;
}

export function find(flow: Flow, id: string): Place | undefined {
  let index = places.get(flow);
  if (index === undefined) {
    index = indexed(flow.body, [], new Map());
    places.set(flow, index);
  }
  return index.get(id);
}

function indexed(body: Body, path: readonly string[], index: Map<string, Place>): Map<string, Place> {
  for (const node of body.nodes.values()) {
    index.set(node.id, { node, body, path });
    const inner = innerBody(node);
    if (inner !== undefined) indexed(inner, node.type === 'subProcess' ? [...path, node.id] : path, index);
  }
  return index;
}

/** The nested nodes of a loopNode or an inline subProcess. */
export function innerBody(node: Node): Body | undefined {
  return node.keys['nodes'] as Body | undefined;
}

/** The body that an instance with this path runs: the flow's own, or an inline subProcess's. */
export function instanceBody(flow: Flow, path: readonly string[]): Body {
  const last = path.at(-1);
  return last === undefined ? flow.body : (innerBody(located(flow, last).node) as Body);
}

/** The body of a scope: the instance's, or that of the loop whose iteration the scope is. */
export function bodyOf(flow: Flow, draft: Pick<Draft, 'path' | 'scopes' | 'active'>, scope: number): Body {
  if (scope === ROOT_SCOPE) return instanceBody(flow, draft.path);
  const owner = draft.active.get(draft.scopes.get(scope)?.owner ?? 0);
  if (owner === undefined) throw new Error(`scope ${scope} has no loop`);
  return innerBody(located(flow, owner.node).node) as Body;
}

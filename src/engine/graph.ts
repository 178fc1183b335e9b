import { innerBody } from './body.ts';
import type { Body, Connection, Flow, Node, NodeType, Way } from './flow.ts';
import type { Template } from './template.ts';

/** A body as a picture shows it: nodes from the start on, each before those that it leads to, loops back aside. */
export interface Graph {
  readonly nodes: readonly GraphNode[];
}

export interface GraphNode {
  readonly id: string;
  readonly name: string;
  readonly type: NodeType;
  readonly edges: readonly GraphEdge[];
  /** The nested nodes of a loopNode or an inline subProcess. */
  readonly inner?: Graph;
}

export interface GraphEdge {
  readonly to: string;
  /** When the token goes this way, such as `${total > 100}`, `else`, `on error`; empty where it always does. */
  readonly label: string;
  /** It leads to a node before its own: the flow goes round. */
  readonly back: boolean;
}

/** The picture of a flow's own body, with what is nested in it. */
export const graphOf = (flow: Flow): Graph => bodyGraph(flow.body);

function bodyGraph(body: Body): Graph {
  const leaving = outgoing(body);
  const { order, back } = ordered(body, leaving);
  return {
    nodes: order.map((id) => {
      const node = body.nodes.get(id) as Node;
      const inner = innerBody(node);
      const edges = (leaving.get(id) ?? []).map((edge) => ({ ...edge, back: back.has(edge) }));
      return { id, name: node.name, type: node.type, edges, ...(inner && { inner: bodyGraph(inner) }) };
    }),
  };
}

type Edge = Omit<GraphEdge, 'back'>;

function outgoing(body: Body): ReadonlyMap<string, readonly Edge[]> {
  const edges = new Map<string, readonly Edge[]>();
  for (const node of body.nodes.values()) {
    const boundaries = (body.boundaries.get(node.id) ?? []).map((boundary) => ({
      to: boundary.id,
      label: boundaryLabel(boundary),
    }));
    edges.set(node.id, [...ways(node), ...boundaries]);
  }
  return edges;
}

function ways(node: Node): readonly Edge[] {
  const { next, errorFlow, timeoutFlow } = node;
  const {
    then,
    else: other,
    ways: conditional,
  } = node.keys as {
    readonly then?: Connection;
    readonly else?: Connection;
    readonly ways?: readonly Way[];
  };
  const edge = (connection: Connection | undefined, label: string): readonly Edge[] =>
    connection === undefined ? [] : [{ to: connection.to, label }];
  return [
    ...edge(then, 'then'),
    ...edge(other, 'else'),
    ...(conditional === undefined
      ? next.flatMap((connection) => edge(connection, ''))
      : conditional.flatMap((way) => edge(way, way.default ? 'otherwise' : (way.condition?.text ?? '')))),
    ...edge(timeoutFlow, `after ${node.timeout?.source ?? 'the timeout'}`),
    ...edge(errorFlow, 'on error'),
  ];
}

/** What the event of a boundary is, and whether it leaves its activity running. */
function boundaryLabel({ keys }: Node): string {
  const { timer, message, signal, error, cancelActivity } = keys as {
    readonly timer?: Template;
    readonly message?: Template;
    readonly signal?: Template;
    readonly error?: Template | string;
    readonly cancelActivity?: boolean;
  };
  const [kind, value] = [
    ['timer', timer],
    ['message', message],
    ['signal', signal],
    ['error', error],
  ].find(([, given]) => given !== undefined) ?? ['error', undefined];
  const text = typeof value === 'object' ? value.source : value === '*' ? undefined : value;
  return `on ${kind as string}${text === undefined ? '' : ` ${text}`}${cancelActivity === false ? ', which goes on' : ''}`;
}

/** Reverse postorder of a walk from the start: what a branch leads to stands below it, and before the next branch. */
function ordered(body: Body, leaving: ReadonlyMap<string, readonly Edge[]>) {
  const back = new Set<Edge>();
  const state = new Map<string, 'open' | 'done'>();
  const from = (root: string): readonly string[] => {
    if (state.has(root)) return [];
    const done: string[] = [];
    const path: { readonly id: string; readonly edges: Edge[] }[] = [];
    const open = (id: string): void => {
      state.set(id, 'open');
      path.push({ id, edges: [...(leaving.get(id) ?? [])] });
    };
    open(root);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      // The last way first: so it ends up below the others.
      const edge = top.edges.pop();
      if (edge === undefined) {
        state.set(top.id, 'done');
        done.push(top.id);
        path.pop();
      } else if (state.get(edge.to) === 'open') back.add(edge);
      else if (!state.has(edge.to)) open(edge.to);
    }
    return done.reverse();
  };
  // What the start does not lead to comes last.
  return { order: [body.start, ...body.nodes.keys()].flatMap(from), back };
}

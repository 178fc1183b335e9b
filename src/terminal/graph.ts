import type { Graph, GraphEdge, GraphNode } from '../engine/index.ts';

/** A line of a drawn flow: a node, or the way on from one. */
export type GraphLine =
  | {
      readonly kind: 'node';
      readonly node: GraphNode;
      /** What stands before the node's sign, and between the sign and its name. */
      readonly before: string;
      readonly after: string;
    }
  | { readonly kind: 'way'; readonly rails: string; readonly label: string };

/** More branches at once than this are told in words, so that names keep their room. */
const MAX_LANES = 12;

/**
 * Draws a flow from top to bottom, as `git log --graph` draws history: a node a line, with a lane beside it for each branch
 * that goes on further down. Names and signs are left to whoever shows it.
 */
export function drawGraph(graph: Graph): readonly GraphLine[] {
  return new Drawing(graph, '').lines;
}

class Drawing {
  readonly lines: GraphLine[] = [];
  readonly #margin: string;
  /** The node that each lane leads to. */
  readonly #lanes: (string | undefined)[] = [];
  readonly #names: ReadonlyMap<string, string>;

  constructor({ nodes }: Graph, margin: string) {
    this.#margin = margin;
    this.#names = new Map(nodes.map(({ id, name }) => [id, name]));
    for (const node of nodes) this.#draw(node);
  }

  #draw(node: GraphNode): void {
    const at = this.#gather(node.id);
    const rails = this.#rails();
    this.lines.push({
      kind: 'node',
      node,
      before: this.#margin + rails.slice(0, at * 2).padEnd(at * 2),
      after: `${rails.slice(at * 2 + 1).trimEnd()} `,
    });
    if (node.inner !== undefined) this.#nest(node, at);
    this.#leave(node, at);
  }

  /** Joins the lanes that lead to a node into the leftmost; gives that, or a free one where none does. */
  #gather(id: string): number {
    const led = this.#lanes.flatMap((to, lane) => (to === id ? [lane] : []));
    const [at = this.#free(0), ...others] = led;
    if (others.length > 0) {
      this.#way(this.#across(at, others, '┴', '╯'), '');
      for (const lane of others) this.#lanes[lane] = undefined;
    }
    this.#lanes[at] = id;
    return at;
  }

  #nest({ edges, inner }: GraphNode, at: number): void {
    const goesOn = edges.some(({ back }) => !back);
    const rails = [
      ...this.#rails()
        .trimEnd()
        .padEnd(at * 2 + 1),
    ];
    rails[at * 2] = goesOn ? '│' : ' ';
    const margin = `${this.#margin}${rails.join('')} ┆ `;
    this.lines.push(...new Drawing(inner as Graph, margin).lines);
  }

  /** The first way on keeps the node's lane, each other gets one of its own. */
  #leave({ edges }: GraphNode, at: number): void {
    const forward = edges.filter(({ back }) => !back);
    this.#lanes[at] = forward[0]?.to;
    for (const edge of edges) {
      if (edge.back) this.#around(edge, at);
      else if (edge === forward[0]) this.#say(edge, '');
      else this.#branch(edge, at);
    }
    while (this.#lanes.length > 0 && this.#lanes.at(-1) === undefined) this.#lanes.pop();
  }

  #branch(edge: GraphEdge, at: number): void {
    const lane = this.#free(at + 1);
    if (lane >= MAX_LANES) return this.#say(edge, `→ ${this.#nameOf(edge)}`);
    this.#way(this.#across(at, [lane], '┴', '╮'), edge.label);
    this.#lanes[lane] = edge.to;
  }

  /** A way back is told in words: the lanes only lead down. */
  #around(edge: GraphEdge, at: number): void {
    const rails = [...this.#rails().padEnd(at * 2 + 1)];
    rails[at * 2] = this.#lanes[at] === undefined ? '╰' : '├';
    this.#way(rails.join(''), [edge.label, `↺ back to ${this.#nameOf(edge)}`].filter((part) => part !== '').join(' '));
  }

  #say({ label }: GraphEdge, more: string): void {
    const text = [label, more].filter((part) => part !== '').join(' ');
    if (text !== '') this.#way(this.#rails(), text);
  }

  #way(rails: string, label: string): void {
    this.lines.push({ kind: 'way', rails: this.#margin + rails.trimEnd(), label });
  }

  /** The lanes as they go on, two columns each. */
  #rails(): string {
    return this.#lanes.map((to) => (to === undefined ? '  ' : '│ ')).join('');
  }

  /** A line from the lane `at` to others on its right, over those between. */
  #across(at: number, others: readonly number[], middle: string, end: string): string {
    const last = Math.max(...others);
    const lanes = Array.from({ length: Math.max(last + 1, this.#lanes.length) }, (_, lane) => {
      const runs = this.#lanes[lane] !== undefined;
      if (lane < at || lane > last) return runs ? '│ ' : '  ';
      if (lane === at) return '├─';
      if (lane === last) return `${end} `;
      return others.includes(lane) ? `${middle}─` : runs ? '┼─' : '──';
    });
    return lanes.join('');
  }

  #free(from: number): number {
    for (let lane = from; lane < this.#lanes.length; lane += 1) if (this.#lanes[lane] === undefined) return lane;
    return Math.max(from, this.#lanes.length);
  }

  #nameOf({ to }: GraphEdge): string {
    return this.#names.get(to) ?? to;
  }
}

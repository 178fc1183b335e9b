import type { Graph, GraphNode } from '../engine/index.ts';

/** A flow as a Mermaid flowchart, which Markdown pages draw. */
export function mermaidOf(graph: Graph): string {
  const ids = new Map<string, string>();
  number(graph, ids);
  return ['flowchart TD', ...body(graph, ids, '  ')].join('\n');
}

/** Mermaid takes few characters in ids, and a flow's ids may be its words. */
function number({ nodes }: Graph, ids: Map<string, string>): void {
  for (const { id, inner } of nodes) {
    ids.set(id, `n${ids.size + 1}`);
    if (inner !== undefined) number(inner, ids);
  }
}

function body({ nodes }: Graph, ids: ReadonlyMap<string, string>, margin: string): readonly string[] {
  const shapes = nodes.flatMap((node) => {
    const inner = node.inner;
    if (inner === undefined) return [`${margin}${ids.get(node.id)}${shape(node)}`];
    return [
      `${margin}subgraph ${ids.get(node.id)} ["${quoted(node.name)}"]`,
      ...body(inner, ids, `${margin}  `),
      `${margin}end`,
    ];
  });
  const arrows = nodes.flatMap(({ id, edges }) =>
    edges.map(({ to, label }) => {
      const text = label === '' ? '' : `|"${quoted(label)}"|`;
      return `${margin}${ids.get(id)} -->${text} ${ids.get(to)}`;
    }),
  );
  return [...shapes, ...arrows];
}

function shape({ name, type }: GraphNode): string {
  const text = `"${quoted(name)}"`;
  if (/Gateway$/.test(type) || type === 'ifElse') return `{${text}}`;
  if (/Event$/.test(type)) return `([${text}])`;
  return `[${text}]`;
}

const quoted = (text: string): string =>
  text.replace(/[^\p{L}\p{N} .,:;!?'()=+*/-]/gu, (character) => `#${character.codePointAt(0)};`);

import { plain } from '../client/index.ts';
import type { Flow } from '../engine/flow.ts';
import type { Io } from './io.ts';

/** Prints a flow as a drawing: a node a line, with its type beside it. */
export async function printGraph(io: Io, flow: Flow): Promise<void> {
  const [{ graphOf }, { drawGraph }, { fitted, padded, widthOf }] = await Promise.all([
    import('../engine/index.ts'),
    import('../terminal/graph.ts'),
    import('../terminal/width.ts'),
  ]);
  const lines = drawGraph(graphOf(flow)).map((line) => {
    if (line.kind === 'way') return { rails: line.rails, text: plain(line.label, 500), type: '' };
    const { node, before, after } = line;
    return { rails: `${before}○${after}`, text: plain(node.name, 500), type: node.type };
  });
  const width = io.columns ?? Number.POSITIVE_INFINITY;
  const types = Math.max(...lines.map(({ type }) => type.length));
  const texts = lines.filter(({ type }) => type !== '').map(({ rails, text }) => widthOf(rails + text));
  const column = Math.min(Math.max(...texts) + 2, Math.max(20, width - types));
  for (const { rails, text, type } of lines) {
    const room = (type === '' ? width : column - 1) - widthOf(rails);
    const shown = fitted(text, Math.max(8, room - (type === '' ? 1 : 0)));
    if (type === '') io.print(`${io.paint('dim', rails)} ${io.paint('dim', shown)}`.trimEnd());
    else io.print(`${io.paint('dim', rails)}${padded(shown, column - widthOf(rails))}${io.paint('dim', type)}`);
  }
}

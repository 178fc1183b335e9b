import { type ReadBody, type ReadNode, startsOf } from '../parse/nodes.ts';
import { edgesOf, follow } from './graph.ts';
import { checkJoins } from './joins.ts';

/** Warns of nodes that no token reaches, and of parallel joins that can never have all of theirs. */
export function checkReach(body: ReadBody): void {
  const starts = startsOf(body);
  if (starts.length !== 1) return;
  const edges = edgesOf(body);
  const reached = follow(
    starts.map((node) => node.id),
    edges,
  );
  for (const node of body.nodes.values()) {
    if (reached.has(node.id) || isOrphan(node, body)) continue;
    node.at.warning('UNREACHABLE', `nothing leads to \`${node.id}\``, {
      onKey: true,
      hint: 'connect it, or remove it',
    });
  }
  checkJoins(body, reached);
}

/** A boundary event on a node that is not there: its own problem. */
function isOrphan(node: ReadNode, body: ReadBody): boolean {
  const activity = node.raw['attachedTo'];
  return node.type === 'boundaryEvent' && !(typeof activity === 'string' && body.nodes.has(activity));
}

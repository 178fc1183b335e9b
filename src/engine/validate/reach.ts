import { idsIn, namedBy, type ReadBody, type ReadNode, startsOf } from '../parse/nodes.ts';
import { edgesOf, follow } from './graph.ts';

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
  warnOfJoins(body, reached, follow(forkTargets(body), edges));
}

/** A boundary event on a node that is not there: its own problem. */
function isOrphan(node: ReadNode, body: ReadBody): boolean {
  const activity = node.raw['attachedTo'];
  return node.type === 'boundaryEvent' && !(typeof activity === 'string' && body.nodes.has(activity));
}

/** Where tokens go that are more than one. */
function forkTargets(body: ReadBody): string[] {
  return [...body.nodes.values()].flatMap((node) => {
    if (node.type === undefined || (node.type === 'boundaryEvent' && node.raw['cancelActivity'] === false))
      return namedBy(node);
    const next = idsIn(node.raw['next'] ?? null);
    return next.length > 1 && node.type !== 'exclusiveGateway' ? next : [];
  });
}

/**
 * A parallel join needs a token on each of its connections (semantics 4). It never fires when one of them comes from a
 * node that is not reached, or when no fork lies before it, so that only a single token ever comes.
 */
function warnOfJoins(body: ReadBody, reached: ReadonlySet<string>, forked: ReadonlySet<string>): void {
  const sources = sourcesOf(body);
  for (const node of body.nodes.values()) {
    const from = sources.get(node.id) ?? [];
    if (node.type !== 'parallelGateway' || from.length < 2 || !reached.has(node.id)) continue;
    const missing = from.find((id) => !reached.has(id));
    if (missing !== undefined) {
      const message = `the join \`${node.id}\` never fires: it also waits for \`${missing}\`, which nothing leads to`;
      node.at.warning('NEVER_JOINS', message, { onKey: true });
    } else if (!forked.has(node.id)) {
      const message = `the join \`${node.id}\` never fires: it waits for ${from.length} tokens, and only one comes`;
      node.at.warning('NEVER_JOINS', message, {
        onKey: true,
        hint: 'join with an exclusiveGateway, or lead straight on',
      });
    }
  }
}

function sourcesOf(body: ReadBody): ReadonlyMap<string, readonly string[]> {
  const sources = new Map<string, string[]>();
  for (const node of body.nodes.values()) {
    for (const { connection } of node.connections) {
      const list = sources.get(connection.to);
      if (list === undefined) sources.set(connection.to, [node.id]);
      else list.push(node.id);
    }
  }
  return sources;
}

import type { Connection } from '../flow.ts';
import { idsIn, namedBy, type ReadBody, type ReadNode } from '../parse/nodes.ts';
import { type Edges, edgesOf, follow, reversed } from './graph.ts';

/** Each connection into a join takes a walk over the graph: so many nodes are visited altogether, at most. */
const MAX_VISITS = 1_000_000;

/** A place where one token becomes several: each of the `tokens` goes on to one of its nodes. */
interface Fork {
  readonly from: string;
  readonly tokens: readonly (readonly string[])[];
}

/**
 * Warns of parallel joins that never fire, for each needs a token on each of its connections (semantics 4): where one comes
 * from a node that nothing leads to, or where no fork sends tokens along two of them.
 */
export function checkJoins(body: ReadBody, reached: ReadonlySet<string>): void {
  const sources = sourcesOf(body);
  const back = reversed(edgesOf(body));
  const forks = forksOf(body);
  let left = MAX_VISITS / (body.nodes.size + forks.length);
  for (const node of body.nodes.values()) {
    const incoming = sources.get(node.id) ?? [];
    if (node.type !== 'parallelGateway' || incoming.length < 2 || !reached.has(node.id)) continue;
    left -= incoming.length;
    if (left < 0) return;
    const missing = incoming.find(({ from }) => !reached.has(from));
    if (missing !== undefined) {
      const message = `the join \`${node.id}\` never fires: it also waits for \`${missing.from}\`, which nothing leads to`;
      node.at.warning('NEVER_JOINS', message, { onKey: true });
    } else warnOfOneToken(node, incoming, forks, back);
  }
}

function warnOfOneToken(join: ReadNode, incoming: readonly Connection[], forks: readonly Fork[], back: Edges): void {
  const before = incoming.map(({ from }) => follow([from], back, join.id));
  const carried = forks.map((fork) => incoming.map((one, index) => tokensAlong(one, before[index], fork, join.id)));
  for (const [i, one] of incoming.entries()) {
    for (let j = i + 1; j < incoming.length; j += 1) {
      if (carried.some((tokens) => areTwo(tokens[i] ?? [], tokens[j] ?? []))) continue;
      const other = incoming[j] as Connection;
      const message = `the join \`${join.id}\` never fires: it waits for a token from \`${one.from}\` and another from \`${other.from}\`, and only one comes`;
      const hint = 'join with an exclusiveGateway, or lead straight on';
      return join.at.warning('NEVER_JOINS', message, { onKey: true, hint });
    }
  }
}

/** Which tokens of a fork may come along a connection; `before` is from where it is reached, not by way of the join. */
function tokensAlong(
  { from }: Connection,
  before: ReadonlySet<string> | undefined,
  fork: Fork,
  join: string,
): readonly number[] {
  return fork.tokens.flatMap((nodes, token) =>
    nodes.some((id) => (id === join ? from === fork.from : before?.has(id))) ? [token] : [],
  );
}

const areTwo = (some: readonly number[], others: readonly number[]): boolean =>
  some.length > 0 && others.length > 0 && (some.length > 1 || others.length > 1 || some[0] !== others[0]);

function forksOf(body: ReadBody): readonly Fork[] {
  const boundaries = [...body.nodes.values()].filter(({ type }) => type === 'boundaryEvent');
  const reminding = boundaries.filter(({ raw }) => raw['cancelActivity'] === false);
  return [...[...body.nodes.values()].flatMap(forkOf), ...reminding.map((one) => beside(one, body, boundaries))];
}

function forkOf(node: ReadNode): readonly Fork[] {
  const next = node.type === undefined ? namedBy(node) : idsIn(node.raw['next'] ?? null);
  return next.length > 1 && node.type !== 'exclusiveGateway' ? [{ from: node.id, tokens: next.map((id) => [id]) }] : [];
}

/** A boundary event that does not interrupt may fire more than once, and its activity goes on beside it. */
function beside({ id, raw }: ReadNode, body: ReadBody, boundaries: readonly ReadNode[]): Fork {
  const activity = String(raw['attachedTo']);
  const node = body.nodes.get(activity);
  const others = boundaries.filter((one) => one.id !== id && one.raw['attachedTo'] === activity);
  const goesOn = [...(node === undefined ? [] : namedBy(node)), ...others.map((one) => one.id)];
  return { from: activity, tokens: [goesOn, [id], [id]] };
}

function sourcesOf(body: ReadBody): ReadonlyMap<string, readonly Connection[]> {
  const sources = new Map<string, Connection[]>();
  for (const node of body.nodes.values()) {
    for (const { connection } of node.connections) {
      const list = sources.get(connection.to);
      if (list === undefined) sources.set(connection.to, [connection]);
      else list.push(connection);
    }
  }
  return sources;
}

import { type Condition, test } from '../juel/index.ts';
import { idsIn, type ReadBody, type ReadNode, startsOf } from '../parse/nodes.ts';
import { type Edges, edgesOf, follow, reversed } from './graph.ts';

/**
 * Warns of cycles that no way leads out of and where nothing is waited for, and of loops whose condition is always true: in
 * a body and those inside of it, but not where something else ends it (`stopped`).
 */
export function checkEndless(body: ReadBody, stopped = endsAtOnce(body)): void {
  if (!stopped) checkCycles(body);
  for (const node of body.nodes.values()) {
    const interrupted = stopped || isInterrupted(node, body);
    if (!interrupted) checkCondition(node);
    if (node.inner !== undefined) checkEndless(node.inner, interrupted || endsAtOnce(node.inner));
  }
}

function checkCycles(body: ReadBody): void {
  const edges = edgesOf(body);
  const reached = follow(
    startsOf(body).map(({ id }) => id),
    edges,
  );
  const ends = [...body.nodes.values()].filter(mayEnd).map(({ id }) => id);
  const ending = follow(ends, reversed(edges));
  const trapped = [...body.nodes.keys()].filter((id) => reached.has(id) && !ending.has(id));
  for (const cycle of cyclesAmong(trapped, edges)) {
    if (cycle.some((id) => waits(body.nodes.get(id)))) continue;
    const [first = ''] = cycle;
    const names = cycle.slice(0, 5).map((id) => `\`${id}\``);
    const what = `${names.join(', ')}${cycle.length > names.length ? ', …' : ''} ${cycle.length > 1 ? 'lead' : 'leads'}`;
    const message = `${what} round and round: no way leads out, and nothing is waited for`;
    const hint = 'lead out of it by a condition, or wait in it with an intermediateCatchEvent';
    body.nodes.get(first)?.at.warning('ENDLESS', message, { onKey: true, hint });
  }
}

/** Whether a token may end at the node, which is also so where its type or a connection is wrong. */
function mayEnd({ type, raw }: ReadNode): boolean {
  if (type === undefined || type === 'endEvent') return true;
  if (type === 'ifElse') return !Object.hasOwn(raw, 'else');
  return idsIn(raw['next'] ?? null).length === 0;
}

/** What goes on only when something comes from outside, as far as it can be seen from here. */
const WAITING = new Set([
  'userTask',
  'inputNode',
  'intermediateCatchEvent',
  'subProcess',
  'loopNode',
  'domainTask',
  'callAgent',
]);
const waits = (node: ReadNode | undefined): boolean => node?.type === undefined || WAITING.has(node.type);

/** The nodes of each cycle among `trapped`, which no edge leaves; what only leads into a cycle is no part of it. */
function cyclesAmong(trapped: readonly string[], edges: Edges): readonly (readonly string[])[] {
  const left = new Set(trapped);
  const entered = new Map<string, number>();
  for (const id of trapped) for (const to of edges.get(id) ?? []) entered.set(to, (entered.get(to) ?? 0) + 1);
  const open = trapped.filter((id) => !entered.has(id));
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    left.delete(id);
    for (const to of edges.get(id) ?? []) {
      const count = (entered.get(to) ?? 0) - 1;
      entered.set(to, count);
      if (count === 0) open.push(to);
    }
  }
  const cycles: (readonly string[])[] = [];
  for (const id of trapped) {
    if (!left.has(id)) continue;
    const reached = follow([id], edges);
    cycles.push([...reached].filter((other) => left.has(other)));
    for (const other of reached) left.delete(other);
  }
  return cycles;
}

/** A while loop whose condition reads no variable never changes its mind. */
function checkCondition(node: ReadNode): void {
  const condition = node.node?.keys['condition'] as Condition | undefined;
  if (node.type !== 'loopNode' || condition === undefined || condition.names.length > 0) return;
  if (!isTrue(condition) || (node.inner !== undefined && throws(node.inner))) return;
  const message = `the condition is always true: the loop \`${node.id}\` ends only with the error LOOP_LIMIT`;
  node.at
    .key('condition')
    .warning('ENDLESS', message, { hint: 'compare with a variable that the body sets, or use `times`' });
}

function isTrue(condition: Condition): boolean {
  try {
    return test(condition, () => undefined);
  } catch {
    return false;
  }
}

/** Something ends the loop or subProcess otherwise: its timeout, a boundary event, or an error that it expects. */
function isInterrupted({ id, raw }: ReadNode, body: ReadBody): boolean {
  if (Object.hasOwn(raw, 'timeout') || Object.hasOwn(raw, 'errorFlow')) return true;
  return [...body.nodes.values()].some(
    ({ type, raw: other }) => type === 'boundaryEvent' && other['attachedTo'] === id,
  );
}

/** A token ends the others with it. */
function endsAtOnce(body: ReadBody): boolean {
  return (
    [...body.nodes.values()].some(({ type, raw }) => type === 'endEvent' && raw['terminate'] === true) || throws(body)
  );
}

/** An error that the body throws leads out of the loop. */
function throws(body: ReadBody): boolean {
  return [...body.nodes.values()].some(
    ({ type, raw, inner }) =>
      (type === 'endEvent' && Object.hasOwn(raw, 'error')) || (inner !== undefined && throws(inner)),
  );
}

import type { At } from './keys/kind.ts';
import { closest } from './keys/suggest.ts';
import { type ReadBody, startsOf } from './parse/nodes.ts';
import type { File } from './parse/place.ts';
import { checkBoundaries } from './validate/boundaries.ts';
import { checkEndless } from './validate/endless.ts';
import { checkLoopNames, checkNames } from './validate/names.ts';
import { checkNodes } from './validate/node.ts';
import { checkOrder } from './validate/order.ts';
import { checkReach } from './validate/reach.ts';

/** So many dangling connections get a proposal; comparing with every id costs time. */
const MAX_PROPOSALS = 50;

/**
 * Checks a flow as a whole: that each body has its start, that connections lead somewhere, that boundary events fit;
 * and warns of what will never happen. `bodies` tells of every node id of the flow which `nodes` maps it stands in.
 */
export function validate(root: ReadBody, bodies: ReadonlyMap<string, readonly At[]>, file: File): void {
  let proposals = 0;
  const propose = (id: string, ids: Iterable<string>) => (proposals++ < MAX_PROPOSALS ? closest(id, ids) : undefined);
  for (const body of bodiesOf(root)) {
    checkStart(body);
    checkConnections(body, bodies, propose);
    checkBoundaries(body, propose);
    checkNodes(body);
    checkReach(body);
  }
  checkEndless(root);
  checkNames(file);
  checkLoopNames(root, file);
  checkOrder(root, file);
}

function* bodiesOf(body: ReadBody): Generator<ReadBody> {
  yield body;
  for (const node of body.nodes.values()) if (node.inner !== undefined) yield* bodiesOf(node.inner);
}

/** The flow itself has exactly one start event; a nested body may have it, or one node that nothing leads to. */
function checkStart(body: ReadBody): void {
  const starts = startsOf(body);
  const [first, ...more] = starts;
  if (first === undefined) {
    if (mayHoldStart(body)) return;
    const hint = 'add `start: { type: startEvent, next: … }`';
    const what =
      body.owner === undefined ? 'the flow has no start event' : `the body of \`${body.owner}\` has no start`;
    body.at.error('MISSING_START', what, { onKey: true, hint });
  } else if (first.type === 'startEvent') {
    for (const other of more) {
      other.at.error('SECOND_START', `\`${other.id}\` is a second start event: \`${first.id}\` is the first`, {
        onKey: true,
      });
    }
  } else if (more.length > 0) {
    const names = starts
      .slice(0, 5)
      .map((node) => `\`${node.id}\``)
      .join(', ');
    const message = `the body of \`${body.owner}\` could begin at ${names}`;
    body.at.error('MISSING_START', message, { onKey: true, hint: 'add a startEvent that leads to the first of them' });
  }
}

/** A node of a missing or unknown type that is surely meant as the start: its type is what is wrong. */
function mayHoldStart(body: ReadBody): boolean {
  return [...body.nodes.values()].some(
    ({ id, type, raw }) => type === undefined && /start/iu.test(`${id} ${raw['type']}`),
  );
}

type Propose = (id: string, ids: Iterable<string>) => string | undefined;

function checkConnections(body: ReadBody, bodies: ReadonlyMap<string, readonly At[]>, propose: Propose): void {
  for (const node of body.nodes.values()) {
    for (const { connection, at } of node.connections) checkTarget(connection.to, at, body, bodies, propose);
  }
}

function checkTarget(
  to: string,
  at: At,
  body: ReadBody,
  bodies: ReadonlyMap<string, readonly At[]>,
  propose: Propose,
): void {
  const target = body.nodes.get(to);
  if (target?.type === 'startEvent') {
    at.error('INTO_START', `nothing may lead to the start event \`${to}\``, { hint: 'name the node after it' });
  } else if (target?.type === 'boundaryEvent') {
    at.error('INTO_BOUNDARY', `nothing may lead to the boundary event \`${to}\`: it begins by itself`);
  } else if (bodies.get(to)?.some(({ path }) => path === body.at.path)) {
    return;
  } else if (bodies.has(to)) {
    const [other] = bodies.get(to) as readonly [At];
    const message = `\`${to}\` is in another body, \`${other.path}\`: connections stay inside of their own`;
    at.error('LEAVES_BODY', message);
  } else {
    const meant = propose(to, body.nodes.keys());
    const hint = meant === undefined ? {} : { hint: `did you mean \`${meant}\`?` };
    at.error('UNKNOWN_NODE', `there is no node \`${to.slice(0, 128)}\``, hint);
  }
}

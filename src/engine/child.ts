import { located } from './body.ts';
import type { ChildResult, StartCommand } from './command.ts';
import type { Flow } from './flow.ts';
import { merged } from './json.ts';
import { isUuid } from './keys/scalar.ts';
import type { Activation, Owed, State } from './state.ts';
import type { Template } from './template.ts';
import type { Turn } from './turn.ts';
import { visible } from './visible.ts';

/** The flow that a subProcess or callProcess names, once its references are resolved. */
export function childFlow(turn: Turn, processId: Template): string {
  const id = turn.text(processId).trim().toLowerCase();
  if (!isUuid(id)) return turn.fail('PROCESS_NOT_FOUND', `"${id.slice(0, 100)}" is not the id of a flow`);
  if (turn.draft.depth >= turn.context.limits.depth) {
    return turn.fail(
      'CALL_DEPTH',
      `flows may start one another ${turn.context.limits.depth} deep; does one start itself?`,
    );
  }
  return id;
}

/**
 * How the child of an inline subProcess begins: on the same version, with a copy of what its parent's node sees
 * (semantics 17). The caller gives it an id.
 */
export function inlineChild(
  flow: Flow,
  parent: State,
  owed: Extract<Owed, { kind: 'startChild' }>,
): Omit<StartCommand, 'id'> {
  const { node, scope } = parent.active.get(owed.n) as Activation;
  return {
    ...sharedWith(parent, owed.n, true),
    processId: parent.processId,
    version: parent.version,
    path: [...located(flow, node).path, node],
    data: merged(visible(parent, scope), owed.data),
  };
}

/** How the child of a subProcess with a processId begins; it gets `data` only. */
export function processChild(
  parent: State,
  owed: { n: number; processId: string; data: StartCommand['data'] },
  version: string,
): Omit<StartCommand, 'id'> {
  return { ...sharedWith(parent, owed.n, false), processId: owed.processId, version, path: [], data: owed.data };
}

/** How an instance begins that callProcess starts: independent from then on (semantics 20). */
export function calledInstance(
  caller: State,
  owed: Extract<Owed, { kind: 'call' }>,
  version: string,
): Omit<StartCommand, 'id'> {
  const { node } = caller.active.get(owed.n) as Activation;
  return {
    processId: owed.processId,
    version,
    path: [],
    organizationId: caller.organizationId,
    environment: caller.environment,
    ...(caller.correlationKey !== undefined && { correlationKey: caller.correlationKey }),
    trigger: { type: 'callProcess', processInstanceId: caller.id, nodeId: node },
    depth: caller.depth + 1,
    root: caller.root,
    data: owed.data,
  };
}

function sharedWith(parent: State, n: number, inline: boolean) {
  const { node } = parent.active.get(n) as Activation;
  return {
    organizationId: parent.organizationId,
    environment: parent.environment,
    ...(parent.correlationKey !== undefined && { correlationKey: parent.correlationKey }),
    trigger: { type: 'subProcess', processInstanceId: parent.id, nodeId: node },
    parent: { instanceId: parent.id, activation: n, inline },
    depth: parent.depth + 1,
    root: parent.root,
  };
}

/** What an ended child tells its parent. */
export function childResult(child: State): ChildResult {
  return {
    stateCd: child.stateCd as 1 | 2 | 3,
    variables: child.variables,
    written: [...child.written],
    ...(child.error && { error: child.error }),
  };
}

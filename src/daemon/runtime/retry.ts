import type { Flow } from '../../engine/flow.ts';
import { type Event, find, type StartCommand, ViewFold } from '../../engine/index.ts';
import type { JsonObject } from '../../engine/json.ts';
import { merged } from '../../engine/json.ts';
import { Rejection, type RetryRequest } from './door.ts';
import { belongs, type Reads } from './reads.ts';

/** Remembers, while a history is read, what the variables were when each node of the instance's own body was last entered. */
class Entered extends ViewFold {
  readonly variables = new Map<string, JsonObject>();
  /** The node of the instance's own body whose error was the last one. */
  failed: string | undefined;

  override next(event: Event, at: number): void {
    const node = 'n' in event ? this.state.active.get(event.n) : undefined;
    if (event.type === 'nodeFailed' || event.type === 'nodeTimedOut') {
      if (node?.scope === 0) this.failed = node.node;
    }
    super.next(event, at);
    if (event.type === 'nodeStarted' && (event.scope ?? 0) === 0) this.variables.set(event.node, this.state.variables);
  }
}

/**
 * How the retry of a finished instance begins: a new instance at the node that failed, or at `from`, with the variables as
 * they were there and `data` laid over them (decisions §3).
 */
export async function retryStart(
  reads: Reads,
  organizationId: string | undefined,
  id: string,
  { from, data }: RetryRequest,
): Promise<Omit<StartCommand, 'id'>> {
  const history = await reads.fold(id, (flow: Flow) => new Entered(flow));
  if (history === undefined || !belongs(history.state, organizationId)) {
    throw new Rejection('INSTANCE_NOT_FOUND', `there is no instance ${id.slice(0, 100)}`);
  }
  const { state } = history;
  if (state.stateCd === 0)
    throw new Rejection('CONFLICT', `the instance ${id} still runs: cancel it first, or let it end`);
  const node = from ?? history.failed ?? (state.error && history.lastNode);
  if (node === undefined) {
    throw new Rejection('CONFLICT', `the instance ${id} did not fail: name the node to go on from with "from"`);
  }
  const variables = history.variables.get(node);
  if (variables === undefined) throw notReached(history.flow, id, node);
  return {
    processId: state.processId,
    version: state.version,
    path: state.path,
    organizationId: state.organizationId,
    environment: state.environment,
    ...(state.correlationKey !== undefined && { correlationKey: state.correlationKey }),
    trigger: { type: 'retry', processInstanceId: id, nodeId: node },
    retryOf: id,
    depth: 0,
    data: merged(variables, data ?? {}),
    from: node,
  };
}

function notReached(flow: Flow, id: string, node: string): Rejection {
  if (find(flow, node) === undefined) return new Rejection('NODE_NOT_FOUND', `the flow has no node "${node}"`);
  return new Rejection(
    'CONFLICT',
    `the instance ${id} never reached "${node}", or it is inside a loop: name a node around it`,
  );
}

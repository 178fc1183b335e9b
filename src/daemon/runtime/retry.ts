import type { Flow } from '../../engine/flow.ts';
import {
  type Activation,
  type Beside,
  type Event,
  find,
  placeOf,
  ROOT_SCOPE,
  type StartCommand,
  type State,
  ViewFold,
} from '../../engine/index.ts';
import type { JsonObject } from '../../engine/json.ts';
import { merged } from '../../engine/json.ts';
import { Rejection, type RetryRequest } from './door.ts';
import { belongs, type Reads } from './reads.ts';

/** Where an instance stood when a node of its own body failed. */
interface Standing {
  readonly node: string;
  readonly variables: JsonObject;
  readonly beside: Beside;
}

/** Remembers, while a history is read, what the variables were when each node of the instance's own body was last entered. */
class Entered extends ViewFold {
  readonly variables = new Map<string, JsonObject>();
  /** The failure that nothing of the instance's own body caught. */
  failed: Standing | undefined;

  override next(event: Event, at: number): void {
    const node = 'n' in event ? this.state.active.get(event.n) : undefined;
    const fails = event.type === 'nodeFailed' || event.type === 'nodeTimedOut';
    if (fails && node?.scope === ROOT_SCOPE) this.failed = standing(this.state, node);
    super.next(event, at);
    const goesOn = event.type === 'nodeStarted' || event.type === 'tokenArrived';
    if (!goesOn || (event.scope ?? ROOT_SCOPE) !== ROOT_SCOPE) return;
    this.failed = undefined;
    if (event.type === 'nodeStarted') this.variables.set(event.node, this.state.variables);
  }
}

function standing({ active, joins, variables }: State, failing: Activation): Standing {
  const others = [...active.values()].filter(({ n, scope }) => scope === ROOT_SCOPE && n !== failing.n);
  const tokens = [...joins].flatMap(([key, vias]) => {
    const { scope, node } = placeOf(key);
    if (scope !== ROOT_SCOPE) return [];
    return [...vias].flatMap(([via, count]) => Array.from({ length: count }, () => ({ node, via })));
  });
  return { node: failing.node, variables, beside: { nodes: others.map(({ node }) => node), tokens } };
}

/**
 * How the retry of a finished instance begins: a new instance at the node that failed, with what stood beside it, or at
 * `from` alone; with the variables as they were there and `data` laid over them (decisions §3).
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
  const failed = from === undefined ? history.failed : undefined;
  const node = from ?? failed?.node ?? (state.error && history.lastNode);
  if (node === undefined) {
    throw new Rejection(
      'CONFLICT',
      `the instance ${id} did not fail: name the node to go on from (from, wfx instance retry --from)`,
    );
  }
  const hasBeside = failed !== undefined && failed.beside.nodes.length + failed.beside.tokens.length > 0;
  const variables = hasBeside ? failed.variables : history.variables.get(node);
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
    ...(hasBeside && { beside: failed.beside }),
  };
}

function notReached(flow: Flow, id: string, node: string): Rejection {
  if (find(flow, node) === undefined) return new Rejection('NODE_NOT_FOUND', `the flow has no node "${node}"`);
  return new Rejection(
    'CONFLICT',
    `the instance ${id} never reached "${node}", or it is inside a loop: name a node around it`,
  );
}

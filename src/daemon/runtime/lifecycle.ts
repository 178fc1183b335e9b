import type { Flow } from '../../engine/flow.ts';
import { type Event, find } from '../../engine/index.ts';
import type { JsonObject } from '../../engine/json.ts';
import type { LifecycleEvent } from './door.ts';

type LifecycleType = LifecycleEvent['type'];

const LIFECYCLE: Readonly<Partial<Record<Event['type'], LifecycleType>>> = {
  instanceStarted: 'INSTANCE_STARTED',
  instanceEnded: 'INSTANCE_ENDED',
  nodeStarted: 'NODE_STARTED',
  nodeCompleted: 'NODE_COMPLETED',
  nodeCancelled: 'NODE_CANCELLED',
  nodeTimedOut: 'NODE_TIMEDOUT',
  nodeFailed: 'NODE_FAILED',
};

/** After these the activation is over. */
export const NODE_ENDS: ReadonlySet<Event['type']> = new Set([
  'nodeCompleted',
  'nodeFailed',
  'nodeCancelled',
  'nodeTimedOut',
]);

/** What a lifecycle event tells of its instance. */
export interface Identity {
  readonly id: string;
  readonly processId: string;
  readonly version: string;
  readonly environment: string;
  readonly organizationId: string;
  readonly stateCd: number;
}

/** The lifecycle events of one commit of one instance, not written out yet: most are never asked for. */
export interface Transitions {
  readonly frame: number;
  /** Index of the first of them in the frame. */
  readonly index: number;
  readonly at: number;
  readonly instance: Identity;
  readonly flow: Flow;
  readonly types: readonly LifecycleType[];
  /** The node of each; undefined for what concerns the whole instance. */
  readonly nodes: readonly (string | undefined)[];
}

/** `events` as lifecycle events. `active` names the node of an activation that began before them. */
export function transitionsOf(
  events: readonly Event[],
  active: (n: number) => string | undefined,
): Pick<Transitions, 'types' | 'nodes'> {
  const types: LifecycleType[] = [];
  const nodes: (string | undefined)[] = [];
  const started = new Map<number, string>();
  for (const event of events) {
    if (event.type === 'nodePassed') {
      types.push('NODE_STARTED', 'NODE_COMPLETED');
      nodes.push(event.node, event.node);
      continue;
    }
    if (event.type === 'nodeStarted') started.set(event.n, event.node);
    const type = LIFECYCLE[event.type];
    if (type === undefined) continue;
    types.push(type);
    nodes.push('n' in event ? (started.get(event.n) ?? active(event.n)) : undefined);
  }
  return { types, nodes };
}

/** Number `i` of some lifecycle events, written out. */
export function written({ frame, index, types, nodes, at, instance, flow }: Transitions, i: number): LifecycleEvent {
  const type = types[i] as LifecycleType;
  const id = nodes[i];
  const node = id === undefined ? undefined : find(flow, id)?.node;
  const data: JsonObject = {
    processInstanceId: instance.id,
    processId: instance.processId,
    processVersion: instance.version,
    environment: instance.environment,
    timestamp: new Date(at).toISOString(),
    ...(id !== undefined && { nodeId: id, nodeName: node?.name ?? id, nodeType: node?.type ?? '' }),
    ...(type === 'INSTANCE_ENDED' && { stateCd: instance.stateCd }),
  };
  return { id: `${frame}.${index + i}`, type, data };
}

/** Where a lifecycle event stands in the journal. */
export type Position = readonly [frame: number, index: number];

export const isAfter = (a: Position, b: Position): boolean => a[0] > b[0] || (a[0] === b[0] && a[1] > b[1]);

/** The id of a lifecycle event as its position; undefined for any other text. */
export function parsePosition(text: string): Position | undefined {
  const parts = /^(\d{1,15})\.(\d{1,9})$/.exec(text);
  return parts === null ? undefined : [Number(parts[1]), Number(parts[2])];
}

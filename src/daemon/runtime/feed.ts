import type { Flow } from '../../engine/flow.ts';
import type { Event, State } from '../../engine/index.ts';
import { find } from '../../engine/index.ts';
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

/** The lifecycle events of one commit of one instance, as they are kept until somebody reads them. */
interface Kept {
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

/** What a lifecycle event tells of its instance; not the state, which must not be held. */
interface Identity {
  readonly id: string;
  readonly processId: string;
  readonly version: string;
  readonly environment: string;
  readonly organizationId: string;
  readonly stateCd: number;
}

/** How many commits a reader that comes back may find again. */
const KEPT = 20_000;

/** Committed facts on their way to those who watch: who follows an instance is woken, lifecycle events are kept for a while. */
export class Feed {
  readonly #followers = new Map<string, Set<() => void>>();
  #kept: Kept[] = [];
  readonly #watchers = new Set<() => void>();

  /** Resolves at the next commit of the instance, or when `signal` aborts. Ask before reading, so that none is missed. */
  changed(instanceId: string, signal: AbortSignal): Promise<void> {
    const followers = this.#followers.get(instanceId) ?? new Set();
    this.#followers.set(instanceId, followers);
    return wakened(followers, signal, () => {
      if (followers.size === 0) this.#followers.delete(instanceId);
    });
  }

  /** A frame is durable: `events` of an instance, whose nodes were `before` and are `state` now. */
  publish(
    frame: number,
    index: number,
    at: number,
    flow: Flow,
    before: State | undefined,
    state: State,
    events: readonly Event[],
  ): number {
    const { id, processId, version, environment, organizationId, stateCd } = state;
    const instance = { id, processId, version, environment, organizationId, stateCd };
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
      nodes.push('n' in event ? (started.get(event.n) ?? before?.active.get(event.n)?.node) : undefined);
    }
    this.#kept.push({ frame, index, at, instance, flow, types, nodes });
    if (this.#kept.length > 2 * KEPT) this.#kept = this.#kept.slice(-KEPT);
    for (const wake of [...(this.#followers.get(state.id) ?? [])]) wake();
    for (const wake of [...this.#watchers]) wake();
    return index + types.length;
  }

  /** Wakes everybody, e.g. because the daemon stops. */
  wakeAll(): void {
    for (const followers of [...this.#followers.values()]) for (const wake of [...followers]) wake();
    for (const wake of [...this.#watchers]) wake();
  }

  /** Lifecycle events after the position `after` (undefined: from now on); a reader too slow to keep up loses the stream. */
  async *lifecycle(
    organizationId: string | undefined,
    after: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<LifecycleEvent> {
    let position = after === undefined ? this.#last() : parsePosition(after);
    while (!signal.aborted) {
      const more = wakened(this.#watchers, signal);
      for (const kept of this.#from(position)) {
        for (let i = 0; i < kept.types.length; i += 1) {
          const at: Position = [kept.frame, kept.index + i];
          if (!isAfter(at, position)) continue;
          position = at;
          const theirs = organizationId === undefined || kept.instance.organizationId === organizationId;
          if (theirs) yield written(kept, i);
          if (signal.aborted) return;
        }
      }
      await more;
    }
  }

  #last(): Position {
    const last = this.#kept.at(-1);
    return last === undefined ? [0, 0] : [last.frame, last.index + last.types.length - 1];
  }

  /** What is kept from the frame of a position on. */
  #from([frame]: Position): readonly Kept[] {
    let low = 0;
    let high = this.#kept.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#kept[middle] as Kept).frame >= frame) high = middle;
      else low = middle + 1;
    }
    return this.#kept.slice(low);
  }
}

const isAfter = (a: Position, b: Position): boolean => a[0] > b[0] || (a[0] === b[0] && a[1] > b[1]);

/** Resolves when somebody calls what this adds to `sleepers`, or when `signal` aborts. */
function wakened(sleepers: Set<() => void>, signal: AbortSignal, left?: () => void): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      sleepers.delete(wake);
      signal.removeEventListener('abort', wake);
      left?.();
      resolve();
    };
    sleepers.add(wake);
    signal.addEventListener('abort', wake);
    if (signal.aborted) wake();
  });
}

type Position = readonly [frame: number, index: number];

/** A position that nobody gave is the beginning of what is kept. */
function parsePosition(text: string): Position {
  const parts = /^(\d{1,15})\.(\d{1,9})$/.exec(text);
  return parts === null ? [0, 0] : [Number(parts[1]), Number(parts[2])];
}

function written({ frame, index, types, nodes, at, instance, flow }: Kept, i: number): LifecycleEvent {
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

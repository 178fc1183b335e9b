import type { Flow } from '../../engine/flow.ts';
import { type Activation, find, type State } from '../../engine/index.ts';
import type { JsonObject } from '../../engine/json.ts';
import type { Environment, Page, Task, TaskQuery } from './door.ts';
import { belongs } from './reads.ts';
import { iso } from './summary.ts';

interface Open {
  readonly state: State;
  readonly flow: Flow;
  readonly activation: Activation;
}

/** Waiting Input Nodes and User Tasks of all instances. */
export class Tasks {
  readonly #open = new Map<string, Open>();

  add(state: State, flow: Flow, activation: Activation): void {
    const key = keyOf(state.id, activation.n);
    this.#open.set(key, { state, flow, activation });
  }

  remove(instanceId: string, n: number): void {
    this.#open.delete(keyOf(instanceId, n));
  }

  /** Oldest first; the cursor says where the last one shown stands, which may be answered by now. */
  list(query: TaskQuery): Page<Task> {
    const after = query.cursor === undefined ? undefined : placeIn(query.cursor);
    const found = [...this.#open.values()]
      .filter((open) => matches(open, query) && (after === undefined || compare(placeOf(open), after) > 0))
      .sort((one, other) => compare(placeOf(one), placeOf(other)));
    const page = found.slice(0, query.limit);
    const last = page.at(-1);
    const nextCursor = last === undefined || page.length === found.length ? null : placeOf(last).join(':');
    return { items: page.map(taskOf), nextCursor };
  }
}

/** Where a task stands in the order of waiting. */
type Place = readonly [since: number, instanceId: string, n: number];

const placeOf = ({ state, activation }: Open): Place => [activation.startedAt, state.id, activation.n];

function placeIn(cursor: string): Place {
  const [since = '', instanceId = '', n = ''] = cursor.split(':');
  return [Number(since), instanceId, Number(n)];
}

function compare([since, id, n]: Place, other: Place): number {
  return since - other[0] || (id < other[1] ? -1 : id > other[1] ? 1 : n - other[2]);
}

const keyOf = (instanceId: string, n: number): string => `${instanceId}:${n}`;

function matches({ state }: Open, query: TaskQuery): boolean {
  return (
    belongs(state, query.organizationId) &&
    (query.processInstanceId === undefined || state.id === query.processInstanceId) &&
    (query.processId === undefined || state.processId === query.processId.toLowerCase())
  );
}

function taskOf({ state, flow, activation }: Open): Task {
  const node = find(flow, activation.node)?.node;
  const { form, dueAt, assignee, candidates } = activation.task as JsonObject;
  const timeout = activation.timers.find(({ purpose }) => purpose === 'timeout');
  return {
    processInstanceId: state.id,
    processId: state.processId,
    processName: state.processName,
    nodeId: activation.node,
    nodeName: node?.name ?? activation.node,
    nodeType: node?.type === 'userTask' ? 'userTask' : 'inputNode',
    environment: state.environment as Environment,
    ...(state.correlationKey !== undefined && { correlationKey: state.correlationKey }),
    since: iso(activation.startedAt),
    ...(timeout && { timeoutAt: iso(timeout.due) }),
    ...(typeof dueAt === 'number' && { dueAt: iso(dueAt) }),
    ...(typeof assignee === 'string' && { assignee }),
    ...(Array.isArray(candidates) && { candidates: candidates as string[] }),
    form: form as JsonObject,
  };
}

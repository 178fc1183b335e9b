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

/** Waiting Input Nodes and User Tasks of all instances, in the order in which they began to wait. */
export class Tasks {
  readonly #open = new Map<string, Open>();

  add(state: State, flow: Flow, activation: Activation): void {
    const key = keyOf(state.id, activation.n);
    this.#open.set(key, { state, flow, activation });
  }

  remove(instanceId: string, n: number): void {
    this.#open.delete(keyOf(instanceId, n));
  }

  /** Oldest first; the cursor is the key of the last one shown. */
  list(query: TaskQuery): Page<Task> {
    const items: Task[] = [];
    let skipping = query.cursor !== undefined && this.#open.has(query.cursor);
    let last = '';
    for (const [key, open] of this.#open) {
      if (skipping) {
        skipping = key !== query.cursor;
        continue;
      }
      if (!matches(open, query)) continue;
      if (items.length === query.limit) return { items, nextCursor: last };
      items.push(taskOf(open));
      last = key;
    }
    return { items, nextCursor: null };
  }
}

const keyOf = (instanceId: string, n: number): string => `${instanceId}:${n}`;

function matches({ state }: Open, query: TaskQuery): boolean {
  return (
    belongs(state, query.organizationId) &&
    (query.processInstanceId === undefined || state.id === query.processInstanceId) &&
    (query.processId === undefined || state.processId === query.processId)
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

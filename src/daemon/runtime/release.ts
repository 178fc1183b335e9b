import type { Flow } from '../../engine/flow.ts';
import {
  type Activation,
  type ActivationPending,
  pending,
  prepareWork,
  type State,
  workKind,
} from '../../engine/index.ts';
import type { Outcome, Work, WorkItem } from '../ports.ts';
import { deliver, type Surroundings, takeBuffered } from './deliver.ts';
import type { Definitions, Environment } from './door.ts';
import type { Feed } from './feed.ts';
import { NODE_ENDS } from './lifecycle.ts';
import type { Memory } from './memory.ts';
import { Messages } from './messages.ts';
import type { Misses } from './misses.ts';
import { Subscriptions, type Waiting } from './subscriptions.ts';
import { Tasks } from './tasks.ts';
import { Timers } from './timers.ts';
import type { Transaction } from './transaction.ts';

export interface ReleaseOptions {
  readonly work: Work;
  readonly feed: Feed;
  readonly memory: Memory;
  readonly definitions: Definitions;
  readonly misses: Misses;
  readonly later: (instanceId: string, act: (transaction: Transaction) => void) => void;
  readonly durably: (act: (transaction: Transaction) => void) => Promise<void>;
}

/**
 * After the commit: subscriptions are opened at once, and when it is durable streams are fed, timers armed, work started. A
 * restart goes the same way, with instances that had nothing before.
 */
export class Release {
  readonly timers: Timers;
  readonly subscriptions = new Subscriptions();
  readonly messages = new Messages();
  readonly tasks = new Tasks();
  /** Nodes entered since the daemon began. */
  transitions = 0;
  readonly #options: ReleaseOptions;

  constructor(options: ReleaseOptions) {
    this.#options = options;
    this.timers = new Timers((id, n, purpose, due) =>
      options.later(id, (transaction) => {
        if (transaction.at < due) this.timers.again(id, n, purpose, due);
        else transaction.decide(id, { type: 'fireTimer', n, purpose, due });
      }),
    );
  }

  /** What a delivery from instance to instance needs to know. */
  get surroundings(): Surroundings {
    const { definitions, memory, misses } = this.#options;
    return { definitions, memory, misses, subscriptions: this.subscriptions, messages: this.messages };
  }

  /** A transaction is what holds from now on, though it is not durable yet: what comes later is decided by it. */
  adopt(transaction: Transaction): void {
    for (const { id, events } of transaction.changes.values()) {
      for (const event of events) if (NODE_ENDS.has(event.type) && 'n' in event) this.subscriptions.close(id, event.n);
    }
    for (const waiting of transaction.opened) if (transaction.isOpen(waiting)) this.#open(waiting);
  }

  /** A frame is durable. */
  frame(number: number, transaction: Transaction): void {
    const { feed, memory } = this.#options;
    let index = 0;
    for (const { id, flow, before, after, events } of transaction.changes.values()) {
      const live = memory.live.get(id);
      if (live !== undefined) live.durable = after;
      for (const { type } of events) if (type === 'nodeStarted' || type === 'nodePassed') this.transitions += 1;
      this.#owe(flow, before, after);
      if (after.stateCd !== 0 && after.outbox.size === 0) memory.remove(id);
      index = feed.publish(number, index, transaction.at, flow, before, after, events);
    }
  }

  /** Takes up everything that restored instances owe; work that was under way is tried again (semantics 22). */
  resume(memory: Memory): void {
    this.messages.restore(memory);
    for (const waiting of waitingIn(memory)) this.#open(waiting);
    for (const { flow, tip } of memory.live.values()) {
      for (const { n, phase, attempt } of tip.active.values()) {
        if (phase !== 'working') continue;
        this.#options.later(tip.id, (transaction) => transaction.decide(tip.id, { type: 'resumeWork', n, attempt }));
      }
      this.#owe(flow, undefined, tip);
    }
  }

  close(): void {
    this.timers.close();
  }

  #owe(flow: Flow, before: State | undefined, after: State): void {
    const { later } = this.#options;
    const { changed, gone, outbox, more } = pending(before, after);
    for (const activation of gone) this.#withdraw(after.id, activation);
    for (const change of changed) this.#arm(flow, before, after, change);
    for (const [number] of outbox) {
      later(after.id, (transaction) => deliver(transaction, this.surroundings, after.id, number));
    }
    if (more) later(after.id, (transaction) => transaction.decide(after.id, { type: 'continue' }));
  }

  #withdraw(id: string, { n, timers, phase, task }: Activation): void {
    if (phase === 'working') this.#options.work.abort(id, n);
    if (timers.length > 0) this.timers.set(id, n, []);
    if (task !== undefined) this.tasks.remove(id, n);
  }

  #arm(flow: Flow, before: State | undefined, after: State, { activation, timers, work }: ActivationPending): void {
    const { n } = activation;
    const was = before?.active.get(n);
    if (was?.phase === 'working' && (work || activation.phase !== 'working')) this.#options.work.abort(after.id, n);
    if (timers !== undefined) this.timers.set(after.id, n, timers);
    if (activation.task !== undefined) this.tasks.add(after, flow, activation);
    if (work) this.#work(flow, after, activation);
  }

  /** Messages that came before go to what opens in its own transaction; what is more than that takes follows (semantics 14). */
  #open(waiting: Waiting): void {
    this.subscriptions.open(waiting);
    const { organizationId, kind, name, correlationKey, instanceId } = waiting;
    if (kind !== 'message' || !this.messages.has(organizationId, name, correlationKey)) return;
    const take = (transaction: Transaction): void => {
      if (takeBuffered(transaction, this.surroundings, waiting)) this.#options.later(instanceId, take);
    };
    this.#options.later(instanceId, take);
  }

  #work(flow: Flow, state: State, { n, node, attempt, progress = [] }: Activation): void {
    const { id, organizationId, processId } = state;
    const { later, durably } = this.#options;
    const item: WorkItem = {
      instanceId: id,
      nodeId: node,
      activation: n,
      attempt,
      idempotencyKey: `${id}:${node}:${n}`,
      organizationId,
      environment: state.environment as Environment,
      processId,
      kind: workKind(flow, state, n),
      prepare: (env) => prepareWork(flow, state, n, env),
      progress,
      record: (step, logs) =>
        durably((transaction) => transaction.decide(id, { type: 'recordProgress', n, attempt, step, logs })),
    };
    this.#options.work.start(item, (outcome: Outcome) =>
      later(id, (transaction) => transaction.decide(id, { type: 'finishWork', n, attempt, outcome })),
    );
  }
}

/** What waits in restored instances, in the order in which it began to wait (semantics 12). */
function waitingIn(memory: Memory): readonly Waiting[] {
  const waiting = [...memory.live.values()].flatMap(({ tip: { id, organizationId, active } }) =>
    [...active.values()].flatMap(({ n, startedAt, subscriptions }) =>
      subscriptions.map((one) => ({ startedAt, waiting: { ...one, organizationId, instanceId: id, n } })),
    ),
  );
  return waiting.sort((a, b) => a.startedAt - b.startedAt).map((one) => one.waiting);
}

import type { Flow } from '../../engine/flow.ts';
import {
  begin,
  type Command,
  type Context,
  type Decision,
  decide,
  type Event,
  type StartCommand,
  type State,
} from '../../engine/index.ts';
import { type Json, type JsonObject, jsonSize } from '../../engine/json.ts';
import type { Fact, Frame } from '../ports.ts';
import { Rejection } from './door.ts';
import type { Memory } from './memory.ts';
import type { Waiting } from './subscriptions.ts';

/** What one instance goes through within a transaction. */
export interface Change {
  readonly id: string;
  readonly flow: Flow;
  readonly before: State | undefined;
  after: State;
  readonly events: Event[];
  /** How many of its events the transaction's weight counts. */
  weighed: number;
}

/**
 * One commit in the making: what several instances and collections go through together. Nothing of it shows in memory until
 * it is adopted, so that giving it up needs no undoing.
 */
export class Transaction {
  readonly context: (state: Pick<State, 'organizationId' | 'environment'>) => Context;
  readonly at: number;
  readonly changes = new Map<string, Change>();
  readonly facts: Fact[] = [];
  /** What began to wait in it, in order. Some of it may be over again. */
  readonly opened: Waiting[] = [];
  readonly #memory: Memory;
  #weight = 0;

  constructor(memory: Memory, at: number, context: (state: Pick<State, 'organizationId' | 'environment'>) => Context) {
    this.#memory = memory;
    this.at = at;
    this.context = context;
  }

  /** A live instance as it is within this transaction. */
  state(id: string): State | undefined {
    return this.changes.get(id)?.after ?? this.#memory.live.get(id)?.tip;
  }

  /** Whether something that began to wait still does. */
  isOpen({ instanceId, n, purpose }: Waiting): boolean {
    const activation = this.state(instanceId)?.active.get(n);
    return activation?.subscriptions.some((subscription) => subscription.purpose === purpose) === true;
  }

  begin(flow: Flow, command: StartCommand): Decision {
    const decision = begin(flow, command, this.context(command));
    if (decision.ok) this.#note(command.id, flow, undefined, decision);
    return decision;
  }

  /** Gives a command to a live instance; one that is not live any more gives undefined. */
  decide(id: string, command: Command): Decision | undefined {
    const before = this.state(id);
    const flow = this.changes.get(id)?.flow ?? this.#memory.live.get(id)?.flow;
    if (before === undefined || flow === undefined) return undefined;
    const decision = decide(flow, before, command, this.context(before));
    if (decision.ok && decision.events.length > 0) this.#note(id, flow, before, decision);
    return decision;
  }

  /** As `decide`, but a refusal is thrown. */
  demand(id: string, command: Command): State {
    const decision = this.decide(id, command);
    if (decision === undefined) throw new Rejection('INSTANCE_NOT_FOUND', `there is no instance ${id}`);
    if (decision.ok) return decision.state;
    throw new Rejection(decision.refusal.code, decision.refusal.message, decision.refusal.details);
  }

  /** Bytes of all its events, about; counted when it is asked for, which it seldom is. */
  get weight(): number {
    for (const change of this.changes.values()) {
      for (const event of change.events.slice(change.weighed)) this.#weight += jsonSize(event as unknown as Json);
      change.weighed = change.events.length;
    }
    return this.#weight;
  }

  #note(id: string, flow: Flow, before: State | undefined, decision: Extract<Decision, { ok: true }>): void {
    for (const event of decision.events) {
      if (event.type !== 'subscribed') continue;
      const { organizationId } = decision.state;
      this.opened.push({ ...event, organizationId, instanceId: id });
    }
    const change = this.changes.get(id);
    if (change === undefined)
      this.changes.set(id, { id, flow, before, after: decision.state, events: [...decision.events], weighed: 0 });
    else {
      change.after = decision.state;
      for (const event of decision.events) change.events.push(event);
    }
  }

  /** Puts an instance's part before the others': a child is cancelled before its parent's node. */
  first(id: string): void {
    const change = this.changes.get(id);
    if (change === undefined) return;
    const others = [...this.changes].filter(([other]) => other !== id);
    this.changes.clear();
    this.changes.set(id, change);
    for (const [other, its] of others) this.changes.set(other, its);
  }

  get isEmpty(): boolean {
    return this.changes.size === 0 && this.facts.length === 0;
  }

  /** The transaction as one frame; `summarize` makes what lists of finished instances show. */
  frame(summarize: (state: State) => JsonObject): Frame {
    const instances = [...this.changes.values()].map(({ id, before, after, events }) => ({
      id,
      seq: (before?.seq ?? 0) + 1,
      events: events as unknown as JsonObject[],
      ...(events.some(({ type }) => type === 'instanceEnded') && { ended: summarize(after) }),
    }));
    return { at: this.at, instances, facts: this.facts };
  }
}

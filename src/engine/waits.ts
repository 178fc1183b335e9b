import { change } from './apply.ts';
import { bodyOf, find } from './body.ts';
import { type Draft, emptyDraft } from './draft.ts';
import type { Event } from './event.ts';
import type { Connection, Flow, Node } from './flow.ts';
import { reaching } from './join.ts';
import type { JsonObject } from './json.ts';
import type { WorkKind } from './node.ts';
import { behaviourOf } from './nodes/index.ts';
import { type Activation, type Failure, joinKey, placeOf, ROOT_SCOPE, type State } from './state.ts';

/** What one token waits for. All times are ms since the epoch. */
export interface Wait {
  readonly node: Node;
  /** Its activation; absent for tokens that stand at a join. */
  readonly n?: number;
  /** Index of the loop's iteration that it is in, where it is in one. */
  readonly iteration?: number;
  readonly since: number;
  readonly awaited: Awaited;
  /** What else would move it: its timeout and its boundary events. */
  readonly otherwise: readonly Otherwise[];
}

export type Awaited =
  /** It goes on by itself: the turn was cut, or something is being delivered. */
  | { readonly kind: 'turn' }
  | ({ readonly kind: 'work'; readonly work: WorkKind; readonly error?: Failure } & Attempts)
  /** `error`: of the attempt before; `attempt` is the one that comes at `due`. */
  | ({ readonly kind: 'retry'; readonly due: number; readonly error?: Failure } & Attempts)
  | { readonly kind: 'task'; readonly task: JsonObject }
  | { readonly kind: 'message'; readonly name: string; readonly correlationKey: string }
  | { readonly kind: 'signal'; readonly name: string }
  | { readonly kind: 'timer'; readonly due: number }
  /** `missing`: connections that no token came along; `coming`: nodes whose tokens can still get there. */
  | { readonly kind: 'join'; readonly missing: readonly Connection[]; readonly coming: readonly string[] }
  /** Undefined until the child has begun. */
  | { readonly kind: 'child'; readonly child: string | undefined }
  | { readonly kind: 'loop'; readonly running: number; readonly begun: number; readonly count?: number };

interface Attempts {
  /** Counted from 1. */
  readonly attempt: number;
  readonly attempts: number;
}

export type Otherwise =
  | { readonly by: 'timeout'; readonly due: number; readonly to: string | undefined }
  | { readonly by: 'timer'; readonly due: number; readonly boundary: Node }
  | {
      readonly by: 'message' | 'signal';
      readonly name: string;
      readonly correlationKey: string;
      readonly boundary: Node;
    };

/** How an instance ended. */
export interface Ended {
  readonly stateCd: 1 | 2 | 3;
  readonly at: number;
  readonly error?: Failure;
  /** The nodes that were cancelled with it. */
  readonly cancelled: readonly string[];
}

/** What an instance waits for, as its history tells it: feed it every event in order. */
export class WaitFold {
  readonly flow: Flow;
  readonly #draft: Draft = emptyDraft();
  /** When each activation came to where it is, and the error of its attempt before. */
  readonly #since = new Map<number, { readonly at: number; readonly error?: Failure }>();
  readonly #standing = new Map<string, number>();
  #cancelled: { at: number; nodes: string[] } = { at: 0, nodes: [] };
  #ended: Ended | undefined;

  constructor(flow: Flow) {
    this.flow = flow;
  }

  get state(): State {
    return this.#draft;
  }

  get ended(): Ended | undefined {
    return this.#ended;
  }

  /** One for each token, in the order in which their nodes began; those that stand at joins come last. */
  get waits(): readonly Wait[] {
    if (this.#draft.stateCd !== 0) return [];
    const active = [...this.#draft.active.values()].map((activation) => this.#waitOf(activation));
    return [...active, ...[...this.#draft.joins.keys()].map((key) => this.#joinOf(key))];
  }

  next(event: Event, at: number): void {
    if (event.type === 'nodeCancelled') this.#cancel(event.n, at);
    change(this.#draft, event, at);
    switch (event.type) {
      case 'nodeStarted':
      case 'nodeWaiting':
        this.#since.set(event.n, { at });
        return;
      case 'workStarted': {
        const error = this.#since.get(event.n)?.error;
        this.#since.set(event.n, { at, ...(error && { error }) });
        return;
      }
      case 'workFailed':
        this.#since.set(event.n, { at, error: event.error });
        return;
      case 'nodeCompleted':
      case 'nodeFailed':
      case 'nodeCancelled':
      case 'nodeTimedOut':
        this.#since.delete(event.n);
        return;
      case 'tokenArrived':
        if (!this.#standing.has(joinKey(event.scope, event.node)))
          this.#standing.set(joinKey(event.scope, event.node), at);
        return;
      case 'joinFired':
        // A surplus token stays; when it came is not told apart.
        if (!this.#draft.joins.has(joinKey(event.scope, event.node)))
          this.#standing.delete(joinKey(event.scope, event.node));
        return;
      case 'instanceEnded': {
        const cancelled = this.#cancelled.at === at ? this.#cancelled.nodes : [];
        this.#ended = { stateCd: event.stateCd, at, cancelled, ...(event.error && { error: event.error }) };
        return;
      }
    }
  }

  /** What ends an instance cancels what is left of it in the same commit, and so at the same time. */
  #cancel(n: number, at: number): void {
    const node = this.#draft.active.get(n)?.node ?? '';
    if (this.#cancelled.at !== at) this.#cancelled = { at, nodes: [] };
    this.#cancelled.nodes.push(node);
  }

  #waitOf(activation: Activation): Wait {
    const node = find(this.flow, activation.node)?.node as Node;
    const since = this.#since.get(activation.n);
    return {
      node,
      n: activation.n,
      ...this.#iteration(activation.scope),
      since: since?.at ?? activation.startedAt,
      awaited: awaitedBy(activation, node, since?.error),
      otherwise: this.#otherwise(activation, node),
    };
  }

  #iteration(scope: number): { readonly iteration?: number } {
    const index = scope === ROOT_SCOPE ? undefined : this.#draft.scopes.get(scope)?.index;
    return index === undefined ? {} : { iteration: index };
  }

  #otherwise({ scope, timers, subscriptions }: Activation, node: Node): readonly Otherwise[] {
    const boundaries = bodyOf(this.flow, this.#draft, scope).boundaries.get(node.id) ?? [];
    const boundaryOf = (purpose: string): Node | undefined =>
      boundaries.find((boundary) => purpose === `boundary:${boundary.id}`);
    const ways: Otherwise[] = [];
    for (const { purpose, due } of timers) {
      const boundary = boundaryOf(purpose);
      if (purpose === 'timeout') ways.push({ by: 'timeout', due, to: node.timeoutFlow?.to });
      else if (boundary !== undefined) ways.push({ by: 'timer', due, boundary });
    }
    for (const { purpose, kind, name, correlationKey } of subscriptions) {
      const boundary = boundaryOf(purpose);
      if (boundary !== undefined) ways.push({ by: kind, name, correlationKey, boundary });
    }
    return ways;
  }

  #joinOf(key: string): Wait {
    const { scope, node: id } = placeOf(key);
    const body = bodyOf(this.flow, this.#draft, scope);
    const tokens = this.#draft.joins.get(key);
    const sources = reaching(body, id);
    const coming = new Set<string>();
    for (const activation of this.#draft.active.values())
      if (activation.scope === scope && sources.has(activation.node)) coming.add(activation.node);
    for (const other of this.#draft.joins.keys()) {
      const place = placeOf(other);
      if (place.scope === scope && sources.has(place.node)) coming.add(place.node);
    }
    return {
      node: body.nodes.get(id) as Node,
      ...this.#iteration(scope),
      since: this.#standing.get(key) ?? this.#draft.startTime,
      awaited: {
        kind: 'join',
        missing: (body.incoming.get(id) ?? []).filter((connection) => tokens?.has(connection.id) !== true),
        coming: [...coming],
      },
      otherwise: [],
    };
  }
}

function awaitedBy(activation: Activation, node: Node, error: Failure | undefined): Awaited {
  const { phase, attempt, timers, child, loop } = activation;
  const told = error === undefined ? {} : { error };
  const attempts = node.retry?.attempts ?? 1;
  switch (phase) {
    case 'ready':
      return { kind: 'turn' };
    case 'working':
      return { kind: 'work', work: behaviourOf(node).work?.kind(node) as WorkKind, attempt, attempts, ...told };
    case 'retrying': {
      const due = timers.find(({ purpose }) => purpose === 'retry')?.due ?? 0;
      return { kind: 'retry', due, attempt: attempt + 1, attempts, ...told };
    }
    case 'child':
      return { kind: 'child', child };
    case 'body': {
      const { running, next, count } = loop ?? { running: 0, next: 0 };
      return { kind: 'loop', running, begun: next, ...(count !== undefined && { count }) };
    }
    case 'waiting':
      return waitingFor(activation);
  }
}

function waitingFor({ task, subscriptions, timers }: Activation): Awaited {
  if (task !== undefined) return { kind: 'task', task };
  const own = subscriptions.find(({ purpose }) => purpose === 'catch');
  if (own?.kind === 'message') return { kind: 'message', name: own.name, correlationKey: own.correlationKey };
  if (own !== undefined) return { kind: 'signal', name: own.name };
  const timer = timers.find(({ purpose }) => purpose === 'catch');
  return timer === undefined ? { kind: 'turn' } : { kind: 'timer', due: timer.due };
}

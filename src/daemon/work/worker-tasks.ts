import { randomUUID } from 'node:crypto';
import type { Json } from '../../engine/json.ts';

/** Work that a worker outside of the daemon may do. */
export interface OfferedTask {
  readonly handler: string;
  readonly input: Json;
  readonly idempotencyKey: string;
  readonly organizationId: string;
  readonly environment: 'DEVELOPMENT' | 'PRODUCTION';
  readonly processInstanceId: string;
  readonly processId: string;
  readonly nodeId: string;
  readonly attempt: number;
}

/** A task handed to one worker under an id of its own: whoever had it before holds an id that is no longer known. */
export interface LeasedTask extends OfferedTask {
  readonly taskId: string;
}

/** Told by workers; both resolve when the outcome is durable, and the task is over then. */
export interface TaskEnd {
  complete(result: Json): Promise<void>;
  fail(failure: TaskFailure): Promise<void>;
  /** The worker that had it is silent: it is offered again. */
  lost(): void;
}

export interface TaskFailure {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
}

export interface PollRequest {
  readonly handlers: readonly string[];
  /** Undefined: of all organizations. */
  readonly organizationId: string | undefined;
  /** Undefined: of both. */
  readonly environment: string | undefined;
  /** ms. */
  readonly maxWait: number;
}

/** A worker that asked for tasks lately. */
export interface Asker {
  readonly handlers: readonly string[];
  readonly environment: string | undefined;
  /** Undefined: it asks for all organizations. */
  readonly organizationId: string | undefined;
  /** When it last asked, ms since the epoch. */
  readonly at: number;
}

/** How many workers are remembered. */
const MOST_ASKERS = 200;

/** How long a worker may be silent before its task is offered again. */
export const LEASE_MS = 30_000;

interface Offer {
  readonly task: OfferedTask;
  readonly end: TaskEnd;
  /** Undefined: waits for a worker. */
  lease: Lease | undefined;
}
interface Lease {
  readonly taskId: string;
  timer: NodeJS.Timeout;
  /** Its outcome is being made durable. */
  settling: boolean;
}
interface Poller {
  readonly request: PollRequest;
  readonly take: (offer: Offer | undefined) => void;
}

/**
 * Tasks for external workers: offered in order, each to one worker that polls for its handler, for as long as that one gives
 * signs of life. It is all in memory: work that was under way is offered anew when the daemon starts again.
 */
export class WorkerTasks {
  readonly #offers = new Set<Offer>();
  readonly #leased = new Map<string, Offer>();
  readonly #pollers = new Set<Poller>();
  /** Who asked lately, the newest last. */
  readonly #askers = new Map<string, Asker>();
  readonly #leaseMs: number;
  #closed = false;

  constructor(leaseMs = LEASE_MS) {
    this.#leaseMs = leaseMs;
  }

  /** Offers a task until it is done or withdrawn; returns what withdraws it. */
  offer(task: OfferedTask, end: TaskEnd): { readonly taken: boolean; withdraw(): void } {
    const offer: Offer = { task, end, lease: undefined };
    this.#offers.add(offer);
    this.#hand(offer);
    return {
      get taken() {
        return offer.lease !== undefined;
      },
      withdraw: () => this.#remove(offer),
    };
  }

  /** Whether a node's task waits for a worker or one has it; undefined: nothing is offered for it. */
  standing(processInstanceId: string, nodeId: string): 'offered' | 'taken' | undefined {
    for (const { task, lease } of this.#offers) {
      if (task.processInstanceId === processInstanceId && task.nodeId === nodeId)
        return lease === undefined ? 'offered' : 'taken';
    }
    return undefined;
  }

  /** Workers that asked for tasks of the organization since the daemon began, the newest first. */
  askers(organizationId: string): readonly Asker[] {
    return [...this.#askers.values()]
      .filter((one) => one.organizationId === undefined || one.organizationId === organizationId)
      .reverse();
  }

  /** The oldest task that fits, waiting for one at most `maxWait`; undefined: none came, or `signal` aborted. */
  poll(request: PollRequest, signal: AbortSignal): Promise<LeasedTask | undefined> {
    this.#remember(request);
    return new Promise((resolve) => {
      const take = (offer: Offer | undefined): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        this.#pollers.delete(poller);
        resolve(offer && this.#lease(offer));
      };
      const stop = () => take(undefined);
      const poller: Poller = { request, take };
      const timer = setTimeout(stop, request.maxWait);
      const waiting = [...this.#offers].find((offer) => offer.lease === undefined && fits(request, offer.task));
      if (waiting !== undefined || signal.aborted || this.#closed || request.maxWait === 0) return take(waiting);
      signal.addEventListener('abort', stop);
      this.#pollers.add(poller);
    });
  }

  /** The worker still works on it. False: the task is not this worker's any more. */
  heartbeat(taskId: string, organizationId: string | undefined): boolean {
    const offer = this.#held(taskId, organizationId);
    if (offer?.lease === undefined) return false;
    clearTimeout(offer.lease.timer);
    offer.lease.timer = this.#expiry(offer);
    return true;
  }

  /** Resolves when the result is durable. False: the task is not this worker's any more. */
  complete(taskId: string, organizationId: string | undefined, result: Json): Promise<boolean> {
    return this.#settle(taskId, organizationId, (end) => end.complete(result));
  }

  fail(taskId: string, organizationId: string | undefined, failure: TaskFailure): Promise<boolean> {
    return this.#settle(taskId, organizationId, (end) => end.fail(failure));
  }

  /** Workers that wait get nothing, and are told so at once. */
  close(): void {
    this.#closed = true;
    for (const { take } of this.#pollers) take(undefined);
    for (const { lease } of this.#leased.values()) clearTimeout(lease?.timer);
  }

  #remember({ handlers, organizationId, environment }: PollRequest): void {
    const key = JSON.stringify([organizationId ?? null, environment ?? null, handlers]);
    this.#askers.delete(key);
    this.#askers.set(key, { handlers, organizationId, environment, at: Date.now() });
    if (this.#askers.size > MOST_ASKERS) this.#askers.delete(this.#askers.keys().next().value as string);
  }

  async #settle(
    taskId: string,
    organizationId: string | undefined,
    settle: (end: TaskEnd) => Promise<void>,
  ): Promise<boolean> {
    const offer = this.#held(taskId, organizationId);
    if (offer?.lease === undefined) return false;
    const { lease } = offer;
    clearTimeout(lease.timer);
    lease.settling = true;
    try {
      await settle(offer.end);
    } catch (error) {
      if (!this.#offers.has(offer)) return false;
      lease.settling = false;
      lease.timer = this.#expiry(offer);
      throw error;
    }
    this.#remove(offer);
    return true;
  }

  #held(taskId: string, organizationId: string | undefined): Offer | undefined {
    const offer = this.#leased.get(taskId);
    if (offer?.lease?.settling !== false) return undefined;
    return organizationId === undefined || offer.task.organizationId === organizationId ? offer : undefined;
  }

  #hand(offer: Offer): void {
    for (const { request, take } of this.#pollers) if (fits(request, offer.task)) return take(offer);
  }

  #lease(offer: Offer): LeasedTask {
    const taskId = randomUUID();
    offer.lease = { taskId, timer: this.#expiry(offer), settling: false };
    this.#leased.set(taskId, offer);
    return { taskId, ...offer.task };
  }

  #expiry(offer: Offer): NodeJS.Timeout {
    return setTimeout(() => {
      if (offer.lease !== undefined) this.#leased.delete(offer.lease.taskId);
      offer.lease = undefined;
      offer.end.lost();
      this.#hand(offer);
    }, this.#leaseMs);
  }

  #remove(offer: Offer): void {
    this.#offers.delete(offer);
    if (offer.lease === undefined) return;
    clearTimeout(offer.lease.timer);
    this.#leased.delete(offer.lease.taskId);
  }
}

const fits = ({ handlers, organizationId, environment }: PollRequest, task: OfferedTask): boolean =>
  handlers.includes(task.handler) &&
  (organizationId === undefined || organizationId === task.organizationId) &&
  (environment === undefined || environment === task.environment);

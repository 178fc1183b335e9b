/** An event that nothing waited for when it came, and that was not kept. */
export interface MissedEvent {
  readonly name: string;
  readonly correlationKey: string;
  /** ms since the epoch. */
  readonly at: number;
  /** The instance that threw it; undefined: it came from outside. */
  readonly thrownBy?: string;
}

/** An answer to a task that its form refused. */
export interface RefusedAnswer {
  readonly nodeId: string;
  readonly at: number;
  readonly reason: string;
}

/** How many missed events each organization, and how many refused answers all together, are remembered. */
const MOST_EVENTS = 200;
const MOST_ANSWERS = 1000;
const MAX_REASON = 500;
/** Flows may throw events with names of any length. */
const MAX_TEXT = 500;

/**
 * What came near to moving a waiting instance and did not, so that somebody who asks why it stands still learns of it. Kept
 * in memory since the daemon began, the newest only: it helps to understand, and nothing depends on it.
 */
export class Misses {
  readonly #events = new Map<string, MissedEvent[]>();
  readonly #answers: (RefusedAnswer & { readonly instanceId: string })[] = [];

  /** One with a name or key that nobody reads is not remembered. */
  event(organizationId: string, missed: MissedEvent): void {
    if (missed.name.length > MAX_TEXT || missed.correlationKey.length > MAX_TEXT) return;
    const events = this.#events.get(organizationId) ?? [];
    this.#events.set(organizationId, events);
    events.push(missed);
    if (events.length > MOST_EVENTS) events.shift();
  }

  answer(instanceId: string, { nodeId, at, reason }: RefusedAnswer): void {
    this.#answers.push({ instanceId, nodeId, at, reason: reason.slice(0, MAX_REASON) });
    if (this.#answers.length > MOST_ANSWERS) this.#answers.shift();
  }

  /** Newest first. */
  events(organizationId: string): readonly MissedEvent[] {
    return [...(this.#events.get(organizationId) ?? [])].reverse();
  }

  /** Newest first. */
  answers(instanceId: string, nodeId: string): readonly RefusedAnswer[] {
    return this.#answers.filter((one) => one.instanceId === instanceId && one.nodeId === nodeId).reverse();
  }
}

import type { JsonObject } from '../../engine/json.ts';
import type { Fact } from '../ports.ts';
import type { EventRequest } from './door.ts';
import type { Memory } from './memory.ts';
import { eventKey } from './subscriptions.ts';
import type { Transaction } from './transaction.ts';

const COLLECTION = 'messages';

/** A message that came before anything waited for it. */
export interface Buffered {
  readonly id: string;
  readonly data: JsonObject;
  readonly expiresAt: number;
}

/** A message that waits for somebody to take it. */
export interface KeptEvent {
  readonly name: string;
  readonly correlationKey: string;
  /** ms since the epoch. */
  readonly expiresAt: number;
}

/** Messages with a timeToLive that nothing took yet, found by what they are for, oldest first (semantics 14). */
export class Messages {
  readonly #byEvent = new Map<string, Buffered[]>();

  /** What is on disk, after a start. */
  restore(memory: Memory): void {
    for (const [id, value] of memory.collection(COLLECTION)) this.#insert(id, value as unknown as Stored);
  }

  add(transaction: Transaction, id: string, request: EventRequest & { readonly timeToLive: number }): void {
    const { organizationId, eventType, correlationKey, data, timeToLive } = request;
    const value = { organizationId, eventType, correlationKey, data, expiresAt: transaction.at + timeToLive };
    transaction.facts.push({ collection: COLLECTION, key: id, value });
    this.#insert(id, value);
  }

  /** The oldest message for a subscription that has just opened, taken out of the buffer with `transaction`. */
  take(transaction: Transaction, organizationId: string, name: string, correlationKey: string): Buffered | undefined {
    const key = eventKey(organizationId, 'message', name, correlationKey);
    const waiting = this.#byEvent.get(key)?.filter(({ expiresAt }) => expiresAt > transaction.at) ?? [];
    const [oldest, ...rest] = waiting;
    if (oldest === undefined) return undefined;
    if (rest.length === 0) this.#byEvent.delete(key);
    else this.#byEvent.set(key, rest);
    transaction.facts.push({ collection: COLLECTION, key: oldest.id, value: null });
    return oldest;
  }

  /** All that are kept for an organization. */
  kept(memory: Memory, organizationId: string): readonly KeptEvent[] {
    const kept: KeptEvent[] = [];
    for (const value of memory.collection(COLLECTION).values()) {
      const { organizationId: owner, eventType: name, correlationKey, expiresAt } = value as unknown as Stored;
      if (owner === organizationId) kept.push({ name, correlationKey, expiresAt });
    }
    return kept;
  }

  has(organizationId: string, name: string, correlationKey: string): boolean {
    return this.#byEvent.has(eventKey(organizationId, 'message', name, correlationKey));
  }

  /** The facts that forget messages whose time to live is over. */
  *expired(memory: Memory, now: number): Generator<Fact> {
    for (const [key, value] of memory.collection(COLLECTION)) {
      if ((value as unknown as Stored).expiresAt <= now) yield { collection: COLLECTION, key, value: null };
    }
    for (const [key, waiting] of this.#byEvent) {
      const alive = waiting.filter(({ expiresAt }) => expiresAt > now);
      if (alive.length === 0) this.#byEvent.delete(key);
      else this.#byEvent.set(key, alive);
    }
  }

  #insert(id: string, { organizationId, eventType, correlationKey, data, expiresAt }: Stored): void {
    const key = eventKey(organizationId, 'message', eventType, correlationKey);
    const waiting = this.#byEvent.get(key) ?? [];
    waiting.push({ id, data, expiresAt });
    this.#byEvent.set(key, waiting);
  }
}

interface Stored {
  readonly organizationId: string;
  readonly eventType: string;
  readonly correlationKey: string;
  readonly data: JsonObject;
  readonly expiresAt: number;
}

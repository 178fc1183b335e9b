import { isObject, type Json, type JsonObject } from '../../engine/json.ts';
import type { Fact } from '../ports.ts';
import { type Once, Rejection } from './door.ts';
import type { Memory } from './memory.ts';
import type { Transaction } from './transaction.ts';

const COLLECTION = 'once';

/**
 * Commands that must take effect once: the key, what was asked, and the first answer are committed with the effect itself,
 * and a repeat gets that answer.
 */
export class OnceKeys {
  readonly #memory: () => Memory;
  /** Keys whose commit is not durable yet. */
  readonly #pending = new Map<string, JsonObject>();

  constructor(memory: () => Memory) {
    this.#memory = memory;
  }

  /** The first answer, when `once.key` was used; CONFLICT when it was used for something else. */
  answered(once: Once, now: number): Json | undefined {
    const known = this.#pending.get(once.key) ?? this.#memory().collection(COLLECTION).get(once.key);
    if (!isObject(known) || (known['expiresAt'] as number) <= now) return undefined;
    if (known['fingerprint'] === once.fingerprint) return known['answer'];
    throw new Rejection('CONFLICT', 'this idempotency key was used for another request; use a new key');
  }

  /** Commits the key with the transaction. */
  note(transaction: Transaction, once: Once, answer: Json): void {
    const value = { fingerprint: once.fingerprint, expiresAt: once.expiresAt, answer };
    this.#pending.set(once.key, value);
    transaction.facts.push({ collection: COLLECTION, key: once.key, value });
  }

  /** The key's commit is durable, or came to nothing. */
  settle(once: Once): void {
    this.#pending.delete(once.key);
  }

  /** The facts that forget keys whose time is over. */
  *expired(now: number): Generator<Fact> {
    for (const [key, value] of this.#memory().collection(COLLECTION)) {
      if ((value as { readonly expiresAt: number }).expiresAt <= now)
        yield { collection: COLLECTION, key, value: null };
    }
  }
}

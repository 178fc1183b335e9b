import type { Purpose } from '../../engine/index.ts';

/** One waiting subscription of an instance. */
export interface Waiting {
  readonly organizationId: string;
  readonly instanceId: string;
  readonly n: number;
  readonly purpose: Purpose;
  readonly kind: 'message' | 'signal';
  readonly name: string;
  readonly correlationKey: string;
}

/**
 * Waiting subscriptions, found by what they wait for: correlating costs the same however many wait. Those for the same
 * event are in the order in which they began to wait (semantics 12).
 */
export class Subscriptions {
  readonly #byEvent = new Map<string, Map<string, Waiting>>();
  readonly #byActivation = new Map<string, readonly Waiting[]>();
  #count = 0;

  get size(): number {
    return this.#count;
  }

  /** One more begins to wait. */
  open(waiting: Waiting): void {
    const activation = activationOf(waiting.instanceId, waiting.n);
    this.#byActivation.set(activation, [...(this.#byActivation.get(activation) ?? []), waiting]);
    const key = keyOf(waiting);
    const same = this.#byEvent.get(key) ?? new Map<string, Waiting>();
    this.#byEvent.set(key, same.set(placeOf(waiting), waiting));
    this.#count += 1;
  }

  /** An activation waits for nothing any more. */
  close(instanceId: string, n: number): void {
    if (this.#count === 0) return;
    const activation = activationOf(instanceId, n);
    for (const gone of this.#byActivation.get(activation) ?? []) this.#remove(gone);
    this.#byActivation.delete(activation);
  }

  /** Those that wait for an event, oldest first, by its `eventKey`. */
  find(key: string): Iterable<Waiting> {
    return this.#byEvent.get(key)?.values() ?? [];
  }

  #remove(waiting: Waiting): void {
    const key = keyOf(waiting);
    const same = this.#byEvent.get(key);
    if (same?.delete(placeOf(waiting)) === true) this.#count -= 1;
    if (same?.size === 0) this.#byEvent.delete(key);
  }
}

const activationOf = (instanceId: string, n: number): string => `${instanceId}:${n}`;
const placeOf = ({ instanceId, n, purpose }: Waiting): string => `${instanceId}:${n}:${purpose}`;

const keyOf = ({ organizationId, kind, name, correlationKey }: Waiting): string =>
  eventKey(organizationId, kind, name, correlationKey);

/** A signal has no key. The name's length keeps names and keys apart whatever characters they hold. */
export const eventKey = (organizationId: string, kind: string, name: string, correlationKey: string): string =>
  `${organizationId}:${kind}:${name.length}:${name}:${kind === 'signal' ? '' : correlationKey}`;

import type { Purpose, Subscription } from '../../engine/index.ts';

/** One waiting subscription of an instance. */
export interface Waiting {
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

  /** The subscriptions of an activation are these from now on; gives those that are new. */
  set(
    organizationId: string,
    instanceId: string,
    n: number,
    subscriptions: readonly Subscription[],
  ): readonly Waiting[] {
    const activation = `${instanceId}:${n}`;
    const before = this.#byActivation.get(activation) ?? [];
    const now = subscriptions.map((subscription) => ({ ...subscription, instanceId, n }));
    for (const gone of before) this.#remove(organizationId, gone);
    for (const waiting of now) this.#add(organizationId, waiting);
    if (now.length === 0) this.#byActivation.delete(activation);
    else this.#byActivation.set(activation, now);
    return now.filter(({ purpose }) => !before.some((was) => was.purpose === purpose));
  }

  /** Those that wait for an event, oldest first. A signal has no key. */
  find(organizationId: string, kind: 'message' | 'signal', name: string, correlationKey: string): readonly Waiting[] {
    return [...(this.#byEvent.get(eventKey(organizationId, kind, name, correlationKey))?.values() ?? [])];
  }

  #add(organizationId: string, waiting: Waiting): void {
    const key = eventKey(organizationId, waiting.kind, waiting.name, waiting.correlationKey);
    const same = this.#byEvent.get(key) ?? new Map<string, Waiting>();
    this.#byEvent.set(key, same.set(placeOf(waiting), waiting));
    this.#count += 1;
  }

  #remove(organizationId: string, waiting: Waiting): void {
    const key = eventKey(organizationId, waiting.kind, waiting.name, waiting.correlationKey);
    const same = this.#byEvent.get(key);
    if (same?.delete(placeOf(waiting)) === true) this.#count -= 1;
    if (same?.size === 0) this.#byEvent.delete(key);
  }
}

const placeOf = ({ instanceId, n, purpose }: Waiting): string => `${instanceId}:${n}:${purpose}`;

/** The name's length keeps names and keys apart whatever characters they hold. */
export const eventKey = (organizationId: string, kind: string, name: string, correlationKey: string): string =>
  `${organizationId}:${kind}:${name.length}:${name}:${kind === 'signal' ? '' : correlationKey}`;

import type { Flow } from '../../engine/flow.ts';
import type { State } from '../../engine/index.ts';
import type { Json } from '../../engine/json.ts';
import type { Fact } from '../ports.ts';

/** A live instance: with tokens, or with something still to be delivered. */
export interface Live {
  readonly flow: Flow;
  /** After the newest command, which may not be durable yet. */
  tip: State;
  /** After the newest durable frame: what others may see. Undefined before the first one is. */
  durable: State | undefined;
}

/**
 * What the runtime remembers, bounded by what is alive: instances that have not ended, and the keyed collections. Rebuilt
 * from disk at start, and after the disk failed.
 */
export class Memory {
  readonly #live = new Map<string, Live>();
  /** How many live instances each chain of starts has. */
  readonly #chains = new Map<string, number>();
  readonly collections = new Map<string, Map<string, Json>>();
  /** Number of the newest frame that is durable. */
  frame = 0;

  get live(): ReadonlyMap<string, Live> {
    return this.#live;
  }

  add(id: string, live: Live): void {
    this.#live.set(id, live);
    this.#chains.set(live.tip.root, this.chain(live.tip.root) + 1);
  }

  remove(id: string): void {
    const root = this.#live.get(id)?.tip.root;
    if (root === undefined) return;
    this.#live.delete(id);
    const left = this.chain(root) - 1;
    if (left > 0) this.#chains.set(root, left);
    else this.#chains.delete(root);
  }

  /** Live instances that one first start led to. */
  chain(root: string): number {
    return this.#chains.get(root) ?? 0;
  }

  collection(name: string): Map<string, Json> {
    const known = this.collections.get(name);
    if (known !== undefined) return known;
    const made = new Map<string, Json>();
    this.collections.set(name, made);
    return made;
  }

  apply({ collection, key, value }: Fact): void {
    if (value === null) this.collection(collection).delete(key);
    else this.collection(collection).set(key, value);
  }
}

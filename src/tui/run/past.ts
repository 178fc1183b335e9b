import type { Instance } from '../../contract/types.ts';
import type { App } from '../app.ts';

/** States of the past that are kept, so that going back and forth asks once. */
const KEPT = 200;

/** A run as it was at each entry of its log. */
export class Past {
  readonly #app: App;
  readonly #id: string;
  readonly #states = new Map<number, Instance>();
  readonly #asked = new Set<number>();
  /** The entry that is looked at, from 1; undefined: now. */
  step: number | undefined;
  #shown: Instance | undefined;

  constructor(app: App, id: string) {
    this.#app = app;
    this.#id = id;
  }

  /** Goes to an entry, or with undefined back to now. */
  go(step: number | undefined): void {
    this.step = step;
    if (step === undefined) this.#shown = undefined;
    else for (const one of [step, step - 1]) if (one > 0) void this.#load(one);
  }

  /** The state at the entry that is looked at; until it is there, the one that was shown before. */
  get instance(): Instance | undefined {
    const state = this.step === undefined ? undefined : this.#states.get(this.step);
    this.#shown = state ?? this.#shown;
    return this.#shown;
  }

  /** The state one entry earlier. */
  get before(): Instance | undefined {
    return this.step === undefined ? undefined : this.#states.get(this.step - 1);
  }

  async #load(at: number): Promise<void> {
    if (this.#states.has(at) || this.#asked.has(at)) return;
    this.#asked.add(at);
    try {
      const params = { processInstanceId: this.#id };
      this.#states.set(at, await this.#app.client.call('getInstance', { params, query: { at } }));
      const [oldest] = this.#states.keys();
      if (this.#states.size > KEPT && oldest !== undefined) this.#states.delete(oldest);
      this.#app.changed();
    } catch (error) {
      this.#app.fail(error);
    } finally {
      this.#asked.delete(at);
    }
  }
}

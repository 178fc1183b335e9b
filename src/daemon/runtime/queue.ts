import { Rejection } from './door.ts';

/** Commands from outside that may wait their turn; beyond, they are refused with OVERLOADED. */
const MOST_WAITING = 10_000;
/** How long commands are worked on before the event loop gets its turn, ms. */
const SLICE_MS = 8;

/**
 * The runtime's line of work. Two lanes, first come, first served in each, taken from in turns: what is asked from outside, and
 * what the runtime owes itself. Each job is a bounded step of one instance, so that neither an instance with much to do nor a
 * thousand of them keep a request waiting.
 */
export class Queue {
  readonly #asked = new Lane();
  readonly #owed = new Lane();
  #scheduled = false;
  #closed = false;

  get length(): number {
    return this.#asked.length + this.#owed.length;
  }

  /** Adds what somebody outside asks for. */
  admit(job: () => void): void {
    if (this.#closed) throw new Rejection('SHUTTING_DOWN', 'the daemon is stopping; try again when it runs');
    if (this.#asked.length >= MOST_WAITING) {
      throw new Rejection('OVERLOADED', 'the daemon has too much to do; try again soon');
    }
    this.#asked.push(job);
    this.#schedule();
  }

  /** Adds what the runtime owes itself; bounded by what is alive, so never refused. */
  add(job: () => void): void {
    if (this.#closed) return;
    this.#owed.push(job);
    this.#schedule();
  }

  /** Takes nothing more; resolves when what was taken is done. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.length > 0) await new Promise((resolve) => setImmediate(resolve));
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#work());
  }

  #work(): void {
    this.#scheduled = false;
    const until = performance.now() + SLICE_MS;
    while (this.length > 0 && performance.now() < until) {
      this.#asked.shift()?.();
      this.#owed.shift()?.();
    }
    if (this.length > 0) this.#schedule();
  }
}

/** A first-in, first-out list that forgets what was taken in large pieces. */
class Lane {
  #jobs: (() => void)[] = [];
  #next = 0;

  get length(): number {
    return this.#jobs.length - this.#next;
  }

  push(job: () => void): void {
    this.#jobs.push(job);
  }

  shift(): (() => void) | undefined {
    const job = this.#jobs[this.#next];
    if (job === undefined) return undefined;
    this.#next += 1;
    if (this.#next === this.#jobs.length || this.#next > 4096) {
      this.#jobs = this.#jobs.slice(this.#next);
      this.#next = 0;
    }
    return job;
  }
}

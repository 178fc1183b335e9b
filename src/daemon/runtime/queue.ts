import { Rejection } from './door.ts';

/** Commands from outside that may wait their turn; beyond, they are refused with OVERLOADED. */
const MOST_WAITING = 10_000;
/** How long commands are worked on before the event loop gets its turn, ms. */
const SLICE_MS = 8;

/**
 * The runtime's one line of work: first come, first served, a bounded step of one instance each, so that an instance with
 * much to do stands in line again behind the others.
 */
export class Queue {
  #jobs: (() => void)[] = [];
  #next = 0;
  #scheduled = false;
  #closed = false;

  get length(): number {
    return this.#jobs.length - this.#next;
  }

  /** Adds what somebody outside asks for. */
  admit(job: () => void): void {
    if (this.#closed) throw new Rejection('SHUTTING_DOWN', 'the daemon is stopping; try again when it runs');
    if (this.length >= MOST_WAITING) throw new Rejection('OVERLOADED', 'the daemon has too much to do; try again soon');
    this.add(job);
  }

  /** Adds what the runtime owes itself; bounded by what is alive, so never refused. */
  add(job: () => void): void {
    if (this.#closed) return;
    this.#jobs.push(job);
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
    while (this.#next < this.#jobs.length && performance.now() < until) {
      const job = this.#jobs[this.#next] as () => void;
      this.#next += 1;
      job();
    }
    if (this.#next === this.#jobs.length) {
      this.#jobs = [];
      this.#next = 0;
    } else {
      if (this.#next > 4096) {
        this.#jobs = this.#jobs.slice(this.#next);
        this.#next = 0;
      }
      this.#schedule();
    }
  }
}

import type { Clock } from '../../src/daemon/triggers/clock.ts';

const MINUTE = 60_000;

/** A clock that stands still until it is moved. */
export class TestClock implements Clock {
  #now: number;
  #waiting: { readonly due: number; readonly ring: () => void }[] = [];
  /** Monotonic, as timers are: `set` does not move it. */
  #elapsed = 0;

  constructor(now: number) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, ring: () => void): () => void {
    const timer = { due: this.#elapsed + ms, ring };
    this.#waiting.push(timer);
    return () => {
      this.#waiting = this.#waiting.filter((one) => one !== timer);
    };
  }

  /** Lets time pass, ringing on the way. */
  pass(ms: number): void {
    const until = this.#elapsed + ms;
    for (;;) {
      const next = this.#waiting.sort((a, b) => a.due - b.due)[0];
      if (next === undefined || next.due > until) break;
      this.#waiting = this.#waiting.filter((one) => one !== next);
      this.#move(next.due);
      next.ring();
    }
    this.#move(until);
  }

  #move(elapsed: number): void {
    this.#now += Math.max(0, elapsed - this.#elapsed);
    this.#elapsed = Math.max(elapsed, this.#elapsed);
  }

  /** Somebody sets the clock, or the machine slept; a timer rings when its own time is over. */
  set(now: number): void {
    this.#now = now;
    this.pass(MINUTE);
  }
}

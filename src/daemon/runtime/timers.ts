import type { Purpose, Timer } from '../../engine/index.ts';
import { DueHeap } from '../due-heap.ts';

interface Entry {
  readonly due: number;
  readonly instanceId: string;
  readonly n: number;
  readonly purpose: Purpose;
}

/** A longer wait is looked at again: the clock may be set, the machine may sleep, and a Node timer is bounded. */
const LONGEST_WAIT_MS = 60_000;

/**
 * All pending timers of all instances in one binary heap behind one Node timer: waiting costs nothing however many there
 * are. Withdrawn entries are dropped when they come up, or when they outnumber the armed ones.
 */
export class Timers {
  readonly #fire: (instanceId: string, n: number, purpose: Purpose, due: number) => void;
  readonly #heap = new DueHeap<Entry>();
  /** Armed timers by activation: an entry of the heap counts only as long as it is in here. */
  readonly #armed = new Map<string, readonly Timer[]>();
  #count = 0;
  #wake: NodeJS.Timeout | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;
  #closed = false;

  constructor(fire: (instanceId: string, n: number, purpose: Purpose, due: number) => void) {
    this.#fire = fire;
  }

  get size(): number {
    return this.#count;
  }

  /** The timers of an activation are these from now on. */
  set(instanceId: string, n: number, timers: readonly Timer[]): void {
    const key = `${instanceId}:${n}`;
    const before = this.#armed.get(key) ?? [];
    if (timers.length === 0) this.#armed.delete(key);
    else this.#armed.set(key, timers);
    this.#count += timers.length - before.length;
    for (const { due, purpose } of timers) {
      if (!before.some((timer) => timer.purpose === purpose && timer.due === due)) {
        this.#heap.push({ due, instanceId, n, purpose });
      }
    }
    if (this.#heap.size > 64 && this.#heap.size > 2 * this.#count) this.#heap.keep((entry) => this.#isArmed(entry));
    this.#schedule();
  }

  /** A timer that rang is too early after all, because the clock was set back: it waits on. */
  again(instanceId: string, n: number, purpose: Purpose, due: number): void {
    this.#heap.push({ due, instanceId, n, purpose });
    this.#schedule();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#wake);
  }

  #schedule(): void {
    const next = this.#heap.first;
    if (next === undefined || this.#closed) return;
    const at = Math.min(Math.max(next.due, Date.now()), Date.now() + LONGEST_WAIT_MS);
    if (this.#wake !== undefined && this.#wakeAt <= at) return;
    clearTimeout(this.#wake);
    this.#wakeAt = at;
    this.#wake = setTimeout(() => this.#ring(), at - Date.now());
  }

  #ring(): void {
    this.#wake = undefined;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    const now = Date.now();
    for (let top = this.#heap.first; top !== undefined && top.due <= now; top = this.#heap.first) {
      this.#heap.pop();
      if (this.#isArmed(top)) this.#fire(top.instanceId, top.n, top.purpose, top.due);
    }
    this.#schedule();
  }

  #isArmed({ instanceId, n, purpose, due }: Entry): boolean {
    const timers = this.#armed.get(`${instanceId}:${n}`);
    return timers?.some((timer) => timer.purpose === purpose && timer.due === due) === true;
  }
}

import type { Flow } from '../../engine/flow.ts';
import type { Event, State } from '../../engine/index.ts';
import type { LifecycleEvent } from './door.ts';
import { isAfter, type Position, parsePosition, type Transitions, transitionsOf, written } from './lifecycle.ts';
import type { PastLifecycle } from './past-lifecycle.ts';

/** How many commits are at hand for readers; what is older comes from the journal. */
const KEPT = 20_000;

/** Committed facts on their way to those who watch: who follows an instance is woken, lifecycle events are kept for a while. */
export class Feed {
  readonly #followers = new Map<string, Set<() => void>>();
  readonly #watchers = new Set<() => void>();
  readonly #past: PastLifecycle;
  #kept: Transitions[] = [];
  /** The newest frame that is not, or not wholly, in `#kept`. */
  #gone: number;

  constructor(past: PastLifecycle) {
    this.#past = past;
    this.#gone = past.newest;
  }

  /** Resolves at the next commit of the instance, or when `signal` aborts. Ask before reading, so that none is missed. */
  changed(instanceId: string, signal: AbortSignal): Promise<void> {
    const followers = this.#followers.get(instanceId) ?? new Set();
    this.#followers.set(instanceId, followers);
    return wakened(followers, signal, () => {
      if (followers.size === 0) this.#followers.delete(instanceId);
    });
  }

  /** A frame is durable: `events` of an instance, whose nodes were `before` and are `state` now. */
  publish(
    frame: number,
    index: number,
    at: number,
    flow: Flow,
    before: State | undefined,
    state: State,
    events: readonly Event[],
  ): number {
    const { id, processId, version, environment, organizationId, stateCd } = state;
    const instance = { id, processId, version, environment, organizationId, stateCd };
    const { types, nodes } = transitionsOf(events, (n) => before?.active.get(n)?.node);
    this.#kept.push({ frame, index, at, instance, flow, types, nodes });
    if (this.#kept.length > 2 * KEPT) {
      this.#gone = (this.#kept.at(-KEPT - 1) as Transitions).frame;
      this.#kept = this.#kept.slice(-KEPT);
    }
    for (const wake of [...(this.#followers.get(state.id) ?? [])]) wake();
    for (const wake of [...this.#watchers]) wake();
    return index + types.length;
  }

  /** Wakes everybody, e.g. because the daemon stops. */
  wakeAll(): void {
    for (const followers of [...this.#followers.values()]) for (const wake of [...followers]) wake();
    for (const wake of [...this.#watchers]) wake();
  }

  /** Lifecycle events after the position `after`; from now on without one, or with one that this journal does not reach. */
  async *lifecycle(
    organizationId: string | undefined,
    after: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<LifecycleEvent> {
    let position = this.#begin(after);
    while (!signal.aborted) {
      const more = wakened(this.#watchers, signal);
      for await (const some of this.#from(position[0])) {
        for (const [at, transitions, i] of each(some)) {
          if (!isAfter(at, position)) continue;
          position = at;
          const theirs = organizationId === undefined || transitions.instance.organizationId === organizationId;
          if (theirs) yield written(transitions, i);
          if (signal.aborted) return;
        }
      }
      await more;
    }
  }

  #begin(after: string | undefined): Position {
    const position = after === undefined ? undefined : parsePosition(after);
    if (position !== undefined && position[0] <= this.#past.newest) return position;
    const last = this.#kept.at(-1);
    return last === undefined ? [this.#gone + 1, -1] : [last.frame, last.index + last.types.length - 1];
  }

  /** What happened in `frame` and after it. */
  async *#from(frame: number): AsyncGenerator<readonly Transitions[]> {
    let next = frame;
    while (next <= this.#gone) {
      const { newest } = this.#past;
      yield* this.#past.after(next - 1);
      next = newest + 1;
    }
    yield this.#keptFrom(next);
  }

  #keptFrom(frame: number): readonly Transitions[] {
    let low = 0;
    let high = this.#kept.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#kept[middle] as Transitions).frame >= frame) high = middle;
      else low = middle + 1;
    }
    return this.#kept.slice(low);
  }
}

function* each(some: readonly Transitions[]): Generator<[Position, Transitions, number]> {
  for (const transitions of some) {
    const { frame, index, types } = transitions;
    for (let i = 0; i < types.length; i += 1) yield [[frame, index + i], transitions, i];
  }
}

/** Resolves when somebody calls what this adds to `sleepers`, or when `signal` aborts. */
function wakened(sleepers: Set<() => void>, signal: AbortSignal, left?: () => void): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      sleepers.delete(wake);
      signal.removeEventListener('abort', wake);
      left?.();
      resolve();
    };
    sleepers.add(wake);
    signal.addEventListener('abort', wake);
    if (signal.aborted) wake();
  });
}

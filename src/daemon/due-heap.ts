/** An entry, and how many were put in before it. */
interface Placed<T> {
  readonly entry: T;
  readonly order: number;
}

/** Entries by the time when they are due, the earliest first, and of those the one that was put in first; a binary heap. */
export class DueHeap<T extends { readonly due: number }> {
  readonly #entries: Placed<T>[] = [];
  #next = 0;

  get size(): number {
    return this.#entries.length;
  }

  get first(): T | undefined {
    return this.#entries[0]?.entry;
  }

  push(entry: T): void {
    this.#put({ entry, order: this.#next });
    this.#next += 1;
  }

  #put(placed: Placed<T>): void {
    const heap = this.#entries;
    let i = heap.push(placed) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (isBefore(heap[parent] as Placed<T>, placed)) break;
      heap[i] = heap[parent] as Placed<T>;
      i = parent;
    }
    heap[i] = placed;
  }

  pop(): void {
    const heap = this.#entries;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Placed<T>, heap[child] as Placed<T>)) child += 1;
      if (isBefore(last, heap[child] as Placed<T>)) break;
      heap[i] = heap[child] as Placed<T>;
      i = child;
    }
    heap[i] = last;
  }

  /** Only these stay. */
  keep(isKept: (entry: T) => boolean): void {
    const kept = this.#entries.filter(({ entry }) => isKept(entry));
    this.#entries.length = 0;
    for (const placed of kept) this.#put(placed);
  }
}

function isBefore<T extends { readonly due: number }>(a: Placed<T>, b: Placed<T>): boolean {
  return a.entry.due < b.entry.due || (a.entry.due === b.entry.due && a.order < b.order);
}

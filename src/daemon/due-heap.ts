/** Entries by the time when they are due, the earliest first; a binary heap. */
export class DueHeap<T extends { readonly due: number }> {
  readonly #entries: T[] = [];

  get size(): number {
    return this.#entries.length;
  }

  get first(): T | undefined {
    return this.#entries[0];
  }

  push(entry: T): void {
    const heap = this.#entries;
    let i = heap.push(entry) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if ((heap[parent] as T).due <= entry.due) break;
      heap[i] = heap[parent] as T;
      i = parent;
    }
    heap[i] = entry;
  }

  pop(): void {
    const heap = this.#entries;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && (heap[child + 1] as T).due < (heap[child] as T).due) child += 1;
      if ((heap[child] as T).due >= last.due) break;
      heap[i] = heap[child] as T;
      i = child;
    }
    heap[i] = last;
  }

  /** Only these stay. */
  keep(isKept: (entry: T) => boolean): void {
    const kept = this.#entries.filter(isKept);
    this.#entries.length = 0;
    for (const entry of kept) this.push(entry);
  }
}

import type { JsonObject } from '../../engine/json.ts';
import type { EndedInstance, InstanceEvents } from '../ports.ts';

/** Where a segment holds the events of one instance. */
export interface IndexEntry {
  readonly id: string;
  /** Flat triples, in order: offset of a record, its length, number of the instance's first event in it. */
  readonly places: readonly number[];
  /** Present when the instance ended in this segment. */
  readonly ended?: JsonObject;
}

/** Least and greatest of the ids in a segment, and of those that ended in it (both undefined when none is). */
export interface IdSpan {
  readonly least: string | undefined;
  readonly greatest: string | undefined;
  readonly leastEnded: string | undefined;
  readonly greatestEnded: string | undefined;
}

/** What is known of the instances in one segment. Ids are ordered as JavaScript compares strings. */
export interface SegmentIndex {
  readonly span: IdSpan;
  find(id: string): Promise<IndexEntry | undefined>;
  /** Instances that ended in the segment, greatest id first, those with id < `before` only. */
  ended(before: string | undefined): AsyncIterable<EndedInstance>;
}

interface GrowingEntry {
  readonly places: number[];
  ended?: JsonObject;
}

/** The index of the segment that is being written, and of one whose index file is not there yet. */
export class MemoryIndex implements SegmentIndex {
  readonly #entries = new Map<string, GrowingEntry>();
  /** Ascending. */
  readonly #endedIds: string[] = [];
  #least: string | undefined;
  #greatest: string | undefined;

  /** Takes in a durable frame: the instances of the record at `offset`, `bytes` long. */
  add(offset: number, bytes: number, instances: readonly InstanceEvents[]): void {
    for (const instance of instances) {
      const entry = this.#entryOf(instance.id);
      entry.places.push(offset, bytes, instance.seq);
      if (instance.ended === undefined || entry.ended !== undefined) continue;
      entry.ended = instance.ended;
      this.#endedIds.splice(firstNotBelow(this.#endedIds, instance.id), 0, instance.id);
    }
  }

  get span(): IdSpan {
    return {
      least: this.#least,
      greatest: this.#greatest,
      leastEnded: this.#endedIds[0],
      greatestEnded: this.#endedIds.at(-1),
    };
  }

  find(id: string): Promise<IndexEntry | undefined> {
    const entry = this.#entries.get(id);
    return Promise.resolve(entry && asEntry(id, entry, [...entry.places]));
  }

  async *ended(before: string | undefined): AsyncGenerator<EndedInstance> {
    let below = before;
    for (;;) {
      const at = below === undefined ? this.#endedIds.length : firstNotBelow(this.#endedIds, below);
      const id = this.#endedIds[at - 1];
      if (id === undefined) return;
      yield { id, ended: this.#entries.get(id)?.ended as JsonObject };
      below = id;
    }
  }

  /** All entries by ascending id, for the index file. Nothing may be added any more. */
  *sorted(): Generator<IndexEntry> {
    for (const id of [...this.#entries.keys()].sort()) {
      const entry = this.#entries.get(id) as GrowingEntry;
      yield asEntry(id, entry, entry.places);
    }
  }

  #entryOf(id: string): GrowingEntry {
    let entry = this.#entries.get(id);
    if (entry === undefined) {
      entry = { places: [] };
      this.#entries.set(id, entry);
      if (this.#least === undefined || id < this.#least) this.#least = id;
      if (this.#greatest === undefined || id > this.#greatest) this.#greatest = id;
    }
    return entry;
  }
}

const asEntry = (id: string, { ended }: GrowingEntry, places: readonly number[]): IndexEntry =>
  ended === undefined ? { id, places } : { id, places, ended };

/** The first place in the ascending `ids` whose id is not below `id`. */
function firstNotBelow(ids: readonly string[], id: string): number {
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] as string) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

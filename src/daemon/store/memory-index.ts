import { setImmediate } from 'node:timers/promises';
import type MiniSearch from 'minisearch';
import type { Json } from '../../engine/json.ts';

/** Texts longer than this are searched by their beginning. */
const SEARCHED_LENGTH = 100_000;
/** Characters that are indexed before other work gets its turn. */
const SLICE_LENGTH = 100_000;

interface Entry {
  readonly id: string;
  readonly text: string;
}

/** What is known of one scope beside its values: sizes, and, once somebody searched, a full-text index. */
export class MemoryIndex {
  readonly sizes = new Map<string, number>();
  /** Of all values. */
  bytes = 0;
  #search: Promise<MiniSearch<Entry>> | undefined;
  readonly #entries: () => Iterable<readonly [key: string, value: Json]>;

  /** `entries` reads the scope's keys and values, as of now. */
  constructor(entries: () => Iterable<readonly [key: string, value: Json]>) {
    this.#entries = entries;
  }

  resize(key: string, size: number | undefined): void {
    this.bytes += (size ?? 0) - (this.sizes.get(key) ?? 0);
    if (size === undefined) this.sizes.delete(key);
    else this.sizes.set(key, size);
  }

  /** Called after every change, with the value there is now. */
  async changed(key: string, value: Json | undefined): Promise<void> {
    const search = await this.#search;
    if (search === undefined) return;
    if (search.has(key)) search.discard(key);
    if (value !== undefined) search.add({ id: key, text: textOf(value) });
  }

  /** Keys whose key or value speaks of `query`, best first; words may be misspelt a little, or not written to their end. */
  async find(query: string): Promise<readonly { readonly key: string; readonly score: number }[]> {
    this.#search ??= this.#built();
    const search = await this.#search;
    const options = { prefix: true, fuzzy: misspelt, boost: { id: 2 } };
    return search.search(query, options).map(({ id, score }) => ({ key: id as string, score }));
  }

  /** A part at a time, with other work in between: a scope may hold so much that all at once would take seconds. */
  async #built(): Promise<MiniSearch<Entry>> {
    const { default: Index } = await import('minisearch');
    const search = new Index<Entry>({ fields: ['id', 'text'] });
    let added = 0;
    for (const [key, value] of this.#entries()) {
      // Removed and made again meanwhile.
      if (search.has(key)) search.discard(key);
      const text = textOf(value);
      search.add({ id: key, text });
      added += key.length + text.length;
      if (added < SLICE_LENGTH) continue;
      await setImmediate();
      added = 0;
    }
    return search;
  }
}

/** How many letters of a word may be wrong; two that changed places count as two. */
function misspelt(word: string): number | false {
  if (word.length > 5) return 2;
  return word.length > 3 ? 1 : false;
}

/** All words of a value: its texts and numbers, and the keys that lead to them. */
function textOf(value: Json): string {
  const words: string[] = [];
  let length = 0;
  const visit = (part: Json): void => {
    if (length > SEARCHED_LENGTH || part === null || typeof part === 'boolean') return;
    if (typeof part !== 'object') {
      words.push(String(part).slice(0, SEARCHED_LENGTH));
      length += (words.at(-1) as string).length;
      return;
    }
    for (const [key, inner] of Object.entries(part) as [string, Json][]) {
      if (!Array.isArray(part)) words.push(key);
      visit(inner);
    }
  };
  visit(value);
  return words.join(' ');
}

import { type Json, jsonSize } from '../../engine/json.ts';
import type { Once } from '../runtime/door.ts';
import { MemoryIndex } from './memory-index.ts';
import type { Collections } from './views.ts';

/** Whose memory: a flow's, or (without processId) the whole organization's. */
export interface MemoryScope {
  readonly organizationId: string;
  readonly processId: string | undefined;
}

export interface MemoryRecord {
  readonly key: string;
  readonly value: Json;
  /** ISO 8601. */
  readonly updatedAt: string;
}

export type MemoryErrorCode = 'MEMORY_KEY_INVALID' | 'MEMORY_VALUE_TOO_LARGE' | 'MEMORY_FULL' | 'MEMORY_NOT_A_LIST';

/** Something that memory does not take; nothing was changed. */
export class MemoryError extends Error {
  override readonly name = 'MemoryError';
  readonly code: MemoryErrorCode;
  constructor(code: MemoryErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

const COLLECTION = 'memory';
const MAX_KEY = 512;
const MiB = 1024 * 1024;
const MAX_VALUE = MiB;
const MAX_KEYS = 10_000;
/** Memory is kept in the daemon's own, so a scope may not grow without bound. */
const MAX_SCOPE = 64 * MiB;
/** How long a change is known by its idempotency key: longer than work that was under way waits for a daemon. */
const ONCE_MS = 7 * 24 * 60 * 60_000;

interface Stored {
  readonly value: Json;
  readonly updatedAt: string;
}

/**
 * Memory that outlives instances (decisions §4, memoryAction): facts `<organization>/<flow or *>/<key>`. Changes of one key
 * are made one after the other; a change with an idempotency key is made once.
 */
export class MemoryStore {
  readonly #collections: Collections;
  readonly #turns = new Map<string, Promise<unknown>>();
  /** Made anew when the facts were read anew from disk. */
  #indexes = new Map<string, MemoryIndex>();
  #indexed: ReadonlyMap<string, Stored> | undefined;

  constructor(collections: Collections) {
    this.#collections = collections;
  }

  get(scope: MemoryScope, key: string): MemoryRecord | undefined {
    const stored = this.#all.get(factKey(scope, key));
    return stored && { key, ...stored };
  }

  /** Whose key begins with `prefix`, by key. */
  list(scope: MemoryScope, prefix = ''): MemoryRecord[] {
    const keys = [...this.#index(scope).sizes.keys()].filter((key) => key.startsWith(prefix));
    return keys.sort().flatMap((key) => this.get(scope, key) ?? []);
  }

  /** The records that speak of `query`, best first, among those whose key begins with `prefix`. */
  async search(scope: MemoryScope, query: string, prefix = ''): Promise<(MemoryRecord & { readonly score: number })[]> {
    const found = await this.#index(scope).find(query);
    return found
      .filter(({ key }) => key.startsWith(prefix))
      .flatMap(({ key, score }) => {
        const record = this.get(scope, key);
        return record === undefined ? [] : [{ ...record, score }];
      });
  }

  /** MemoryError when the key or value is refused. */
  async set(scope: MemoryScope, key: string, value: Json, idempotencyKey?: string): Promise<MemoryRecord> {
    return this.#inTurn(scope, key, () => this.#write(scope, key, value, idempotencyKey));
  }

  /** Adds to the list under `key`, which begins empty; resolves with the list. MEMORY_NOT_A_LIST where it is something else. */
  async append(scope: MemoryScope, key: string, value: Json, idempotencyKey?: string): Promise<readonly Json[]> {
    return this.#inTurn(scope, key, async () => {
      const before = this.get(scope, key)?.value ?? [];
      if (!Array.isArray(before))
        throw new MemoryError('MEMORY_NOT_A_LIST', `the memory '${key}' is no list: only lists can be appended to`);
      const { value: list } = await this.#write(scope, key, [...before, value], idempotencyKey);
      return list as readonly Json[];
    });
  }

  /** False: there was nothing. */
  async remove(scope: MemoryScope, key: string, idempotencyKey?: string): Promise<boolean> {
    return this.#inTurn(scope, key, async () => {
      if (this.get(scope, key) === undefined) return false;
      const fact = { collection: COLLECTION, key: factKey(scope, key), value: null };
      if (await this.#collections.put([fact], onceOf(idempotencyKey))) await this.#note(scope, key, undefined);
      return true;
    });
  }

  async #write(
    scope: MemoryScope,
    key: string,
    value: Json,
    idempotencyKey: string | undefined,
  ): Promise<MemoryRecord> {
    this.#check(scope, key, value);
    const stored: Stored = { value, updatedAt: new Date().toISOString() };
    const fact = { collection: COLLECTION, key: factKey(scope, key), value: stored as unknown as Json };
    const made = await this.#collections.put([fact], onceOf(idempotencyKey));
    if (made) await this.#note(scope, key, value);
    // Made before, by an attempt whose outcome was lost: what is there now is the answer.
    return made ? { key, ...stored } : (this.get(scope, key) ?? { key, ...stored });
  }

  #check(scope: MemoryScope, key: string, value: Json): void {
    if (key === '' || key.length > MAX_KEY || /[\0-\x1f\x7f]/.test(key))
      throw new MemoryError(
        'MEMORY_KEY_INVALID',
        `the key of a memory has 1 to ${MAX_KEY} characters, without control characters`,
      );
    const size = jsonSize(value);
    if (size > MAX_VALUE)
      throw new MemoryError('MEMORY_VALUE_TOO_LARGE', `the memory '${key}' would be larger than ${MAX_VALUE} bytes`);
    const { sizes, bytes } = this.#index(scope);
    if (!sizes.has(key) && sizes.size >= MAX_KEYS)
      throw new MemoryError('MEMORY_FULL', `this memory has ${MAX_KEYS} keys, the most there may be: delete some`);
    if (bytes - (sizes.get(key) ?? 0) + size > MAX_SCOPE)
      throw new MemoryError('MEMORY_FULL', `this memory holds ${MAX_SCOPE} bytes, the most there may be: delete some`);
  }

  async #note(scope: MemoryScope, key: string, value: Json | undefined): Promise<void> {
    const index = this.#index(scope);
    index.resize(key, value === undefined ? undefined : jsonSize(value));
    await index.changed(key, value);
  }

  /** Read, then write: one after the other for each key. */
  async #inTurn<T>(scope: MemoryScope, key: string, change: () => Promise<T>): Promise<T> {
    const place = factKey(scope, key);
    const turn = (this.#turns.get(place) ?? Promise.resolve()).then(change, change);
    this.#turns.set(place, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(place) === turn) this.#turns.delete(place);
    }
  }

  get #all(): ReadonlyMap<string, Stored> {
    return this.#collections.all<Stored>(COLLECTION);
  }

  #index(scope: MemoryScope): MemoryIndex {
    const all = this.#all;
    if (this.#indexed !== all) {
      this.#indexes = new Map();
      this.#indexed = all;
      for (const [place, { value }] of all) {
        const [prefix, key] = split(place);
        this.#indexAt(prefix).resize(key, jsonSize(value));
      }
    }
    return this.#indexAt(factKey(scope, ''));
  }

  #indexAt(prefix: string): MemoryIndex {
    const known = this.#indexes.get(prefix);
    if (known !== undefined) return known;
    const made: MemoryIndex = new MemoryIndex(() => this.#entries(prefix, made.sizes.keys()));
    this.#indexes.set(prefix, made);
    return made;
  }

  *#entries(prefix: string, keys: Iterable<string>): Generator<readonly [string, Json]> {
    for (const key of keys) {
      const stored = this.#all.get(prefix + key);
      if (stored !== undefined) yield [key, stored.value];
    }
  }
}

/** Neither an organization's id nor a flow's holds a slash. */
const factKey = ({ organizationId, processId }: MemoryScope, key: string): string =>
  `${organizationId}/${processId ?? '*'}/${key}`;

function split(place: string): readonly [prefix: string, key: string] {
  const end = place.indexOf('/', place.indexOf('/') + 1) + 1;
  return [place.slice(0, end), place.slice(end)];
}

const onceOf = (idempotencyKey: string | undefined): Once | undefined =>
  idempotencyKey === undefined
    ? undefined
    : { key: `memory:${idempotencyKey}`, fingerprint: 'memory', expiresAt: Date.now() + ONCE_MS };

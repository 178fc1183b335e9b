import { join } from 'node:path';
import { Low } from 'lowdb';
import type { Json } from '../../engine/json.ts';
import type { Fact } from '../ports.ts';
import type { Facts, Once } from '../runtime/door.ts';
import { writeWhole } from './durable-file.ts';

/** The collections that people may want to look at; `keys` holds hashes, never secrets. */
const SHOWN = new Set(['flows', 'keys', 'environment', 'organizations']);
const QUIET_MS = 500;

interface Warner {
  warn(fields: object, message: string): void;
}

/**
 * Facts as the stores change them, with a JSON file for each shown collection beside the journal. The journal is the
 * truth: these files are written some time after a change, and never read back.
 */
export class Collections {
  readonly #facts: Facts;
  readonly #folder: string;
  readonly #log: Warner;
  readonly #changed = new Set<string>();
  readonly #listeners = new Map<string, (key: string) => void>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(facts: Facts, folder: string, log: Warner) {
    this.#facts = facts;
    this.#folder = folder;
    this.#log = log;
  }

  get<T>(collection: string, key: string): T | undefined {
    return this.#facts.get(collection, key) as T | undefined;
  }

  all<T>(collection: string): ReadonlyMap<string, T> {
    return this.#facts.all(collection) as ReadonlyMap<string, T>;
  }

  /** `listener` is told of each key of the collection that is put or deleted from now on, once that is durable. */
  onPut(collection: string, listener: (key: string) => void): void {
    this.#listeners.set(collection, listener);
  }

  /** Resolves when durable; all of the facts together or none. False: `once` was used before, and nothing was changed. */
  async put(facts: readonly Fact[], once?: Once): Promise<boolean> {
    if (!(await this.#facts.put(facts, once))) return false;
    for (const { collection, key } of facts) {
      if (SHOWN.has(collection)) this.#changed.add(collection);
      this.#listeners.get(collection)?.(key);
    }
    this.#timer ??= setTimeout(() => this.#write(), QUIET_MS).unref();
    return true;
  }

  /** Brings the files up to date. */
  async close(): Promise<void> {
    this.#write();
    await this.#writing;
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const collections = [...this.#changed];
    this.#changed.clear();
    this.#writing = this.#writing.then(async () => {
      for (const collection of collections) await this.#writeView(collection);
    });
  }

  async #writeView(collection: string): Promise<void> {
    const path = join(this.#folder, `${collection}.json`);
    const content = Object.fromEntries(this.#facts.all(collection));
    try {
      await new Low<Record<string, Json>>(new SyncedJson(path), content).write();
    } catch (error) {
      this.#log.warn({ err: error, path }, 'a view of the data could not be written; the data itself is safe');
    }
  }
}

/** lowdb's own adapter renames without syncing; this one is durable, and reads nothing since views are never read. */
class SyncedJson {
  readonly #path: string;
  constructor(path: string) {
    this.#path = path;
  }
  async read(): Promise<null> {
    return null;
  }
  write(data: Record<string, Json>): Promise<void> {
    return writeWhole(this.#path, `${JSON.stringify(data, null, 2)}\n`);
  }
}

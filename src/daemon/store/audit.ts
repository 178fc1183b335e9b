import { existsSync, readdirSync } from 'node:fs';
import { type FileHandle, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, syncFolder } from '../durable-folder.ts';
import { StorageError } from '../ports.ts';

/** Who did what, as it is kept: one line of JSON. Never a body, a query or a header: these may hold secrets. */
export interface AuditFact {
  /** ISO 8601. */
  readonly at: string;
  /** Whose matter it is; null: the daemon's own, or nobody's. */
  readonly organizationId: string | null;
  /** null: a request without a valid credential. */
  readonly actor: { readonly keyId?: string; readonly userId?: string; readonly name: string } | null;
  /** The operation's name in the API's description, such as `createKey`. */
  readonly action: string;
  /** Ids of what it was done to, or of what it made. */
  readonly target: Readonly<Record<string, string>>;
  readonly status: number;
  /** The error code of what was refused. */
  readonly error?: string;
  /** Where the request came from. */
  readonly address: string;
}
export interface AuditEntry extends AuditFact {
  /** Grows with time. */
  readonly id: string;
}
export interface AuditQuery {
  /** undefined: of all, and of none. */
  readonly organizationId: string | undefined;
  readonly keyId?: string | undefined;
  /** Only entries before this id. */
  readonly before?: string | undefined;
  readonly limit: number;
}

const SEGMENT_BYTES = 8 * 1024 * 1024;
/** The oldest segments are removed beyond so many: 1 GiB. */
const SEGMENTS = 128;
/** Segments that one page looks through; a page that finds little is short. */
const LOOKED_THROUGH = 4;
const LATER_MS = 200;
/** Lines that wait for a disk that takes none. */
const MAX_WAITING = 50_000;
const NAME = /^(\d{8})\.ndjson$/;

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * The append-only record of who did what, in files of one JSON object a line. Every start begins a new file, so that a torn
 * end is never written behind.
 */
export class AuditLog {
  readonly #folder: string;
  readonly #segments: number[];
  readonly #log: { warn(fields: object, message: string): void };
  #lines: string[] = [];
  #waiters: Waiter[] = [];
  #writing: Promise<void> | undefined;
  #later: NodeJS.Timeout | undefined;
  #current: { readonly file: FileHandle; bytes: number } | undefined;

  constructor(folder: string, log: { warn(fields: object, message: string): void }) {
    this.#folder = folder;
    const names = existsSync(folder) ? readdirSync(folder) : [];
    this.#segments = names.flatMap((name) => NAME.exec(name)?.[1] ?? []).map(Number);
    this.#segments.sort((a, b) => a - b);
    this.#log = log;
  }

  /** Records what is durable elsewhere too, such as the start of a run: written within a moment. */
  note(fact: AuditFact): void {
    if (this.#lines.length >= MAX_WAITING) return;
    this.#lines.push(`${JSON.stringify(fact)}\n`);
    this.#later ??= setTimeout(() => this.#start(), LATER_MS);
  }

  /** Records; resolves when durable. StorageError. */
  durably(fact: AuditFact): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#lines.push(`${JSON.stringify(fact)}\n`);
      this.#waiters.push({ resolve, reject });
      this.#start();
    });
  }

  /** Entries, newest first; `next` is where the next page begins. */
  async page(query: AuditQuery): Promise<{ items: AuditEntry[]; next: string | null }> {
    await this.#flush();
    const [segment = Number.POSITIVE_INFINITY, line = Number.POSITIVE_INFINITY] = (query.before ?? '')
      .split('.')
      .flatMap((part) => (part === '' ? [] : [Number(part)]));
    const items: AuditEntry[] = [];
    const numbers = this.#segments.filter((number) => number <= segment).reverse();
    for (const number of numbers.slice(0, LOOKED_THROUGH)) {
      const lines = await this.#read(number);
      for (let at = Math.min(lines.length, number === segment ? line : lines.length) - 1; at >= 0; at -= 1) {
        const fact = parsed(lines[at] as string);
        if (fact === undefined || !matches(fact, query)) continue;
        if (items.length === query.limit) return { items, next: (items.at(-1) as AuditEntry).id };
        items.push({ id: `${number}.${at}`, ...fact });
      }
    }
    const left = numbers[LOOKED_THROUGH];
    return { items, next: left === undefined ? null : `${left + 1}.0` };
  }

  async close(): Promise<void> {
    await this.#flush();
    await this.#leave();
  }

  async #flush(): Promise<void> {
    this.#start();
    await this.#writing;
  }

  #start(): void {
    clearTimeout(this.#later);
    this.#later = undefined;
    if (this.#lines.length > 0) this.#writing ??= this.#write();
  }

  async #write(): Promise<void> {
    while (this.#lines.length > 0) {
      const [lines, waiters] = [this.#lines, this.#waiters];
      [this.#lines, this.#waiters] = [[], []];
      try {
        await this.#append(Buffer.from(lines.join('')));
        for (const { resolve } of waiters) resolve();
      } catch (error) {
        // What a failed write left is unknown: the next one goes to a new file.
        await this.#leave();
        const { message } = error as Error;
        this.#log.warn({ err: error, entries: lines.length }, 'audit entries cannot be written');
        for (const { reject } of waiters) reject(new StorageError(`The audit record cannot be written: ${message}.`));
      }
    }
    this.#writing = undefined;
  }

  async #append(bytes: Buffer): Promise<void> {
    if (this.#current !== undefined && this.#current.bytes >= SEGMENT_BYTES) await this.#leave();
    this.#current ??= await this.#begin();
    const { bytesWritten } = await this.#current.file.write(bytes);
    if (bytesWritten < bytes.length) throw new Error('the disk took only a part of it');
    await this.#current.file.datasync();
    this.#current.bytes += bytes.length;
  }

  async #begin(): Promise<{ file: FileHandle; bytes: number }> {
    await makeFolder(this.#folder);
    const number = (this.#segments.at(-1) ?? 0) + 1;
    const file = await open(this.#path(number), 'ax', 0o600);
    this.#current = { file, bytes: 0 };
    this.#segments.push(number);
    await syncFolder(this.#folder);
    for (const old of this.#segments.splice(0, Math.max(0, this.#segments.length - SEGMENTS)))
      await rm(this.#path(old), { force: true });
    return this.#current;
  }

  async #leave(): Promise<void> {
    await this.#current?.file.close().catch(() => undefined);
    this.#current = undefined;
  }

  async #read(number: number): Promise<readonly string[]> {
    try {
      return (await readFile(this.#path(number), 'utf8')).split('\n');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw new StorageError(`The audit record cannot be read: ${(error as Error).message}.`, { cause: error });
    }
  }

  #path(number: number): string {
    return join(this.#folder, `${String(number).padStart(8, '0')}.ndjson`);
  }
}

const matches = (fact: AuditFact, { organizationId, keyId }: AuditQuery): boolean =>
  (organizationId === undefined || fact.organizationId === organizationId) &&
  (keyId === undefined || fact.actor?.keyId === keyId);

/** A line that a crash cut short is none. */
function parsed(line: string): AuditFact | undefined {
  if (line === '') return undefined;
  try {
    return JSON.parse(line) as AuditFact;
  } catch {
    return undefined;
  }
}

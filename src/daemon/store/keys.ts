import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Role } from '../../contract/permissions.ts';
import type { Json } from '../../engine/json.ts';
import type { Fact } from '../ports.ts';
import { Refusal } from '../refusal.ts';
import { Turns } from './turns.ts';
import type { Collections } from './views.ts';

export interface KeyRecord {
  readonly keyId: string;
  readonly name: string;
  /** SHA-256 of the secret, in hexadecimal. */
  readonly hash: string;
  /** Null: a system-level key, bound to no organization. */
  readonly organizationId: string | null;
  readonly roles: readonly Role[];
  readonly status: 'ACTIVE' | 'SUSPENDED' | 'REVOKED';
  /** Null: unlimited. */
  readonly rateLimitPerMinute: number | null;
  readonly rateLimitPerHour: number | null;
  /** ISO 8601; null: never. */
  readonly expiresAt: string | null;
  readonly createdAt: string;
}
export type NewKeyRequest = Pick<KeyRecord, 'name' | 'organizationId' | 'roles'> &
  Partial<Pick<KeyRecord, 'rateLimitPerMinute' | 'rateLimitPerHour' | 'expiresAt'>>;
export type KeyChanges = Partial<Omit<KeyRecord, 'keyId' | 'hash' | 'organizationId' | 'createdAt'>>;

/** A key with what is shown once only. */
export interface FreshKey {
  readonly record: KeyRecord;
  readonly secret: string;
  /** `apk_{keyId}_{secret}`. */
  readonly key: string;
}

/** The id has no underscore, so the first one after it is where the secret begins, whatever the secret holds. */
const FORMAT = /^apk_([0-9A-Za-z]{1,64})_([\x21-\x7e]{1,256})$/;
const NOBODYS_HASH = sha256('no key has this secret');
const USE_FLUSH_MS = 10 * 60_000;

/** API keys (interface, API key). What was last used is kept in memory and written now and then: it is not worth a sync a request. */
export class KeyStore {
  readonly #collections: Collections;
  readonly #used = new Map<string, number>();
  readonly #flush: NodeJS.Timeout;
  readonly #turns = new Turns();

  constructor(collections: Collections) {
    this.#collections = collections;
    this.#flush = setInterval(() => void this.#writeUse().catch(() => undefined), USE_FLUSH_MS).unref();
  }

  /**
   * The key that the credential belongs to, when it is valid now; else undefined, for whatever reason. An unknown id takes
   * the same steps as a known one, so that time tells nothing.
   */
  verify(credential: string, now: number): KeyRecord | undefined {
    const [, keyId = '', secret = ''] = FORMAT.exec(credential) ?? [];
    const record = this.#collections.get<KeyRecord>('keys', keyId);
    const right = timingSafeEqual(hash('sha256', secret, 'buffer'), Buffer.from(record?.hash ?? NOBODYS_HASH, 'hex'));
    if (!right || record === undefined || !isValid(record, now)) return undefined;
    this.#used.set(keyId, now);
    return record;
  }

  /** Whether what was verified a while ago would be verified now. */
  stillHolds({ keyId, hash }: KeyRecord, now: number): boolean {
    const record = this.get(keyId);
    return record !== undefined && record.hash === hash && isValid(record, now);
  }

  get(keyId: string): KeyRecord | undefined {
    return this.#collections.get<KeyRecord>('keys', keyId);
  }

  /** Keys of one organization; undefined: all keys. */
  list(organizationId: string | undefined): KeyRecord[] {
    const records = [...this.#collections.all<KeyRecord>('keys').values()];
    return organizationId === undefined ? records : records.filter((key) => key.organizationId === organizationId);
  }

  /** ISO 8601, or null when not used since it was made. */
  lastUsedAt(keyId: string): string | null {
    const seen = this.#used.get(keyId);
    return seen === undefined ? (this.#collections.get<string>('keyUse', keyId) ?? null) : new Date(seen).toISOString();
  }

  async create(request: NewKeyRequest, now: number): Promise<FreshKey> {
    const fresh = freshKey(request, now);
    await this.#collections.put([keyFact(fresh.record)]);
    return fresh;
  }

  /** REVOKED is for good (CONFLICT). NOT_FOUND when it was removed meanwhile. */
  update(keyId: string, changes: KeyChanges): Promise<KeyRecord> {
    return this.#change(keyId, (record) => ({ ...record, ...changes }));
  }

  /** A new secret under the same id; the old one is invalid from then on. */
  async rotate(keyId: string): Promise<FreshKey> {
    const secret = newSecret();
    const record = await this.#change(keyId, (known) => ({ ...known, hash: sha256(secret) }));
    return { record, secret, key: wholeKey(keyId, secret) };
  }

  async remove(keyId: string): Promise<void> {
    this.#used.delete(keyId);
    await this.#turns.take(() =>
      this.#collections.put([
        { collection: 'keys', key: keyId, value: null },
        { collection: 'keyUse', key: keyId, value: null },
      ]),
    );
  }

  #change(keyId: string, changed: (record: KeyRecord) => KeyRecord): Promise<KeyRecord> {
    return this.#turns.take(async () => {
      const known = this.get(keyId);
      if (known === undefined) throw new Refusal('NOT_FOUND', `There is no key with the id ${keyId}.`);
      if (known.status === 'REVOKED')
        throw new Refusal('CONFLICT', `Key ${keyId} is revoked for good: make a new one instead.`);
      const record = changed(known);
      await this.#collections.put([keyFact(record)]);
      return record;
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#flush);
    await this.#writeUse();
  }

  async #writeUse(): Promise<void> {
    const facts = [...this.#used].map(([keyId, at]) => ({
      collection: 'keyUse',
      key: keyId,
      value: new Date(at).toISOString(),
    }));
    this.#used.clear();
    if (facts.length > 0) await this.#collections.put(facts);
  }
}

/** A new key, not stored yet. */
export function freshKey(request: NewKeyRequest, now: number): FreshKey {
  const keyId = randomBytes(8).toString('hex');
  const secret = newSecret();
  const record: KeyRecord = {
    keyId,
    name: request.name,
    hash: sha256(secret),
    organizationId: request.organizationId,
    roles: request.roles,
    status: 'ACTIVE',
    rateLimitPerMinute: request.rateLimitPerMinute ?? null,
    rateLimitPerHour: request.rateLimitPerHour ?? null,
    expiresAt: request.expiresAt ?? null,
    createdAt: new Date(now).toISOString(),
  };
  return { record, secret, key: wholeKey(keyId, secret) };
}

export const keyFact = (record: KeyRecord): Fact => ({
  collection: 'keys',
  key: record.keyId,
  value: record as unknown as Json,
});

const wholeKey = (keyId: string, secret: string): string => `apk_${keyId}_${secret}`;

/** 256 random bits: as there is nothing to guess, a fast hash keeps it as well as a slow one would. */
const newSecret = (): string => randomBytes(32).toString('hex');

function sha256(text: string): string {
  return hash('sha256', text);
}

const isValid = ({ status, expiresAt }: KeyRecord, now: number): boolean =>
  status === 'ACTIVE' && !isPast(expiresAt, now);

const isPast = (time: string | null, now: number): boolean => time !== null && Date.parse(time) <= now;

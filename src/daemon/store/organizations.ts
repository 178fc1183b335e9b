import { randomBytes } from 'node:crypto';
import type { Json } from '../../engine/json.ts';
import type { Fact } from '../ports.ts';
import { Refusal } from '../refusal.ts';
import { Turns } from './turns.ts';
import type { Collections } from './views.ts';

export interface OrganizationRecord {
  readonly organizationId: string;
  readonly name: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

const COLLECTION = 'organizations';
/** Ids that were in use once. */
const REMOVED = 'removedOrganizations';

/**
 * Organizations: what flows, keys and environment values belong to. The id of a removed one is not given again, so that nobody
 * comes into what was left behind under it.
 */
export class OrganizationStore {
  readonly #collections: Collections;
  readonly #turns = new Turns();
  constructor(collections: Collections) {
    this.#collections = collections;
  }

  get(organizationId: string): OrganizationRecord | undefined {
    return this.#collections.get<OrganizationRecord>(COLLECTION, organizationId);
  }

  list(): OrganizationRecord[] {
    return [...this.#collections.all<OrganizationRecord>(COLLECTION).values()];
  }

  /** CONFLICT when the id is taken. Without an id one is made from the name. */
  create(name: string, id: string | undefined, now: number): Promise<OrganizationRecord> {
    return this.#turns.take(async () => {
      const organizationId = id ?? this.#idFor(name);
      if (this.#isTaken(organizationId))
        throw new Refusal(
          'CONFLICT',
          `There is, or was, an organization with the id ${organizationId}: choose another.`,
        );
      const record = { organizationId, name, createdAt: new Date(now).toISOString() };
      await this.#collections.put([organizationFact(record)]);
      return record;
    });
  }

  async rename(record: OrganizationRecord, name: string): Promise<OrganizationRecord> {
    const renamed = { ...record, name };
    await this.#collections.put([organizationFact(renamed)]);
    return renamed;
  }

  async remove(organizationId: string): Promise<void> {
    await this.#collections.put([
      { collection: COLLECTION, key: organizationId, value: null },
      { collection: REMOVED, key: organizationId, value: true },
    ]);
  }

  #isTaken(id: string): boolean {
    return this.get(id) !== undefined || this.#collections.get(REMOVED, id) !== undefined;
  }

  #idFor(name: string): string {
    const plain = name
      .normalize('NFKD')
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 40);
    return plain !== '' && !this.#isTaken(plain)
      ? plain
      : `${plain || 'organization'}-${randomBytes(4).toString('hex')}`;
  }
}

export const organizationFact = (record: OrganizationRecord): Fact => ({
  collection: COLLECTION,
  key: record.organizationId,
  value: record as unknown as Json,
});

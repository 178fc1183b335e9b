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

/** Organizations: what flows, keys and environment values belong to. */
export class OrganizationStore {
  readonly #collections: Collections;
  readonly #turns = new Turns();
  constructor(collections: Collections) {
    this.#collections = collections;
  }

  get(organizationId: string): OrganizationRecord | undefined {
    return this.#collections.get<OrganizationRecord>('organizations', organizationId);
  }

  list(): OrganizationRecord[] {
    return [...this.#collections.all<OrganizationRecord>('organizations').values()];
  }

  /** CONFLICT when the id is taken. Without an id one is made from the name. */
  create(name: string, id: string | undefined, now: number): Promise<OrganizationRecord> {
    return this.#turns.take(async () => {
      const organizationId = id ?? this.#idFor(name);
      if (this.get(organizationId) !== undefined)
        throw new Refusal(
          'CONFLICT',
          `There is an organization with the id ${organizationId} already: choose another.`,
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
    await this.#collections.put([{ collection: 'organizations', key: organizationId, value: null }]);
  }

  #idFor(name: string): string {
    const plain = name
      .normalize('NFKD')
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 40);
    return plain !== '' && this.get(plain) === undefined
      ? plain
      : `${plain || 'organization'}-${randomBytes(4).toString('hex')}`;
  }
}

export const organizationFact = (record: OrganizationRecord): Fact => ({
  collection: 'organizations',
  key: record.organizationId,
  value: record as unknown as Json,
});

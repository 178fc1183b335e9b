import { randomUUID } from 'node:crypto';
import type { Json } from '../../engine/json.ts';
import type { Environment } from '../runtime/door.ts';
import type { Collections } from './views.ts';

export interface EnvironmentRecord {
  readonly id: string;
  readonly name: string;
  readonly value: Json;
  readonly environment: Environment;
  readonly organizationId: string;
  /** ISO 8601. */
  readonly updatedAt: string;
}

/** Environment values: what flows read as {env.NAME}, one set for each organization and environment. */
export class EnvironmentStore {
  readonly #collections: Collections;
  constructor(collections: Collections) {
    this.#collections = collections;
  }

  /** The value a name has, or undefined. */
  value(organizationId: string, environment: Environment, name: string): Json | undefined {
    return this.#collections.get<EnvironmentRecord>('environment', keyOf({ organizationId, environment, name }))?.value;
  }

  get(id: string): EnvironmentRecord | undefined {
    for (const record of this.#collections.all<EnvironmentRecord>('environment').values())
      if (record.id === id) return record;
    return undefined;
  }

  /** Of one organization (undefined: of all), in one environment (undefined: in both). */
  list(organizationId: string | undefined, environment: Environment | undefined): EnvironmentRecord[] {
    return [...this.#collections.all<EnvironmentRecord>('environment').values()].filter(
      (record) =>
        (organizationId === undefined || record.organizationId === organizationId) &&
        (environment === undefined || record.environment === environment),
    );
  }

  /** New, or in place of the value that the name had; the id stays. */
  async set(
    place: Pick<EnvironmentRecord, 'organizationId' | 'environment' | 'name'>,
    value: Json,
    now: number,
  ): Promise<EnvironmentRecord> {
    const { organizationId, environment, name } = place;
    const key = keyOf(place);
    const id = this.#collections.get<EnvironmentRecord>('environment', key)?.id ?? randomUUID();
    const record = { id, name, value, environment, organizationId, updatedAt: new Date(now).toISOString() };
    await this.#collections.put([{ collection: 'environment', key, value: record as unknown as Json }]);
    return record;
  }

  async remove(record: EnvironmentRecord): Promise<void> {
    await this.#collections.put([{ collection: 'environment', key: keyOf(record), value: null }]);
  }
}

/** None of the three holds a slash. */
const keyOf = (place: Pick<EnvironmentRecord, 'organizationId' | 'environment' | 'name'>): string =>
  `${place.organizationId}/${place.environment}/${place.name}`;

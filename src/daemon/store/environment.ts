import { randomUUID } from 'node:crypto';
import type { Json } from '../../engine/json.ts';
import type { Environment } from '../runtime/door.ts';
import type { SecretBox } from './secret-box.ts';
import { Turns } from './turns.ts';
import type { Collections } from './views.ts';

export interface EnvironmentRecord {
  readonly id: string;
  readonly name: string;
  /** Of a secret, the sealed text. */
  readonly value: Json;
  readonly secret: boolean;
  readonly environment: Environment;
  readonly organizationId: string;
  /** ISO 8601. */
  readonly updatedAt: string;
}
type Place = Pick<EnvironmentRecord, 'organizationId' | 'environment' | 'name'>;

/** What a secret shows where it may not be read (decisions §4). */
export const HIDDEN = '***';

/** Environment values: what flows read as {env.NAME}, one set for each organization and environment. */
export class EnvironmentStore {
  readonly #collections: Collections;
  readonly #box: SecretBox;
  readonly #turns = new Turns();
  constructor(collections: Collections, box: SecretBox) {
    this.#collections = collections;
    this.#box = box;
  }

  /** The value that a name has, `***` for a secret, or undefined. */
  shown(organizationId: string, environment: Environment, name: string): Json | undefined {
    const record = this.#at({ organizationId, environment, name });
    return record?.secret === true ? HIDDEN : record?.value;
  }

  /** The value for outside work, a secret in the clear. StorageError when it can't be opened. */
  value(organizationId: string, environment: Environment, name: string): Json | undefined {
    const record = this.#at({ organizationId, environment, name });
    return record?.secret === true ? this.#opened(record) : record?.value;
  }

  /** All secrets of an environment that can be opened, in the clear: what has to be masked in what comes back. */
  secrets(organizationId: string, environment: Environment): string[] {
    const secrets: string[] = [];
    for (const record of this.list(organizationId, environment)) {
      if (!record.secret) continue;
      try {
        secrets.push(this.#opened(record));
      } catch {
        // What can't be opened went nowhere, so it can't come back. Who reads it is told.
      }
    }
    return secrets;
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
  async set(place: Place, plain: Json, now: number): Promise<EnvironmentRecord> {
    return this.#put(place, { value: plain, secret: false }, now);
  }

  /** The same, sealed before it is written. */
  async setSecret(place: Place, text: string, now: number): Promise<EnvironmentRecord> {
    return this.#put(place, { value: await this.#box.seal(text, keyOf(place)), secret: true }, now);
  }

  async remove(record: EnvironmentRecord): Promise<void> {
    await this.#collections.put([{ collection: 'environment', key: keyOf(record), value: null }]);
  }

  #put(place: Place, content: Pick<EnvironmentRecord, 'value' | 'secret'>, now: number): Promise<EnvironmentRecord> {
    const { organizationId, environment, name } = place;
    const key = keyOf(place);
    return this.#turns.take(async () => {
      const id = this.#at(place)?.id ?? randomUUID();
      const record = { id, name, ...content, environment, organizationId, updatedAt: new Date(now).toISOString() };
      await this.#collections.put([{ collection: 'environment', key, value: record as unknown as Json }]);
      return record;
    });
  }

  #at(place: Place): EnvironmentRecord | undefined {
    return this.#collections.get<EnvironmentRecord>('environment', keyOf(place));
  }

  #opened(record: EnvironmentRecord): string {
    return this.#box.open(record.value as string, keyOf(record));
  }
}

/** None of the three holds a slash. */
const keyOf = (place: Place): string => `${place.organizationId}/${place.environment}/${place.name}`;

import { randomUUID } from 'node:crypto';
import type { Json } from '../../engine/json.ts';
import type { Fact } from '../ports.ts';
import { Refusal } from '../refusal.ts';
import type { SecretBox } from './secret-box.ts';
import { Turns } from './turns.ts';
import type { Collections } from './views.ts';

/** An inbox that is watched. */
export interface EmailConnectionRecord {
  readonly id: string;
  readonly organizationId: string;
  /** Unique within the organization: flows may name it. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** From the start; false: by STARTTLS, which a server on this machine alone may lack. */
  readonly tls: boolean;
  readonly user: string;
  /** Sealed. */
  readonly password: string;
  /** The folder. */
  readonly mailbox: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly updatedAt: string;
}
type Settings = Pick<EmailConnectionRecord, 'name' | 'host' | 'port' | 'tls' | 'user' | 'password' | 'mailbox'>;
export type NewEmailConnection = Pick<
  EmailConnectionRecord,
  'organizationId' | 'name' | 'host' | 'user' | 'password'
> & {
  readonly port?: number;
  readonly tls?: boolean;
  readonly mailbox?: string;
};
export type EmailConnectionChanges = Partial<Settings>;

const COLLECTION = 'emailConnections';
/** How far each inbox was read. */
export const POSITIONS = 'emailPositions';
/** Each keeps a connection to a mail server open. */
const MOST = 100;

/** Email connections (decisions §6). Passwords are sealed before they are written. */
export class EmailConnectionStore {
  readonly #collections: Collections;
  readonly #box: SecretBox;
  readonly #turns = new Turns();

  constructor(collections: Collections, box: SecretBox) {
    this.#collections = collections;
    this.#box = box;
  }

  get(id: string): EmailConnectionRecord | undefined {
    return this.#collections.get<EmailConnectionRecord>(COLLECTION, id);
  }

  /** Of one organization; undefined: of all. */
  list(organizationId: string | undefined): EmailConnectionRecord[] {
    const records = [...this.#collections.all<EmailConnectionRecord>(COLLECTION).values()];
    return organizationId === undefined ? records : records.filter((one) => one.organizationId === organizationId);
  }

  /** `listener` is told of each connection that is made, changed or removed. */
  onChange(listener: (id: string) => void): void {
    this.#collections.onPut(COLLECTION, listener);
  }

  /** In the clear. StorageError when it can't be opened. */
  password({ id, password }: EmailConnectionRecord): string {
    return this.#box.open(password, purposeOf(id));
  }

  /** CONFLICT for a name that is taken, or when there are too many. */
  create(request: NewEmailConnection, now: number): Promise<EmailConnectionRecord> {
    return this.#turns.take(async () => {
      const { organizationId, name, host, user, tls = true, mailbox = 'INBOX' } = request;
      this.#refuseTaken(organizationId, name, undefined);
      if (this.list(organizationId).length >= MOST)
        throw new Refusal('CONFLICT', `There are ${MOST} email connections already: remove one that is not needed.`);
      const id = randomUUID();
      const password = await this.#box.seal(request.password, purposeOf(id));
      const port = request.port ?? usualPort(tls);
      const createdAt = new Date(now).toISOString();
      const settings = { name, host, port, tls, user, password, mailbox };
      const record = { id, organizationId, ...settings, createdAt, updatedAt: createdAt };
      await this.#collections.put([factOf(record)]);
      return record;
    });
  }

  /** NOT_FOUND when it was removed meanwhile; CONFLICT for a name that is taken. */
  update(id: string, changes: EmailConnectionChanges, now: number): Promise<EmailConnectionRecord> {
    return this.#turns.take(async () => {
      const known = this.#known(id);
      if (changes.name !== undefined) this.#refuseTaken(known.organizationId, changes.name, id);
      const password =
        changes.password === undefined ? known.password : await this.#box.seal(changes.password, purposeOf(id));
      const { tls = known.tls } = changes;
      const port = changes.port ?? (known.port === usualPort(known.tls) ? usualPort(tls) : known.port);
      const record = { ...known, ...changes, port, password, updatedAt: new Date(now).toISOString() };
      await this.#collections.put([factOf(record)]);
      return record;
    });
  }

  /** NOT_FOUND when it was removed meanwhile. */
  remove(id: string): Promise<void> {
    return this.#turns.take(async () => {
      this.#known(id);
      const facts = [COLLECTION, POSITIONS].map((collection) => ({ collection, key: id, value: null }));
      await this.#collections.put(facts);
    });
  }

  #known(id: string): EmailConnectionRecord {
    const known = this.get(id);
    if (known === undefined) throw new Refusal('NOT_FOUND', `There is no email connection with the id ${id}.`);
    return known;
  }

  #refuseTaken(organizationId: string, name: string, own: string | undefined): void {
    const other = this.list(organizationId).find((one) => one.name === name && one.id !== own);
    if (other !== undefined)
      throw new Refusal('CONFLICT', `There is an email connection called ${name} already: choose another name.`);
  }
}

const usualPort = (tls: boolean): number => (tls ? 993 : 143);
const purposeOf = (id: string): string => `email/${id}`;
const factOf = (record: EmailConnectionRecord): Fact => ({
  collection: COLLECTION,
  key: record.id,
  value: record as unknown as Json,
});

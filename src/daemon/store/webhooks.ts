import { randomBytes, randomUUID } from 'node:crypto';
import type { Json } from '../../engine/json.ts';
import type { Fact } from '../ports.ts';
import { invalid, Refusal } from '../refusal.ts';
import type { Environment } from '../runtime/door.ts';
import type { Algorithm, Provider } from '../triggers/signatures.ts';
import type { SecretBox } from './secret-box.ts';
import { Turns } from './turns.ts';
import type { Collections } from './views.ts';

/** One address of a registration. */
export interface StoredEndpoint {
  /** Null: of a SHARED registration, whose runs are PRODUCTION. */
  readonly environment: Environment | null;
  readonly token: string;
  /** Sealed; null with auth NONE. */
  readonly secret: string | null;
  /** Secrets before, newest first, each of which holds for a while beside its successors. */
  readonly previous: readonly PreviousSecret[];
}
interface PreviousSecret {
  /** Sealed. */
  readonly secret: string;
  /** ISO 8601. */
  readonly until: string;
}
export interface WebhookRecord {
  readonly id: string;
  readonly organizationId: string;
  /** Unique within the organization: flows may link to it. */
  readonly name: string;
  readonly provider: Provider;
  readonly mode: 'SHARED' | 'PER_ENVIRONMENT';
  readonly auth: 'HMAC' | 'NONE';
  readonly algorithm: Exclude<Algorithm, 'sha384'>;
  readonly signatureHeader: string | null;
  readonly signaturePrefix: string | null;
  readonly encoding: 'hex' | 'base64';
  readonly eventTypePath: string | null;
  readonly eventIdPath: string | null;
  readonly endpoints: readonly StoredEndpoint[];
  /** ISO 8601. */
  readonly createdAt: string;
  readonly updatedAt: string;
}
type Details = Pick<
  WebhookRecord,
  'algorithm' | 'signatureHeader' | 'signaturePrefix' | 'encoding' | 'eventTypePath' | 'eventIdPath'
>;
export type NewWebhook = Pick<WebhookRecord, 'organizationId' | 'name' | 'provider'> &
  Partial<Pick<WebhookRecord, 'mode' | 'auth'> & Details> & {
    readonly secret?: string;
    readonly secrets?: Partial<Readonly<Record<Environment, string>>>;
  };
export type WebhookChanges = Partial<Pick<WebhookRecord, 'name'> & Details>;

/** A registration with the secrets that are shown this once, by the place of their endpoint. */
export interface FreshWebhook {
  readonly record: WebhookRecord;
  readonly secrets: readonly (string | undefined)[];
}
export interface Rotation {
  /** Undefined: every endpoint. */
  readonly environment: Environment | undefined;
  /** Undefined: one is made. */
  readonly secret: string | undefined;
  /** How long the old secret still holds, milliseconds. */
  readonly overlapMs: number;
  /** The address changes too; the old one is unknown at once. */
  readonly token: boolean;
}

/** An address with what belongs to it. */
export interface FoundEndpoint {
  readonly webhook: WebhookRecord;
  readonly endpoint: StoredEndpoint;
}

const ENVIRONMENTS = ['DEVELOPMENT', 'PRODUCTION'] as const;
const MOST_PREVIOUS = 4;

/** Webhook registrations. Secrets are sealed before they are written; tokens are addresses, and are kept as they are. */
export class WebhookStore {
  readonly #collections: Collections;
  readonly #box: SecretBox;
  readonly #turns = new Turns();

  constructor(collections: Collections, box: SecretBox) {
    this.#collections = collections;
    this.#box = box;
  }

  get(id: string): WebhookRecord | undefined {
    return this.#collections.get<WebhookRecord>('webhooks', id);
  }

  /** Of one organization; undefined: of all. */
  list(organizationId: string | undefined): WebhookRecord[] {
    const records = [...this.#collections.all<WebhookRecord>('webhooks').values()];
    return organizationId === undefined ? records : records.filter((one) => one.organizationId === organizationId);
  }

  /** The endpoint with this token. As long as a random token is, the time of a look-up tells nothing of it. */
  at(token: string): FoundEndpoint | undefined {
    const id = this.#collections.get<string>('webhookTokens', token);
    const webhook = id === undefined ? undefined : this.get(id);
    const endpoint = webhook?.endpoints.find((one) => one.token === token);
    return webhook === undefined || endpoint === undefined ? undefined : { webhook, endpoint };
  }

  /** The secrets that hold now, newest first, in the clear. StorageError when they can't be opened. */
  secrets({ id }: WebhookRecord, { secret, previous }: StoredEndpoint, now: number): string[] {
    const old = holding(previous, now).map((one) => one.secret);
    return (secret === null ? old : [secret, ...old]).map((sealed) => this.#box.open(sealed, purposeOf(id)));
  }

  /** VALIDATION_ERROR; CONFLICT for a name that is taken. */
  create(request: NewWebhook, now: number): Promise<FreshWebhook> {
    return this.#turns.take(async () => {
      this.#refuseTaken(request.organizationId, request.name, undefined);
      const id = randomUUID();
      const { mode = 'SHARED', auth = 'HMAC', provider } = request;
      const places = mode === 'SHARED' ? [null] : ENVIRONMENTS;
      checkSecrets(request, mode, auth);
      const secrets = places.map((place) => (auth === 'NONE' ? undefined : secretFor(request, place)));
      const endpoints = await Promise.all(
        places.map(async (environment, at) => ({
          environment,
          token: newToken(),
          secret: await this.#sealed(id, secrets[at]),
          previous: [],
        })),
      );
      const time = new Date(now).toISOString();
      const { organizationId, name } = request;
      const about = { id, organizationId, name, provider, mode, auth, ...detailsOf(request) };
      const record = { ...about, endpoints, createdAt: time, updatedAt: time };
      await this.#collections.put([webhookFact(record), ...endpoints.map(({ token }) => tokenFact(token, id))]);
      return { record, secrets };
    });
  }

  /** NOT_FOUND when it was removed meanwhile; CONFLICT for a name that is taken. */
  update(id: string, changes: WebhookChanges, now: number): Promise<WebhookRecord> {
    return this.#turns.take(async () => {
      const known = this.#known(id);
      if (changes.name !== undefined) this.#refuseTaken(known.organizationId, changes.name, id);
      const record = { ...known, ...changes, updatedAt: new Date(now).toISOString() };
      await this.#collections.put([webhookFact(record)]);
      return record;
    });
  }

  /**
   * New secrets; the old ones still hold for a while, so that the sender can be changed without losing a delivery: also the one
   * before the last, where the last was never entered. With no overlap none of them holds.
   */
  rotate(id: string, rotation: Rotation, now: number): Promise<FreshWebhook> {
    return this.#turns.take(async () => {
      const known = this.#known(id);
      const isMeant = ({ environment }: StoredEndpoint) =>
        rotation.environment === undefined || environment === rotation.environment;
      if (!known.endpoints.some(isMeant))
        throw invalid('environment', 'is for registrations with an endpoint for each environment');
      if (known.auth === 'NONE' && (rotation.secret !== undefined || !rotation.token))
        throw new Refusal('CONFLICT', `The webhook ${known.name} checks no signature, so it has no secret to change.`);
      if (rotation.secret !== undefined) checkSecret(known.provider, rotation.secret, 'secret');
      const secrets = known.endpoints.map((one) =>
        isMeant(one) && known.auth === 'HMAC' ? (rotation.secret ?? newSecret(known.provider)) : undefined,
      );
      const endpoints = await Promise.all(
        known.endpoints.map((one, at) => (isMeant(one) ? this.#rotated(known, one, secrets[at], rotation, now) : one)),
      );
      const record = { ...known, endpoints, updatedAt: new Date(now).toISOString() };
      await this.#collections.put([webhookFact(record), ...tokenChanges(known, record)]);
      return { record, secrets };
    });
  }

  /** With everything in the given collections, which belonged to it. */
  remove(id: string, ...owned: readonly string[]): Promise<void> {
    return this.#turns.take(async () => {
      const known = this.#known(id);
      const facts = owned.flatMap((collection) =>
        [...this.#collections.all(collection).keys()].map((key) => ({ collection, key, value: null })),
      );
      const tokens = known.endpoints.map(({ token }) => tokenFact(token, null));
      await this.#collections.put([{ collection: 'webhooks', key: id, value: null }, ...tokens, ...facts]);
    });
  }

  async #rotated(
    webhook: WebhookRecord,
    endpoint: StoredEndpoint,
    secret: string | undefined,
    { overlapMs, token }: Rotation,
    now: number,
  ): Promise<StoredEndpoint> {
    const until = new Date(now + overlapMs).toISOString();
    const own = secret === undefined || endpoint.secret === null ? [] : [{ secret: endpoint.secret, until }];
    const previous = overlapMs > 0 ? [...own, ...holding(endpoint.previous, now)] : [];
    return {
      environment: endpoint.environment,
      token: token ? newToken() : endpoint.token,
      secret: secret === undefined ? endpoint.secret : await this.#sealed(webhook.id, secret),
      previous: previous.filter((one) => this.#box.opens(one.secret, purposeOf(webhook.id))).slice(0, MOST_PREVIOUS),
    };
  }

  async #sealed(id: string, secret: string | undefined): Promise<string | null> {
    return secret === undefined ? null : this.#box.seal(secret, purposeOf(id));
  }

  #known(id: string): WebhookRecord {
    const known = this.get(id);
    if (known === undefined) throw new Refusal('NOT_FOUND', `There is no webhook with the id ${id}.`);
    return known;
  }

  #refuseTaken(organizationId: string, name: string, own: string | undefined): void {
    const other = this.list(organizationId).find((one) => one.name === name && one.id !== own);
    if (other !== undefined)
      throw new Refusal('CONFLICT', `There is a webhook called ${name} already: choose another name.`);
  }
}

/** Those whose time is not over. */
export const holding = (previous: readonly PreviousSecret[], now: number): readonly PreviousSecret[] =>
  previous.filter(({ until }) => Date.parse(until) > now);

const purposeOf = (id: string): string => `webhook/${id}`;
const webhookFact = (record: WebhookRecord): Fact => ({
  collection: 'webhooks',
  key: record.id,
  value: record as unknown as Json,
});
const tokenFact = (token: string, id: string | null): Fact => ({ collection: 'webhookTokens', key: token, value: id });

function tokenChanges(before: WebhookRecord, after: WebhookRecord): Fact[] {
  return after.endpoints.flatMap(({ token }, at) => {
    const old = before.endpoints[at]?.token ?? token;
    return old === token ? [] : [tokenFact(old, null), tokenFact(token, after.id)];
  });
}

/** 192 random bits: who has it may deliver. */
const newToken = (): string => randomBytes(24).toString('base64url');

const newSecret = (provider: Provider): string =>
  provider === 'STANDARD' ? `whsec_${randomBytes(32).toString('base64')}` : randomBytes(32).toString('hex');

function secretFor({ provider, secret, secrets }: NewWebhook, place: Environment | null): string {
  return (place === null ? secret : (secrets?.[place] ?? secret)) ?? newSecret(provider);
}

function detailsOf(request: NewWebhook): Details {
  return {
    algorithm: request.algorithm ?? 'sha256',
    signatureHeader: request.signatureHeader ?? null,
    signaturePrefix: request.signaturePrefix ?? null,
    encoding: request.encoding ?? 'hex',
    eventTypePath: request.eventTypePath ?? null,
    eventIdPath: request.eventIdPath ?? null,
  };
}

function checkSecrets({ provider, secret, secrets }: NewWebhook, mode: WebhookRecord['mode'], auth: string): void {
  const named = Object.entries(secrets ?? {});
  if (auth === 'NONE' && (secret !== undefined || named.length > 0))
    throw invalid('secret', 'is not for auth NONE, which checks no signature');
  if (mode === 'SHARED' && named.length > 0)
    throw invalid('secrets', 'are for mode PER_ENVIRONMENT; a SHARED webhook has one `secret`');
  if (secret !== undefined) checkSecret(provider, secret, 'secret');
  for (const [environment, one] of named) checkSecret(provider, one, `secrets.${environment}`);
}

/** An empty key would let everybody sign. */
function checkSecret(provider: Provider, secret: string, path: string): void {
  if (secret.trim() === '') throw invalid(path, 'must not be empty');
  if (provider === 'GITLAB' && (secret !== secret.trim() || /\p{Cc}/u.test(secret)))
    throw invalid(path, 'must be one line without blanks around it: GitLab sends it as a header');
  const key = secret.replace(/^whsec_/, '');
  if (provider === 'STANDARD' && (!/^[A-Za-z0-9+/]+={0,2}$/.test(key) || Buffer.from(key, 'base64').length < 8))
    throw invalid(path, 'must be base64 of at least 8 bytes, with or without whsec_ in front');
}

import { createRemoteJWKSet, type JWTVerifyGetKey } from 'jose';
import { allowInsecureRequests, type Configuration, discovery } from 'openid-client';
import { Refusal } from '../refusal.ts';
import { isTrustworthy, type OidcSettings } from './oidc-settings.ts';

/** An identity provider as it describes itself. */
export interface Provider {
  readonly configuration: Configuration;
  /** Its keys; fetched when a token needs them, and again when one names a key that is not among them. */
  readonly keys: JWTVerifyGetKey;
}

export interface IssuerOptions {
  readonly settings: OidcSettings;
  readonly log: { warn(fields: object, message: string): void };
  /** How long after fetching the keys an unknown one does not make us fetch them again. */
  readonly keysCooldownMs?: number;
}

const TIMEOUT_S = 5;
/** After a failure nobody asks again for so long: each request with a token would. */
const PAUSE_MS = 2000;
const KEYS_COOLDOWN_MS = 10_000;
const KEYS_MAX_AGE_MS = 600_000;

/** The identity provider, looked up when it is first needed, so that a daemon starts without it. */
export class Issuer {
  readonly #options: IssuerOptions;
  #found: Promise<Provider> | undefined;

  constructor(options: IssuerOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.settings.issuer;
  }

  /** ISSUER_UNAVAILABLE while it can't be found; it is looked for again later. */
  provider(): Promise<Provider> {
    this.#found ??= this.#find();
    return this.#found;
  }

  async #find(): Promise<Provider> {
    const { log, keysCooldownMs = KEYS_COOLDOWN_MS } = this.#options;
    try {
      const configuration = await this.#discovered();
      const keys = createRemoteJWKSet(keysAddress(configuration), {
        timeoutDuration: TIMEOUT_S * 1000,
        cooldownDuration: keysCooldownMs,
        cacheMaxAge: KEYS_MAX_AGE_MS,
      });
      return { configuration, keys };
    } catch (error) {
      setTimeout(() => {
        this.#found = undefined;
      }, PAUSE_MS).unref();
      log.warn({ err: error, issuer: this.name }, 'the identity provider cannot be used');
      throw unavailable(this.name);
    }
  }

  #discovered(): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = this.#options.settings;
    const local = issuer.startsWith('http:') ? [allowInsecureRequests] : [];
    return discovery(new URL(issuer), clientId, clientSecret, undefined, { execute: local, timeout: TIMEOUT_S });
  }
}

function keysAddress(configuration: Configuration): URL {
  const { jwks_uri } = configuration.serverMetadata();
  if (jwks_uri === undefined || !isTrustworthy(new URL(jwks_uri)))
    throw new Error(`the identity provider offers its keys at ${jwks_uri ?? 'no address'}, not over https`);
  return new URL(jwks_uri);
}

export const unavailable = (issuer: string): Refusal =>
  new Refusal(
    'ISSUER_UNAVAILABLE',
    `Nobody can be signed in now: the identity provider ${issuer} does not answer as it should. API keys work meanwhile.`,
    { retryAfter: PAUSE_MS / 1000 },
  );

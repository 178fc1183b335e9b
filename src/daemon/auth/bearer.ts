import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import { Refusal } from '../refusal.ts';
import type { OrganizationStore } from '../store/organizations.ts';
import { type Caller, unauthorized } from './caller.ts';
import { callerFrom } from './claims.ts';
import { type Issuer, unavailable } from './issuer.ts';
import type { OidcSettings } from './oidc-settings.ts';

/** Signatures that only the provider can make. With `none` anybody could, with HS256 whoever knows its public key. */
const ALGORITHMS = ['RS', 'PS', 'ES'].flatMap((family) => [256, 384, 512].map((bits) => `${family}${bits}`));
const EDWARDS = ['EdDSA', 'Ed25519'];
/** Other tokens of the same provider, such as those that tell of a sign-out, have types of their own. */
const TYPES = /^(JWT|at\+jwt|application\/at\+jwt)$/i;
const CLOCK_SKEW_S = 30;

export interface BearerOptions {
  readonly issuer: Issuer;
  readonly settings: OidcSettings;
  readonly organizations: OrganizationStore;
  readonly log: { info(fields: object, message: string): void };
}

/** Bearer tokens (interface, Bearer JWT): a JWT that the configured issuer signed for this daemon, valid now. */
export class BearerTokens {
  readonly #options: BearerOptions;

  constructor(options: BearerOptions) {
    this.#options = options;
  }

  /**
   * The caller of an `Authorization` header. UNAUTHORIZED whatever is wrong with it (the log says what), FORBIDDEN when the
   * account has no organization here, ISSUER_UNAVAILABLE while the issuer's keys can't be had.
   */
  async caller(authorization: string): Promise<Caller> {
    return this.verified(tokenOf(authorization));
  }

  /** The same of the token alone. */
  async verified(token: string): Promise<Caller> {
    const { settings, organizations } = this.#options;
    return callerFrom(await this.#claims(token), settings, organizations);
  }

  async #claims(token: string): Promise<JWTPayload> {
    const { issuer, log } = this.#options;
    if (issuerIn(token) !== issuer.name) throw this.#refused('it names another issuer, or is no JWT');
    const { keys, configuration } = await issuer.provider();
    try {
      const { payload, protectedHeader } = await jwtVerify(
        token,
        keys,
        this.#rules(configuration.serverMetadata().issuer),
      );
      if (protectedHeader.typ !== undefined && !TYPES.test(protectedHeader.typ))
        throw this.#refused('it is another kind of token');
      return payload;
    } catch (error) {
      if (error instanceof Refusal) throw error;
      if (isOfToken(error)) throw this.#refused((error as Error).message);
      log.info({ err: error, issuer: issuer.name }, 'the keys of the identity provider cannot be had');
      throw unavailable(issuer.name);
    }
  }

  #rules(issuer: string) {
    const { audience, clientId, clockSkew = CLOCK_SKEW_S } = this.#options.settings;
    return {
      issuer,
      audience: audience ?? clientId,
      algorithms: [...ALGORITHMS, ...EDWARDS],
      clockTolerance: clockSkew,
      requiredClaims: ['sub', 'exp'],
    };
  }

  #refused(reason: string): Refusal {
    this.#options.log.info({ reason }, 'a bearer token was refused');
    return unauthorized();
  }
}

function tokenOf(authorization: string): string {
  const [, token] = /^Bearer +([\w~+/.-]+=*) *$/i.exec(authorization) ?? [];
  if (token === undefined) throw unauthorized();
  return token;
}

/** Who a token says made it, before anybody is asked: nobody makes us call the provider with a token of somebody else. */
function issuerIn(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

/** The token is wrong, as opposed to the way to the keys. */
function isOfToken(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return false;
  return !(
    error instanceof errors.JWKSTimeout ||
    error instanceof errors.JWKSInvalid ||
    error.code === 'ERR_JOSE_GENERIC'
  );
}

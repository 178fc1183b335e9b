import { randomBytes } from 'node:crypto';
import { EncryptJWT, jwtDecrypt } from 'jose';
import {
  AuthorizationResponseError,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientError,
  calculatePKCECodeChallenge,
  ResponseBodyError,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import { invalid, Refusal } from '../refusal.ts';
import type { BearerTokens } from './bearer.ts';
import type { Caller } from './caller.ts';
import { type Issuer, unavailable } from './issuer.ts';
import type { OidcSettings } from './oidc-settings.ts';

export interface SignInOptions {
  readonly issuer: Issuer;
  readonly settings: OidcSettings;
  readonly bearer: BearerTokens;
  /** Origins of pages that a token may be handed to. */
  readonly allowedOrigins: readonly string[];
  readonly log: { info(fields: object, message: string): void };
}

/** What the browser carries from the beginning of a sign-in to its end, where only we can read it. */
interface Attempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly callback: string;
  readonly returnTo?: string;
}

export interface SignedIn {
  readonly caller: Caller;
  readonly token: string;
  /** Seconds. */
  readonly expiresIn: number;
  /** The page that asked for the token. */
  readonly returnTo: string | undefined;
}

export const SCOPES: readonly string[] = ['openid', 'profile', 'email'];
/** How long a person may take. */
export const ATTEMPT_S = 600;

/**
 * Signing in with a browser (decisions §3): authorization code with PKCE, state and nonce. Nothing of an attempt is kept here;
 * its cookie is encrypted with a key that lives as long as the daemon.
 */
export class SignIn {
  readonly #options: SignInOptions;
  readonly #key = randomBytes(32);

  constructor(options: SignInOptions) {
    this.#options = options;
  }

  /** Where to send the browser, and the cookie that it brings back. `callback` is our address that the provider sends it to. */
  async begin(callback: string, returnTo: string | undefined): Promise<{ address: string; cookie: string }> {
    const { issuer, settings, allowedOrigins } = this.#options;
    if (returnTo !== undefined && !isPageOf(allowedOrigins, returnTo))
      throw invalid('returnTo', 'must be the address of a page whose origin is among allowedOrigins');
    const { configuration } = await issuer.provider();
    const attempt = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier(), callback };
    const address = buildAuthorizationUrl(configuration, {
      ...settings.parameters,
      redirect_uri: callback,
      scope: (settings.scopes ?? SCOPES).join(' '),
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: await calculatePKCECodeChallenge(attempt.verifier),
      code_challenge_method: 'S256',
    });
    return { address: address.href, cookie: await this.#sealed({ ...attempt, ...(returnTo && { returnTo }) }) };
  }

  /**
   * Ends a sign-in with the query that the provider sent. UNAUTHORIZED when it was not begun in this browser, or the provider
   * says no; FORBIDDEN when the account has no organization here.
   */
  async finish(query: string, cookie: string | undefined): Promise<SignedIn> {
    const { bearer, settings } = this.#options;
    const attempt = await this.#opened(cookie);
    const tokens = await this.#exchanged(attempt, query);
    const token = settings.token === 'id' ? tokens.id_token : tokens.access_token;
    if (token === undefined) throw failed('the provider gave no ID token');
    const caller = await this.#known(bearer, token);
    return {
      caller,
      token,
      expiresIn: Math.max(0, Math.floor((caller.validUntil - Date.now()) / 1000)),
      returnTo: attempt.returnTo,
    };
  }

  async #known(bearer: BearerTokens, token: string) {
    try {
      return await bearer.verified(token);
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'UNAUTHORIZED') throw error;
      throw failed(
        'the provider’s token is not meant for this daemon; who runs it finds the reason in its log, and docs/authentication.md helps',
      );
    }
  }

  async #exchanged(attempt: Attempt, query: string) {
    const { issuer, settings, log } = this.#options;
    const { configuration } = await issuer.provider();
    try {
      const checks = {
        pkceCodeVerifier: attempt.verifier,
        expectedState: attempt.state,
        expectedNonce: attempt.nonce,
        idTokenExpected: true,
      };
      const { resource } = settings.parameters ?? {};
      const address = new URL(`${attempt.callback}${query}`);
      return await authorizationCodeGrant(configuration, address, checks, resource === undefined ? {} : { resource });
    } catch (error) {
      log.info({ err: error }, 'a sign-in failed');
      if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError)
        throw failed(`the provider says ${error.error_description ?? error.error}`);
      if (error instanceof ClientError) throw failed('the provider’s answer does not belong to it');
      throw unavailable(issuer.name);
    }
  }

  #sealed(attempt: Attempt): Promise<string> {
    const token = new EncryptJWT({ ...attempt }).setExpirationTime(`${ATTEMPT_S}s`);
    return token.setProtectedHeader({ alg: 'dir', enc: 'A256GCM' }).encrypt(this.#key);
  }

  async #opened(cookie: string | undefined): Promise<Attempt> {
    try {
      const { payload } = await jwtDecrypt<Attempt>(cookie ?? '', this.#key);
      return payload;
    } catch {
      throw failed(`it was not begun in this browser, or more than ${ATTEMPT_S / 60} minutes ago`);
    }
  }
}

/** Not every address with the origin of a page is one: a `blob:` has that of who made it. */
const isPageOf = (origins: readonly string[], address: string): boolean =>
  URL.canParse(address) && /^https?:/i.test(address) && origins.includes(new URL(address).origin);

const failed = (why: string): Refusal => new Refusal('UNAUTHORIZED', `Signing in did not work: ${why}.`);

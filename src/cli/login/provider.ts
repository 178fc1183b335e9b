import {
  allowInsecureRequests,
  ClientError,
  type Configuration,
  discovery,
  None,
  ResponseBodyError,
  type TokenEndpointResponse,
  type TokenEndpointResponseHelpers,
} from 'openid-client';
import type { SignInSettings } from '../../contract/types.ts';
import { CliError, EXIT } from '../exit.ts';
import type { Tokens } from './logins.ts';

const TIMEOUT_S = 10;
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

/** The identity provider, as it describes itself. */
export async function providerOf({ issuer, clientId, clientSecret }: SignInSettings): Promise<Configuration> {
  const url = new URL(issuer);
  const local = url.protocol === 'http:' && LOOPBACK.includes(url.hostname) ? [allowInsecureRequests] : [];
  const authentication = clientSecret === undefined ? None() : undefined;
  try {
    return await discovery(url, clientId, clientSecret, authentication, { execute: local, timeout: TIMEOUT_S });
  } catch (error) {
    throw failureAt(issuer, error);
  }
}

/** What is asked for: with a token to renew the other, where the provider has such. */
export function askedOf({ scopes, parameters }: SignInSettings, provider: Configuration): Record<string, string> {
  const renewable = provider.serverMetadata().scopes_supported?.includes('offline_access') === true;
  const all = new Set([...scopes, ...(renewable ? ['offline_access'] : [])]);
  // OpenID Connect Core 11: lasting access is given only to who was asked for consent.
  return { ...(renewable && { prompt: 'consent' }), ...parameters, scope: [...all].join(' ') };
}

/** `before`: the token that renews, which many providers give once only. */
export function tokensOf(
  { token: kind, issuer }: SignInSettings,
  answer: TokenEndpointResponse & TokenEndpointResponseHelpers,
  before?: string,
): Tokens {
  const token = kind === 'id' ? answer.id_token : answer.access_token;
  const seconds = kind === 'id' ? lifeOf(answer.claims()?.exp) : (answer.expires_in ?? DEFAULT_LIFE_S);
  if (token === undefined) throw new CliError(EXIT.notAllowed, `The identity provider ${issuer} gave no ID token.`);
  return { token, expiresAt: Date.now() + seconds * 1000, refreshToken: answer.refresh_token ?? before };
}

/** Where the provider does not say it; a token that ended earlier is refused by the daemon. */
const DEFAULT_LIFE_S = 300;
const lifeOf = (expiry: number | undefined): number =>
  expiry === undefined ? DEFAULT_LIFE_S : expiry - Date.now() / 1000;

/** What went wrong at the provider, in words. */
export function failureAt(issuer: string, error: unknown): Error {
  if (error instanceof CliError) return error;
  if (error instanceof ResponseBodyError)
    return new CliError(
      EXIT.notAllowed,
      `The identity provider ${issuer} says no: ${error.error_description ?? error.error}.`,
      'sign in again: wfx login',
    );
  const { message, cause, name } = error as Error & { cause?: { message?: string } };
  if (error instanceof ClientError || error instanceof TypeError || name === 'TimeoutError')
    return new CliError(
      EXIT.unreachable,
      `The identity provider ${issuer} does not answer as it should: ${cause?.message ?? message}.`,
      'try again later; wfx works with an API key meanwhile (WFX_API_KEY)',
    );
  return error as Error;
}

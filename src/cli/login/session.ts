import { join } from 'node:path';
import { CliError, EXIT } from '../exit.ts';
import { withLock } from './lock.ts';
import { type Login, type Place, readTokens, saveTokens, type Tokens } from './logins.ts';

/** Renewed so long before it ends that no request is under way with a token that ended. */
const MARGIN_MS = 60_000;
/** What another process renewed is good for at least so long. */
const ENOUGH_MS = 5000;

/** Who signed in: their token, renewed before it ends, once for all processes that need it. */
export class Session {
  readonly #place: Place;
  readonly #login: Login;
  #tokens: Tokens | undefined;
  #renewing: Promise<Tokens> | undefined;

  constructor(place: Place, login: Login) {
    this.#place = place;
    this.#login = login;
  }

  /** A token that is valid now. CliError when the sign-in has ended, or can't be renewed now. */
  async token(): Promise<string> {
    this.#tokens ??= await readTokens(this.#place);
    if (this.#tokens === undefined) throw this.#ended();
    if (!lasts(this.#tokens, MARGIN_MS)) {
      this.#renewing ??= this.#renewed(this.#tokens).finally(() => {
        this.#renewing = undefined;
      });
      this.#tokens = await this.#renewing;
    }
    return this.#tokens.token;
  }

  #renewed(known: Tokens): Promise<Tokens> {
    return withLock(join(this.#place.folder, 'login.lock'), async () => {
      const kept = (await readTokens(this.#place)) ?? known;
      if (kept.token !== known.token && lasts(kept, ENOUGH_MS)) return kept;
      try {
        return await this.#asked(kept);
      } catch (error) {
        // While the provider can't be asked, the token serves to its end.
        if (error instanceof CliError && error.exit === EXIT.unreachable && lasts(kept, ENOUGH_MS)) return kept;
        throw error;
      }
    });
  }

  async #asked({ refreshToken }: Tokens): Promise<Tokens> {
    if (refreshToken === undefined) throw this.#ended();
    const { provider: settings } = this.#login;
    const { refreshTokenGrant, ResponseBodyError } = await import('openid-client');
    const { failureAt, providerOf, tokensOf } = await import('./provider.ts');
    const provider = await providerOf(settings);
    try {
      const tokens = tokensOf(
        settings,
        await refreshTokenGrant(provider, refreshToken, settings.parameters),
        refreshToken,
      );
      await saveTokens(this.#place, tokens);
      return tokens;
    } catch (error) {
      throw error instanceof ResponseBodyError ? this.#ended() : failureAt(settings.issuer, error);
    }
  }

  #ended(): CliError {
    const { issuer } = this.#login.provider;
    return new CliError(EXIT.notAllowed, `Your sign-in by ${issuer} has ended.`, 'sign in again: wfx login');
  }
}

const lasts = ({ expiresAt }: Tokens, ms: number): boolean => expiresAt - Date.now() > ms;

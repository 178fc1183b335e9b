import type { SignInSettings } from '../../contract/types.ts';
import type { OrganizationStore } from '../store/organizations.ts';
import { BearerTokens } from './bearer.ts';
import { Issuer } from './issuer.ts';
import type { OidcSettings } from './oidc-settings.ts';
import { SCOPES, SignIn } from './sign-in.ts';

export interface OidcOptions {
  readonly settings: OidcSettings;
  readonly organizations: OrganizationStore;
  readonly allowedOrigins: readonly string[];
  readonly log: Record<'info' | 'warn', (fields: object, message: string) => void>;
  readonly keysCooldownMs?: number;
}

/** Signing in by an identity provider. */
export interface Oidc {
  readonly bearer: BearerTokens;
  readonly signIn: SignIn;
  /** What a program needs to sign a person in by itself. */
  readonly shown: SignInSettings;
  /** Where browsers find the daemon, where the settings say it. */
  readonly publicUrl: string | undefined;
}

/** Asks nobody yet: the issuer is looked up when the first token comes. */
export function openOidc(options: OidcOptions): Oidc {
  const { settings } = options;
  const issuer = new Issuer(options);
  const bearer = new BearerTokens({ ...options, issuer });
  const signIn = new SignIn({ ...options, issuer, bearer });
  return { bearer, signIn, shown: shownOf(settings), publicUrl: settings.publicUrl?.replace(/\/+$/, '') };
}

/** The client secret stays here; that of the command line is one that every installed program has, and no secret. */
const shownOf = ({ issuer, clientId, scopes, parameters = {}, token = 'access', cli }: OidcSettings) => ({
  issuer,
  clientId: cli?.clientId ?? clientId,
  ...(cli?.clientSecret !== undefined && { clientSecret: cli.clientSecret }),
  scopes: [...(scopes ?? SCOPES)],
  parameters,
  token,
});

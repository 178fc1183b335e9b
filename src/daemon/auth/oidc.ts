import type { OrganizationStore } from '../store/organizations.ts';
import { BearerTokens } from './bearer.ts';
import { Issuer } from './issuer.ts';
import type { OidcSettings } from './oidc-settings.ts';

export interface OidcOptions {
  readonly settings: OidcSettings;
  readonly organizations: OrganizationStore;
  readonly log: Record<'info' | 'warn', (fields: object, message: string) => void>;
  readonly keysCooldownMs?: number;
}

/** Signing in by an identity provider. */
export interface Oidc {
  readonly bearer: BearerTokens;
}

/** Asks nobody yet: the issuer is looked up when the first token comes. */
export function openOidc(options: OidcOptions): Oidc {
  const issuer = new Issuer(options);
  return { bearer: new BearerTokens({ ...options, issuer }) };
}

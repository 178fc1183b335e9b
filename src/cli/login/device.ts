import { type Configuration, initiateDeviceAuthorization, pollDeviceAuthorizationGrant } from 'openid-client';
import type { SignInSettings } from '../../contract/types.ts';
import { usage } from '../exit.ts';
import type { Tokens } from './logins.ts';
import { askedOf, failureAt, tokensOf } from './provider.ts';

/** What a person needs to sign in with another device. */
export interface DeviceCode {
  readonly address: string;
  readonly code: string;
}

/** Signs in with a browser anywhere, by a code that is entered there (RFC 8628). */
export async function byDevice(
  settings: SignInSettings,
  provider: Configuration,
  tell: (code: DeviceCode) => void,
): Promise<Tokens> {
  if (provider.serverMetadata().device_authorization_endpoint === undefined)
    throw usage(
      `The identity provider ${settings.issuer} knows no sign-in by device code.`,
      'sign in with a browser on this machine: wfx login',
    );
  try {
    const begun = await initiateDeviceAuthorization(provider, askedOf(settings, provider));
    tell({ address: begun.verification_uri_complete ?? begun.verification_uri, code: begun.user_code });
    return tokensOf(settings, await pollDeviceAuthorizationGrant(provider, begun));
  } catch (error) {
    throw failureAt(settings.issuer, error);
  }
}

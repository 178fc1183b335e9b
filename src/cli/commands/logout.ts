import type { Command } from 'commander';
import { examples } from '../help.ts';
import { forgetLogin, type Login, placeOf, readLogin, readTokens, type Tokens } from '../login/logins.ts';
import type { Wfx } from '../wfx.ts';

export function add(command: Command, wfx: Wfx): void {
  command
    .description('Forget the sign-in at the daemon that commands talk to, and tell the identity provider.')
    .addHelpText('after', examples(['wfx logout', 'commands send the API key again, where there is one']))
    .action(() => logout(wfx));
}

async function logout(wfx: Wfx): Promise<void> {
  const place = placeOf(wfx.settings);
  const login = readLogin(place);
  const tokens = login && (await readTokens(place));
  await forgetLogin(place);
  const revoked = login !== undefined && tokens !== undefined && (await isRevoked(login, tokens));
  if (wfx.json) return wfx.io.json({ signedOut: login !== undefined, revoked });
  if (login === undefined) return wfx.io.note('Nobody was signed in.');
  wfx.io.note(
    `Signed out.${revoked ? '' : ` ${login.provider.issuer} was not told: a copy of the token would stay valid.`}`,
  );
}

/** The provider was told that the token which renews is done with. */
async function isRevoked({ provider: settings }: Login, { refreshToken }: Tokens): Promise<boolean> {
  if (refreshToken === undefined) return false;
  try {
    const { tokenRevocation } = await import('openid-client');
    const { providerOf } = await import('../login/provider.ts');
    await tokenRevocation(await providerOf(settings), refreshToken);
    return true;
  } catch {
    return false;
  }
}

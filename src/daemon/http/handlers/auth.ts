import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Oidc } from '../../auth/oidc.ts';
import { ATTEMPT_S, type SignedIn } from '../../auth/sign-in.ts';
import { Refusal } from '../../refusal.ts';
import { answerFor } from '../errors.ts';
import type { Handlers, Services } from '../handler.ts';
import { failurePage, PAGE_HEADERS, signedInPage } from '../sign-in-page.ts';

const COOKIE = 'wfx_sign_in';

export function authHandlers({ oidc }: Services): Handlers<'whoami' | 'signIn' | 'signInCallback' | 'signInSettings'> {
  return {
    whoami: ({ caller }) => ({
      keyId: caller.keyId ?? null,
      userId: caller.userId ?? null,
      name: caller.name,
      organizationId: caller.organizationId ?? null,
      roles: caller.roles,
      permissions: [...caller.permissions],
    }),

    async signIn({ query, request, reply }) {
      const { signIn, publicUrl } = known(oidc);
      const base = publicUrl ?? `${request.protocol}://${request.headers.host}`;
      const { address, cookie } = await signIn.begin(`${base}/auth/callback`, query.returnTo);
      setCookie(reply, cookie, ATTEMPT_S, base.startsWith('https:'));
      return address;
    },

    async signInCallback({ request, reply }) {
      const { signIn } = known(oidc);
      setCookie(reply, '', 0, false);
      void reply.headers(PAGE_HEADERS);
      try {
        const { search } = new URL(request.url, 'http://local');
        return handedOver(reply, await signIn.finish(search, cookieOf(request)));
      } catch (error) {
        const { status, body } = answerFor(error);
        void reply.code(status);
        return failurePage(body.message);
      }
    },

    signInSettings: () => known(oidc).shown,
  };
}

function known(oidc: Oidc | undefined): Oidc {
  if (oidc !== undefined) return oidc;
  throw new Refusal('NOT_FOUND', 'Nobody signs in at this daemon: it takes API keys. Its setting oidc changes that.');
}

/** The token goes to the page that asked for it, in the part of the address that no server sees, or is shown. */
function handedOver(reply: FastifyReply, signedIn: SignedIn): string {
  const { returnTo, token, expiresIn } = signedIn;
  if (returnTo === undefined) return signedInPage(signedIn);
  const target = new URL(returnTo);
  target.hash = new URLSearchParams({
    access_token: token,
    token_type: 'Bearer',
    expires_in: String(expiresIn),
  }).toString();
  void reply.code(302).header('Location', target.href);
  return '';
}

/** Lax: the browser sends it when the provider, another site, sends the browser here. */
function setCookie(reply: FastifyReply, value: string, maxAge: number, secure: boolean): void {
  const parts = [`${COOKIE}=${value}`, 'Path=/', `Max-Age=${maxAge}`, 'HttpOnly', 'SameSite=Lax'];
  void reply.header('Set-Cookie', [...parts, ...(secure ? ['Secure'] : [])].join('; '));
}

const cookieOf = ({ headers }: FastifyRequest): string | undefined =>
  new RegExp(`(?:^|;\\s*)${COOKIE}=([^;\\s]+)`).exec(headers.cookie ?? '')?.[1];

import { Whoami } from '../schemas/admin.ts';
import { CallbackQuery, SignInQuery, SignInSettings } from '../schemas/auth.ts';
import type { RouteSpec } from './route.ts';

export const authRoutes = {
  whoami: {
    summary: 'The key that the request was made with, or the person.',
    permission: 'key',
    scope: 'any',
    answer: { kind: 'json', status: 200, schema: Whoami },
    errors: [],
  },
  signIn: {
    summary: 'Sends a browser to the OpenID provider: authorization code with PKCE.',
    permission: 'none',
    scope: 'any',
    query: SignInQuery,
    answer: { kind: 'redirect', status: 302 },
    errors: ['NOT_FOUND', 'ISSUER_UNAVAILABLE'],
  },
  signInCallback: {
    summary: 'Where the OpenID provider sends the browser back to: a page with the bearer token.',
    permission: 'none',
    scope: 'any',
    query: CallbackQuery,
    answer: { kind: 'text', status: 200, contentType: 'text/html; charset=utf-8' },
    errors: ['NOT_FOUND', 'UNAUTHORIZED', 'FORBIDDEN', 'ISSUER_UNAVAILABLE'],
  },
  signInSettings: {
    summary: 'What a program needs to sign a person in by itself.',
    permission: 'none',
    scope: 'any',
    answer: { kind: 'json', status: 200, schema: SignInSettings },
    errors: ['NOT_FOUND'],
  },
} as const satisfies Record<string, RouteSpec>;

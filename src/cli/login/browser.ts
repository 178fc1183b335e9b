import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type Configuration,
  calculatePKCECodeChallenge,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import type { SignInSettings } from '../../contract/types.ts';
import { CliError, EXIT, usage } from '../exit.ts';
import type { Tokens } from './logins.ts';
import { askedOf, failureAt, tokensOf } from './provider.ts';

const PATIENCE_MS = 600_000;

export interface BrowserOptions {
  /** Of this machine, for the provider to send the browser to; 0: a free one. */
  readonly port: number;
  /** Is told where to go. */
  readonly visit: (address: string) => void;
}

/** Signs in with a browser on this machine: the provider sends it back to a port that listens for that moment (RFC 8252). */
export async function byBrowser(
  settings: SignInSettings,
  provider: Configuration,
  options: BrowserOptions,
): Promise<Tokens> {
  const server = createServer();
  await listening(server, options.port);
  const redirect = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
  const attempt = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
  const challenge = await calculatePKCECodeChallenge(attempt.verifier);
  const address = buildAuthorizationUrl(provider, {
    ...askedOf(settings, provider),
    redirect_uri: redirect,
    state: attempt.state,
    nonce: attempt.nonce,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  try {
    const back = sentBack(server, redirect, attempt.state);
    options.visit(address.href);
    const { url, response } = await back;
    const said = await exchanged(settings, provider, url, attempt).catch((error: unknown) =>
      failureOf(settings, error),
    );
    await told(response, said instanceof Error ? `Not signed in. ${said.message}` : 'Signed in.');
    if (said instanceof Error) throw said;
    return said;
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

async function listening(server: ReturnType<typeof createServer>, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    throw usage(`Port ${port} can't be used: ${(error as Error).message}.`, 'choose another with --port');
  }
}

interface Back {
  readonly url: URL;
  readonly response: ServerResponse;
}

/** The first request that belongs to the attempt; whatever else comes to the port is turned away. */
function sentBack(server: ReturnType<typeof createServer>, redirect: string, state: string): Promise<Back> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new CliError(EXIT.notAllowed, 'Nobody signed in within ten minutes.', 'begin again: wfx login')),
      PATIENCE_MS,
    );
    server.on('request', (request, response) => {
      const url = new URL(request.url ?? '/', redirect);
      if (request.method !== 'GET' || url.pathname !== '/callback' || url.searchParams.get('state') !== state) {
        response.writeHead(404, { 'Content-Type': 'text/plain' }).end('This is not what wfx login waits for.\n');
        return;
      }
      clearTimeout(timer);
      resolve({ url, response });
    });
  });
}

async function exchanged(
  settings: SignInSettings,
  provider: Configuration,
  url: URL,
  { state, nonce, verifier }: { readonly state: string; readonly nonce: string; readonly verifier: string },
): Promise<Tokens> {
  const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
  const { resource } = settings.parameters;
  const answer = await authorizationCodeGrant(provider, url, checks, resource === undefined ? {} : { resource });
  return tokensOf(settings, answer);
}

/** The provider's no comes as a query too, which is no answer to a request of ours. */
function failureOf({ issuer }: SignInSettings, error: unknown): Error {
  const {
    name,
    error: code,
    error_description: why,
  } = error as { name?: string; error?: string; error_description?: string };
  if (name !== 'AuthorizationResponseError') return failureAt(issuer, error);
  return new CliError(
    EXIT.notAllowed,
    `The identity provider ${issuer} says no: ${why ?? code}.`,
    'try again: wfx login',
  );
}

async function told(response: ServerResponse, text: string): Promise<void> {
  response.writeHead(200, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  });
  response.end(`${text}\nYou can close this window and go back to the terminal.\n`);
  await once(response, 'close');
}

import { Buffer } from 'node:buffer';
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

export const PROVIDERS = ['GITHUB', 'STRIPE', 'GITLAB', 'SLACK', 'SHOPIFY', 'STANDARD', 'CUSTOM'] as const;
export type Provider = (typeof PROVIDERS)[number];
export type Algorithm = 'sha1' | 'sha256' | 'sha384' | 'sha512';

/** How a sender signs. Everything but the provider matters to CUSTOM alone. */
export interface Scheme {
  readonly provider: Provider;
  readonly algorithm?: Algorithm;
  /** Default `X-Signature`. */
  readonly signatureHeader?: string;
  /** What stands before the digest. Default: `<algorithm>=`, or nothing. */
  readonly signaturePrefix?: string;
  readonly encoding?: 'hex' | 'base64';
}

/** Headers by their lower-case names. */
export type Headers = Readonly<Record<string, string | undefined>>;

/** What a sender is and sends; `id` and `at` are part of some signatures. */
export interface Signable {
  readonly body: Buffer;
  readonly id: string;
  /** Milliseconds. */
  readonly at: number;
}

export type SignatureFault = {
  readonly verdict: 'BAD_SIGNATURE' | 'STALE';
  /** For the operator; holds neither secret nor expected digest. */
  readonly reason: string;
};

/** Seconds that a signed timestamp may lie before or after our clock (decisions §6). */
const TOLERANCE_SECONDS = 300;

/** What one request says, taken apart: its signatures, and what was signed. */
interface Signed {
  readonly given: readonly string[];
  /** Of one secret; undefined when the secret cannot sign anything. */
  readonly expected: (secret: string) => string | undefined;
  /** Whole seconds, where the scheme signs a time. */
  readonly timestamp?: number;
}

/**
 * Checks a request's signature over the raw bytes of its body; undefined when it holds. Any of `secrets` may have made it, so
 * that an old one can live on for a while beside its successor. An empty secret never holds, whatever was signed with it. The time
 * taken does not tell how much of a signature was right.
 *
 * The packages of the providers themselves take text instead of bytes, or read the clock themselves, so this is made with
 * node:crypto; the tests hold it against them. Stricter than some of them: a timestamp is digits alone and comes once, and one
 * that lies too far in the future is stale too.
 */
export function signatureFault(
  scheme: Scheme,
  secrets: readonly string[],
  headers: Headers,
  body: Buffer,
  now: number,
  toleranceSeconds = TOLERANCE_SECONDS,
): SignatureFault | undefined {
  const signed = READERS[scheme.provider](scheme, headers, body);
  if (typeof signed === 'string') return { verdict: 'BAD_SIGNATURE', reason: signed };
  if (!isSignedByAny(signed, secrets))
    return { verdict: 'BAD_SIGNATURE', reason: 'the signature does not fit the body and any valid secret' };
  return timeFault(signed.timestamp, now, toleranceSeconds);
}

/** Every secret and every signature is looked at, whatever was found before. */
function isSignedByAny({ given, expected }: Signed, secrets: readonly string[]): boolean {
  let found = false;
  for (const secret of secrets) {
    const right = secret === '' ? undefined : expected(secret);
    if (right === undefined) continue;
    for (const one of given) found = isEqual(one, right) || found;
  }
  return found;
}

/** Compares digests of both, so that neither content nor length shows in the time taken. */
function isEqual(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text, 'utf8').digest();
  return timingSafeEqual(digest(one), digest(other));
}

function timeFault(timestamp: number | undefined, now: number, tolerance: number): SignatureFault | undefined {
  if (timestamp === undefined || tolerance === 0) return undefined;
  const age = Math.floor(now / 1000) - timestamp;
  if (Math.abs(age) <= tolerance) return undefined;
  const when = age > 0 ? `${age} s old` : `${-age} s in the future`;
  return { verdict: 'STALE', reason: `the signed timestamp is ${when}; ${tolerance} s are allowed` };
}

type Reader = (scheme: Scheme, headers: Headers, body: Buffer) => Signed | string;

const missing = (header: string): string => `there is no ${header} header`;
const malformed = (header: string): string => `the ${header} header is malformed`;

const READERS: Readonly<Record<Provider, Reader>> = {
  GITHUB: (_, headers, body) =>
    digestIn(headers, 'X-Hub-Signature-256', (secret) => `sha256=${hmac('sha256', secret, body).toString('hex')}`),
  SHOPIFY: (_, headers, body) =>
    digestIn(headers, 'X-Shopify-Hmac-Sha256', (secret) => hmac('sha256', secret, body).toString('base64')),
  GITLAB: readGitLab,
  STRIPE: readStripe,
  SLACK: readSlack,
  STANDARD: readStandard,
  CUSTOM: readCustom,
};

function digestIn(headers: Headers, header: string, expected: Signed['expected']): Signed | string {
  const given = headers[header.toLowerCase()] ?? '';
  return given === '' ? missing(header) : { given: [given], expected };
}

/** The secret itself. It comes as UTF-8, which node reads byte by byte, as Latin-1. */
function readGitLab(_: Scheme, headers: Headers): Signed | string {
  const token = headers['x-gitlab-token'] ?? '';
  if (token === '') return missing('X-Gitlab-Token');
  return { given: [token, Buffer.from(token, 'latin1').toString('utf8')], expected: (secret) => secret };
}

/** `t=1492774577,v1=<hex>,v1=<hex>`: several signatures while a secret is being rotated. */
function readStripe(_: Scheme, headers: Headers, body: Buffer): Signed | string {
  const header = headers['stripe-signature'] ?? '';
  if (header === '') return missing('Stripe-Signature');
  const parts = header.split(',').map((part) => part.split('=', 2) as [string, string | undefined]);
  const valuesOf = (name: string) => parts.flatMap(([key, value]) => (key === name ? [value ?? ''] : []));
  const [time, ...more] = valuesOf('t');
  const timestamp = secondsIn(time);
  if (timestamp === undefined || more.length > 0) return malformed('Stripe-Signature');
  const expected = (secret: string) => hmac('sha256', secret, `${time}.`, body).toString('hex');
  return { given: valuesOf('v1'), timestamp, expected };
}

function readSlack(_: Scheme, headers: Headers, body: Buffer): Signed | string {
  const time = headers['x-slack-request-timestamp'];
  const timestamp = secondsIn(time);
  if (timestamp === undefined) return malformed('X-Slack-Request-Timestamp');
  const expected = (secret: string) => `v0=${hmac('sha256', secret, `v0:${time}:`, body).toString('hex')}`;
  const signed = digestIn(headers, 'X-Slack-Signature', expected);
  return typeof signed === 'string' ? signed : { ...signed, timestamp };
}

/** standard-webhooks, also under the header names that it began with (svix). */
function readStandard(_: Scheme, headers: Headers, body: Buffer): Signed | string {
  const own = headers['webhook-id'] === undefined && headers['svix-id'] !== undefined ? 'svix' : 'webhook';
  const [id = '', time, signature = ''] = [
    headers[`${own}-id`],
    headers[`${own}-timestamp`],
    headers[`${own}-signature`],
  ];
  if (id === '') return missing('webhook-id');
  if (signature === '') return missing('webhook-signature');
  const timestamp = secondsIn(time);
  if (timestamp === undefined) return malformed('webhook-timestamp');
  const given = signature.split(' ').flatMap((one) => (one.startsWith('v1,') ? [one.slice(3)] : []));
  return { given, timestamp, expected: (secret) => standardDigest(secret, id, time as string, body) };
}

function standardDigest(secret: string, id: string, time: string, body: Buffer): string | undefined {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return key.length === 0 ? undefined : hmac('sha256', key, `${id}.${time}.`, body).toString('base64');
}

function readCustom(scheme: Scheme, headers: Headers, body: Buffer): Signed | string {
  const { algorithm = 'sha256', signatureHeader = 'X-Signature', signaturePrefix, encoding = 'hex' } = scheme;
  const given = headers[signatureHeader.toLowerCase()] ?? '';
  if (given === '') return missing(signatureHeader);
  const prefix = signaturePrefix ?? (given.startsWith(`${algorithm}=`) ? `${algorithm}=` : '');
  return { given: [given], expected: (secret) => prefix + hmac(algorithm, secret, body).toString(encoding) };
}

/** Digits alone, without a zero in front: what was signed and what is compared are the same. */
const secondsIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;

export function hmac(algorithm: Algorithm, key: string | Buffer, ...parts: readonly (string | Buffer)[]): Buffer {
  const digest = createHmac(algorithm, key);
  for (const part of parts) digest.update(part);
  return digest.digest();
}

/** The headers with which a provider would sign this with this secret. */
export function signatureHeaders(scheme: Scheme, secret: string, { body, id, at }: Signable): Record<string, string> {
  const time = String(Math.floor(at / 1000));
  switch (scheme.provider) {
    case 'GITHUB':
      return { 'X-Hub-Signature-256': `sha256=${hmac('sha256', secret, body).toString('hex')}` };
    case 'SHOPIFY':
      return { 'X-Shopify-Hmac-Sha256': hmac('sha256', secret, body).toString('base64') };
    case 'GITLAB':
      return { 'X-Gitlab-Token': Buffer.from(secret, 'utf8').toString('latin1') };
    case 'STRIPE':
      return { 'Stripe-Signature': `t=${time},v1=${hmac('sha256', secret, `${time}.`, body).toString('hex')}` };
    case 'SLACK':
      return {
        'X-Slack-Request-Timestamp': time,
        'X-Slack-Signature': `v0=${hmac('sha256', secret, `v0:${time}:`, body).toString('hex')}`,
      };
    case 'STANDARD': {
      const digest = standardDigest(secret, id, time, body) ?? '';
      return { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': `v1,${digest}` };
    }
    case 'CUSTOM': {
      const { algorithm = 'sha256', signatureHeader = 'X-Signature', signaturePrefix = '', encoding = 'hex' } = scheme;
      return { [signatureHeader]: signaturePrefix + hmac(algorithm, secret, body).toString(encoding) };
    }
  }
}

/** The headers that a signature is in: what a replay that signs anew leaves out. */
export function signatureHeaderNames(scheme: Scheme): string[] {
  const names = Object.keys(signatureHeaders(scheme, 'x', { body: Buffer.alloc(0), id: 'x', at: 0 }));
  return [...names.map((name) => name.toLowerCase()), 'svix-id', 'svix-timestamp', 'svix-signature'];
}

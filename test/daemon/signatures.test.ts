import { createHmac, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sign as signGitHub, verify as verifyGitHub } from '@octokit/webhooks-methods';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import {
  type Algorithm,
  hmac,
  PROVIDERS,
  type Provider,
  type Scheme,
  signatureFault,
  signatureHeaders,
} from '../../src/daemon/triggers/signatures.ts';

interface Row {
  readonly id: string;
  readonly provider: string;
  readonly algo: string;
  readonly encoding?: 'hex' | 'base64';
  readonly secret: string;
  readonly secretHex?: string;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly bodyHex?: string;
  readonly digest?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly now?: number;
  readonly toleranceSeconds?: number;
  readonly expect: string;
  readonly mutation?: string;
}

const NAMED: Readonly<Record<string, Provider>> = {
  'CUSTOM(slack)': 'SLACK',
  'CUSTOM(standard-webhooks/svix)': 'STANDARD',
  'CUSTOM(shopify)': 'SHOPIFY',
  'CUSTOM(gitlab)': 'GITLAB',
  'CUSTOM(bitbucket)': 'CUSTOM',
};
const dir = process.env['WFX_CONFORMANCE_DIR'] ?? join(import.meta.dirname, '../../../shared/conformance');
const file = join(dir, 'signatures.json');
const now = Date.parse('2026-11-21T09:00:00Z');
const lower = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

t.test('every vector', { skip: existsSync(file) ? false : `${file} is not there` }, async (t) => {
  const { rows } = JSON.parse(readFileSync(file, 'utf8')) as { rows: Row[] };
  for (const row of rows) {
    const body = Buffer.from(row.body ?? row.bodyBase64 ?? row.bodyHex ?? '', encodingOf(row));
    if (row.digest !== undefined) {
      const digest = hmac(row.algo as Algorithm, Buffer.from(row.secretHex ?? '', 'hex'), body);
      t.equal(digest.toString('hex'), row.digest, row.id);
      continue;
    }
    const fault = signatureFault(
      schemeOf(row),
      [row.secret],
      lower(row.headers),
      body,
      (row.now ?? 0) * 1000,
      row.toleranceSeconds,
    );
    // Policy rows: Stripe's library accepts ambiguous and far-future timestamps, which are refused here.
    t.equal(fault === undefined, row.expect.startsWith('accept'), `${row.id} ${row.mutation ?? ''}`);
    if (fault !== undefined && row.secret.length > 3)
      if (fault !== undefined)
        t.notMatch(fault.reason, /[0-9a-f]{16}|[A-Za-z0-9+/]{20}=/, `${row.id} discloses no digest`);
  }
});

function encodingOf(row: Row): BufferEncoding {
  if (row.body !== undefined) return 'utf8';
  return row.bodyBase64 === undefined ? 'hex' : 'base64';
}

function schemeOf(row: Row): Scheme {
  const provider = NAMED[row.provider] ?? (row.provider as Provider);
  if (provider !== 'CUSTOM') return { provider };
  const [signatureHeader = ''] = Object.keys(row.headers).filter((name) => /signature/i.test(name));
  return { provider, algorithm: row.algo as Algorithm, encoding: row.encoding ?? 'hex', signatureHeader };
}

t.test('what is signed here holds here, for every provider, and for its secret alone', async (t) => {
  const body = randomBytes(500);
  for (const provider of PROVIDERS) {
    const scheme = { provider };
    const secret = provider === 'STANDARD' ? `whsec_${randomBytes(24).toString('base64')}` : 'old secret';
    const headers = lower(signatureHeaders(scheme, secret, { body, id: 'evt-1', at: now }));
    t.equal(signatureFault(scheme, [secret], headers, body, now), undefined, provider);
    t.equal(signatureFault(scheme, ['another', secret], headers, body, now), undefined, `${provider}, rotated`);
    t.match(signatureFault(scheme, ['b3RoZXI='], headers, body, now), { verdict: 'BAD_SIGNATURE' }, provider);
    t.match(signatureFault(scheme, [], headers, body, now), { verdict: 'BAD_SIGNATURE' }, `${provider}, no secret`);
    t.match(
      signatureFault(scheme, [''], headers, body, now),
      { verdict: 'BAD_SIGNATURE' },
      `${provider}, empty secret`,
    );
    t.match(signatureFault(scheme, [secret], {}, body, now), { verdict: 'BAD_SIGNATURE' }, `${provider}, unsigned`);
  }
});

t.test("GitLab's token is read as its bytes", async (t) => {
  const body = Buffer.from('{}');
  const token = 'schlüssel 日本';
  const headers = lower(signatureHeaders({ provider: 'GITLAB' }, token, { body, id: '', at: now }));
  t.match(headers['x-gitlab-token'], /^[\x20-\xff]+$/, 'a header can hold it');
  t.equal(signatureFault({ provider: 'GITLAB' }, [token], headers, body, now), undefined);
  t.equal(
    signatureFault({ provider: 'GITLAB' }, ['schlüssel'], { 'x-gitlab-token': 'schlüssel' }, body, now),
    undefined,
  );
  t.match(signatureFault({ provider: 'GITLAB' }, ['schlussel'], headers, body, now), { verdict: 'BAD_SIGNATURE' });
});

t.test('a right signature is stale 301 seconds before or after our time', async (t) => {
  const body = Buffer.from('{}');
  for (const provider of ['STRIPE', 'SLACK', 'STANDARD'] as const) {
    const headers = lower(signatureHeaders({ provider }, 'c2VjcmV0', { body, id: 'evt-1', at: now }));
    for (const seconds of [-301, 301])
      t.match(signatureFault({ provider }, ['c2VjcmV0'], headers, body, now + seconds * 1000), { verdict: 'STALE' });
    for (const seconds of [-300, 300])
      t.equal(signatureFault({ provider }, ['c2VjcmV0'], headers, body, now + seconds * 1000), undefined);
  }
});

t.test('an empty secret is refused, though the digest under the empty key is right', async (t) => {
  const body = Buffer.from('{}');
  const headers = { 'x-signature': createHmac('sha256', '').update(body).digest('hex') };
  t.match(signatureFault({ provider: 'CUSTOM' }, [''], headers, body, now), { verdict: 'BAD_SIGNATURE' });
  const standard = lower({
    'webhook-id': 'a',
    'webhook-timestamp': String(now / 1000),
    'webhook-signature': `v1,${createHmac('sha256', '')
      .update(`a.${now / 1000}.{}`)
      .digest('base64')}`,
  });
  t.match(signatureFault({ provider: 'STANDARD' }, ['whsec_'], standard, body, now), { verdict: 'BAD_SIGNATURE' });
});

t.test("the providers' own libraries take what is signed here, and the other way round", async (t) => {
  const text = '{"zen":"Design for failure. é"}';
  const body = Buffer.from(text);
  const github = signatureHeaders({ provider: 'GITHUB' }, 'It’s a secret', { body, id: '', at: now });
  t.ok(await verifyGitHub('It’s a secret', text, github['X-Hub-Signature-256'] ?? ''));
  const theirs = { 'x-hub-signature-256': await signGitHub('k', text) };
  t.equal(signatureFault({ provider: 'GITHUB' }, ['k'], theirs, body, now), undefined);

  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const at = Date.now();
  const standard = signatureHeaders({ provider: 'STANDARD' }, secret, { body, id: 'msg_1', at });
  t.same(new Webhook(secret).verify(text, standard), JSON.parse(text));
  const signed = {
    'webhook-id': 'msg_2',
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': new Webhook(secret).sign('msg_2', new Date(at), text),
  };
  t.equal(signatureFault({ provider: 'STANDARD' }, [secret], signed, body, at), undefined);
});

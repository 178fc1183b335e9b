import { randomUUID } from 'node:crypto';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { PassThrough } from 'node:stream';
import { type Client, UnreachableError } from '../../client/index.ts';
import type { Delivery, Environment, Webhook } from '../../contract/types.ts';
import type { JsonObject } from '../../engine/json.ts';
import { withPath } from '../../engine/json.ts';
import { typedValue } from '../../terminal/typed.ts';
import { CliError, EXIT, usage } from '../exit.ts';
import { assignment } from '../values.ts';
import type { Wfx } from '../wfx.ts';
import { report } from './deliveries.ts';
import type { Fixture } from './fixtures/fixture.ts';
import { allWebhooks, foundWebhook, providerOf } from './registrations.ts';
import { eventFor, eventNames } from './templates.ts';

export interface TriggerOptions {
  readonly webhook?: string;
  readonly environment?: string;
  readonly set?: readonly string[];
  readonly header?: readonly string[];
  readonly eventId?: string;
  readonly fail?: string;
  readonly templates?: string;
}

const FAILURES = ['bad-signature', 'stale', 'duplicate', 'slow'] as const;
type Failure = (typeof FAILURES)[number];
/** Providers that sign a time, so that a delivery can be too old. */
const TIMED = new Set<Webhook['provider']>(['STRIPE', 'SLACK', 'STANDARD']);
const STALE_SECONDS = 3600;
/** Longer than the daemon waits for a request. */
const SLOW_MS = 60_000;

/** A request as it goes out. */
interface Outgoing {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly eventId: string;
}

/** Sends an event to a webhook's address as its provider would, and shows what became of it. */
export async function trigger(
  wfx: Wfx,
  provider: string,
  event: string | undefined,
  options: TriggerOptions,
): Promise<void> {
  const from = providerOf(provider);
  if (event === undefined) return listEvents(wfx, from, options.templates);
  const failure = options.fail === undefined ? undefined : failureOf(options.fail, from);
  const eventId = options.eventId ?? eventIdOf(from);
  const fixture = await eventFor(from, event, options.templates, { eventId, now: Date.now() });
  const outgoing = outgoingOf(from, fixture, eventId, options);
  const environment = wfx.environment(options.environment);
  const client = await wfx.client();
  const webhook = await webhookFor(client, from, options.webhook);
  const send = () => sendSigned(client, webhook, environment, outgoing, failure);
  if (failure === 'slow') return sendSlowly(wfx, client, webhook, environment, outgoing);
  report(wfx, await send());
  if (failure === 'duplicate') report(wfx, await send());
}

function listEvents(wfx: Wfx, provider: Webhook['provider'], folder: string | undefined): void {
  const names = eventNames(provider, folder);
  if (wfx.json) wfx.io.json({ items: names });
  else for (const name of names) wfx.io.print(name);
}

function failureOf(text: string, provider: Webhook['provider']): Failure {
  const failure = FAILURES.find((one) => one === text);
  if (failure === undefined) throw usage(`--fail knows no “${text}”.`, `it is one of ${FAILURES.join(', ')}`);
  if (failure === 'stale' && !TIMED.has(provider))
    throw usage(`${provider} signs no time, so that no delivery of it is stale.`, 'stripe, slack and standard do');
  return failure;
}

const eventIdOf = (provider: Webhook['provider']): string =>
  ({ STRIPE: `evt_${plainId()}`, SLACK: `Ev${plainId().slice(0, 10).toUpperCase()}`, STANDARD: `msg_${plainId()}` })[
    provider as string
  ] ?? randomUUID();
const plainId = (): string => randomUUID().replaceAll('-', '').slice(0, 24);

function outgoingOf(
  provider: Webhook['provider'],
  fixture: Fixture,
  eventId: string,
  options: TriggerOptions,
): Outgoing {
  let { body } = fixture;
  for (const text of options.set ?? []) {
    const [path, value] = assignment(text, '--set');
    body = withPath(body, path.split('.'), typedValue(value));
  }
  const own = (options.header ?? []).map((text) => {
    const [name, value] = assignment(text, '--header', 'X-Event=order');
    return [name.toLowerCase(), value] as const;
  });
  const { text, type } = encoded(body, fixture.as);
  const headers = {
    'content-type': type,
    'x-request-id': randomUUID(),
    ...fixture.headers,
    ...Object.fromEntries(own),
  };
  checkHeaders(headers);
  return { headers, body: Buffer.from(text), eventId: provider === 'STANDARD' ? eventId : '' };
}

function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      const hint = 'a name is of letters, digits and dashes, a value one line without letters beyond Latin-1';
      throw usage(`The header “${name}” can't be sent as it is.`, hint);
    }
  }
}

function encoded(body: JsonObject, as: Fixture['as']): { readonly text: string; readonly type: string } {
  if (as === 'json') return { text: JSON.stringify(body), type: 'application/json' };
  const fields = as === 'payload' ? { payload: JSON.stringify(body) } : textFields(body);
  return { text: new URLSearchParams(fields).toString(), type: 'application/x-www-form-urlencoded' };
}

const textFields = (body: JsonObject): Record<string, string> =>
  Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );

/** The one that is named, or else the only one of the provider. */
async function webhookFor(client: Client, provider: Webhook['provider'], named: string | undefined): Promise<Webhook> {
  if (named !== undefined) {
    const webhook = await foundWebhook(client, named);
    if (webhook.provider === provider) return webhook;
    throw usage(`The webhook ${webhook.name} is for ${webhook.provider}, not ${provider}.`);
  }
  const [first, ...others] = (await allWebhooks(client)).filter((one) => one.provider === provider);
  const name = provider.toLowerCase();
  if (first === undefined)
    throw usage(`There is no ${name} webhook.`, `make one: wfx webhook create my-${name} --provider ${name}`);
  if (others.length === 0) return first;
  const names = [first, ...others].map((one) => one.name).join(', ');
  throw usage(`There are several ${name} webhooks.`, `say which: --webhook NAME (${names})`);
}

interface Address {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function signed(
  client: Client,
  { id: webhookId }: Webhook,
  environment: Environment | undefined,
  { body, eventId, headers }: Outgoing,
  failure: Failure | undefined,
): Promise<Address> {
  const ask = {
    body: body.toString('base64'),
    ...(environment === undefined ? {} : { environment }),
    ...(eventId === '' ? {} : { eventId }),
    ...(failure === 'stale' ? { age: STALE_SECONDS } : {}),
    ...(failure === 'bad-signature' ? { forged: true } : {}),
  };
  const answer = await client.call('signDelivery', { params: { webhookId }, body: ask });
  return { path: answer.path, headers: { ...headers, ...answer.headers } };
}

async function sendSigned(
  client: Client,
  webhook: Webhook,
  environment: Environment | undefined,
  outgoing: Outgoing,
  failure: Failure | undefined,
): Promise<Delivery> {
  const { path, headers } = await signed(client, webhook, environment, outgoing, failure);
  const { status } = await client.deliver(path, { headers, body: outgoing.body });
  if (status !== 200)
    throw new CliError(
      EXIT.unreachable,
      `The address answered ${status} instead of 200.`,
      'wfx daemon logs may tell why',
    );
  const trace = outgoing.headers['x-request-id'];
  const { items } = await client.call('listDeliveries', { params: { webhookId: webhook.id }, query: { limit: 100 } });
  const sent = items.find(({ headers }) => headers['x-request-id'] === trace);
  if (sent !== undefined) return sent;
  throw new CliError(EXIT.unreachable, 'The address took the event, but no delivery of it is to be found.');
}

/** Sends half of the body and no more: what an address must not wait for for ever. */
async function sendSlowly(
  wfx: Wfx,
  client: Client,
  webhook: Webhook,
  environment: Environment | undefined,
  outgoing: Outgoing,
): Promise<void> {
  const { path, headers } = await signed(client, webhook, environment, outgoing, undefined);
  wfx.io.note('Sent half of the body; waiting for the address to give up (about 30 s).');
  const began = performance.now();
  const half = new PassThrough();
  half.write(outgoing.body.subarray(0, Math.ceil(outgoing.body.length / 2)));
  const length = { 'content-length': String(outgoing.body.length) };
  const answer = await client
    .deliver(path, { headers: { ...headers, ...length }, body: half, timeoutMs: SLOW_MS })
    .then(({ status }) => `answered ${status}`, closed)
    .finally(() => half.destroy());
  const seconds = Math.round((performance.now() - began) / 1000);
  if (wfx.json) wfx.io.json({ answer, seconds });
  else wfx.io.note(`The address ${answer} after ${seconds} s; nothing was started.`);
}

function closed(error: unknown): string {
  if (error instanceof UnreachableError) return 'closed the connection';
  throw error;
}

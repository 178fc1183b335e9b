import type { Client } from '../../client/index.ts';
import type { Environment, Webhook } from '../../contract/types.ts';
import { shownTime } from '../../terminal/shown.ts';
import { isoDuration } from '../duration.ts';
import { usage } from '../exit.ts';
import { firstItems } from '../pages.ts';
import { secretIn } from '../secret-file.ts';
import { printFields, printTable } from '../table.ts';
import type { Wfx } from '../wfx.ts';

export interface CreateOptions {
  readonly provider: string;
  readonly perEnvironment?: true;
  /** `--no-auth`. */
  readonly auth: boolean;
  readonly secretFile?: string;
  readonly algorithm?: string;
  readonly signatureHeader?: string;
  readonly signaturePrefix?: string;
  readonly encoding?: string;
  readonly eventType?: string;
  readonly eventId?: string;
  readonly organization?: string;
}
export interface RotateOptions {
  readonly environment?: string;
  readonly secretFile?: string;
  readonly overlap?: string;
  readonly token?: true;
}

const PROVIDERS = ['GITHUB', 'STRIPE', 'GITLAB', 'SLACK', 'SHOPIFY', 'STANDARD', 'CUSTOM'] as const;

/** `github` → `GITHUB`. */
export function providerOf(text: string): Webhook['provider'] {
  const found = PROVIDERS.find((provider) => provider === text.toUpperCase());
  if (found !== undefined) return found;
  throw usage(`There is no webhook provider “${text}”.`, `it is one of ${PROVIDERS.join(', ').toLowerCase()}`);
}

export const allWebhooks = async (client: Client): Promise<readonly Webhook[]> =>
  (await firstItems<Webhook>(100_000, (query) => client.call('listWebhooks', { query }))).items;

/** By its id or its name. */
export async function foundWebhook(client: Client, idOrName: string): Promise<Webhook> {
  const all = await allWebhooks(client);
  const found = all.find(({ id }) => id === idOrName) ?? all.find(({ name }) => name === idOrName);
  if (found !== undefined) return found;
  throw usage(`There is no webhook “${idOrName}”.`, 'wfx webhook list shows them; wfx webhook create makes one');
}

export async function create(wfx: Wfx, name: string, options: CreateOptions): Promise<void> {
  const body = {
    name,
    provider: providerOf(options.provider),
    mode: options.perEnvironment === true ? 'PER_ENVIRONMENT' : 'SHARED',
    auth: options.auth ? 'HMAC' : 'NONE',
    ...givenSecret(options.secretFile),
    ...present({
      algorithm: options.algorithm?.toLowerCase(),
      signatureHeader: options.signatureHeader,
      signaturePrefix: options.signaturePrefix,
      encoding: options.encoding?.toLowerCase(),
      eventTypePath: options.eventType,
      eventIdPath: options.eventId,
      organizationId: options.organization,
    }),
  };
  const client = await wfx.client();
  // What the options hold is the daemon's to judge: its answer names each wrong field.
  const webhook = await client.call('createWebhook', {
    body: body as Parameters<typeof client.call<'createWebhook'>>[1]['body'],
  });
  if (wfx.json) return wfx.io.json(webhook);
  await showWebhook(wfx, client, webhook);
  if (webhook.auth === 'HMAC')
    wfx.io.note('The secret is shown this once only: enter it where the sender asks for it.');
  wfx.io.note(`A flow links to it with: triggers: [{ type: webhook, registration: ${webhook.name} }]`);
}

export async function list(wfx: Wfx): Promise<void> {
  const client = await wfx.client();
  const items = await allWebhooks(client);
  if (wfx.json) return wfx.io.json({ items, nextCursor: null });
  printTable(
    wfx.io,
    items,
    [
      { title: 'NAME', text: ({ name }) => name },
      { title: 'PROVIDER', text: ({ provider }) => provider },
      { title: 'MODE', text: ({ mode }) => mode },
      { title: 'AUTH', text: ({ auth }) => auth },
      { title: 'FLOWS', text: ({ flows }) => String(new Set(flows.map(({ processId }) => processId)).size) },
      { title: 'ID', text: ({ id }) => id },
    ],
    'There are no webhooks. Make one: wfx webhook create NAME --provider github',
  );
}

export async function show(wfx: Wfx, idOrName: string): Promise<void> {
  const client = await wfx.client();
  const webhook = await foundWebhook(client, idOrName);
  if (wfx.json) wfx.io.json(webhook);
  else await showWebhook(wfx, client, webhook);
}

async function showWebhook({ io }: Wfx, client: Client, webhook: Webhook): Promise<void> {
  const url = await client.url();
  const isCustom = webhook.provider === 'CUSTOM';
  const fields: [string, string | undefined][] = [
    ['name', webhook.name],
    ['id', webhook.id],
    ['provider', webhook.provider],
    ['auth', webhook.auth === 'NONE' ? 'none: whoever knows the address may deliver' : signing(webhook)],
    ['event type', isCustom ? (webhook.eventTypePath ?? 'type') : undefined],
    ['event id', isCustom ? (webhook.eventIdPath ?? 'none: no delivery is taken for a repeat') : undefined],
  ];
  for (const { environment, path, secret, previousSecretUntil } of webhook.endpoints) {
    const place = environment === null ? '' : ` (${environment})`;
    fields.push([`address${place}`, url + path], [`secret${place}`, secret]);
    if (previousSecretUntil !== null) fields.push(['old secret until', shownTime(previousSecretUntil)]);
  }
  for (const flow of webhook.flows)
    fields.push([
      'starts',
      `${flow.name} (${flow.processId}) version ${flow.version} in ${flow.environment}, on ${flow.eventType ?? 'every event'}`,
    ]);
  printFields(io, fields);
}

function signing({ provider, algorithm, signatureHeader, encoding }: Webhook): string {
  return provider === 'CUSTOM' ? `HMAC ${algorithm} in ${signatureHeader ?? 'X-Signature'}, ${encoding}` : 'signed';
}

export async function rotate(wfx: Wfx, idOrName: string, options: RotateOptions): Promise<void> {
  const client = await wfx.client();
  const { id: webhookId, auth } = await foundWebhook(client, idOrName);
  const environment: Environment | undefined = wfx.environment(options.environment);
  const body = {
    ...(environment === undefined ? {} : { environment }),
    ...givenSecret(options.secretFile),
    ...(options.overlap === undefined ? {} : { overlap: isoDuration(options.overlap, '--overlap') }),
    ...(options.token === true ? { token: true } : {}),
  };
  const webhook = await client.call('rotateWebhook', { params: { webhookId }, body });
  if (wfx.json) return wfx.io.json(webhook);
  await showWebhook(wfx, client, webhook);
  if (auth === 'NONE') return;
  const isOverlapping = webhook.endpoints.some(({ previousSecretUntil }) => previousSecretUntil !== null);
  const old = isOverlapping ? 'Until the time above the old one holds too.' : 'The old one holds no more.';
  wfx.io.note(`The new secret is shown this once only. ${old}`);
}

export async function remove(wfx: Wfx, idsOrNames: readonly string[]): Promise<void> {
  const client = await wfx.client();
  const found: Webhook[] = [];
  for (const one of idsOrNames) found.push(await foundWebhook(client, one));
  for (const { id: webhookId } of found) await client.call('deleteWebhook', { params: { webhookId } });
  if (wfx.json) wfx.io.json({ items: found });
  else for (const { name } of found) wfx.io.note(`${name} is removed; its address is unknown from now on.`);
}

const givenSecret = (file: string | undefined): { readonly secret?: string } =>
  file === undefined ? {} : { secret: secretIn(file, 'secret') };

const present = (options: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(options).filter((entry): entry is [string, string] => entry[1] !== undefined));

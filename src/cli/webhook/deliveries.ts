import { type Client, plain, plainJson, plainLines, type StreamOptions } from '../../client/index.ts';
import type { Delivery, DeliverySummary, Webhook } from '../../contract/types.ts';
import { clockTime, shownTime } from '../../terminal/shown.ts';
import { padded } from '../../terminal/width.ts';
import { usage } from '../exit.ts';
import { untilInterrupted } from '../interrupt.ts';
import type { Io } from '../io.ts';
import { warningOfLosses } from '../reconnecting.ts';
import { printFields, printTable } from '../table.ts';
import type { Wfx } from '../wfx.ts';
import { allWebhooks, foundWebhook } from './registrations.ts';

export interface ListOptions {
  readonly follow?: true;
  readonly verdict?: string;
  readonly limit: number;
}
export interface ReplayOptions {
  readonly environment?: string;
  readonly flow?: string;
  readonly versionNumber?: string;
  readonly resign?: true;
}

const VERDICTS = ['STARTED', 'NO_MATCH', 'DUPLICATE', 'BAD_SIGNATURE', 'STALE'] as const;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';
const STYLES = {
  STARTED: 'green',
  NO_MATCH: 'yellow',
  DUPLICATE: 'dim',
  BAD_SIGNATURE: 'red',
  STALE: 'red',
} as const;

/** Of one webhook, or of all. */
export async function listDeliveries(wfx: Wfx, webhook: string | undefined, options: ListOptions): Promise<void> {
  const verdict = options.verdict === undefined ? undefined : verdictOf(options.verdict);
  const client = await wfx.client();
  const chosen = webhook === undefined ? undefined : await foundWebhook(client, webhook);
  if (options.follow === true) return follow(wfx, client, chosen, verdict);
  const webhooks = chosen === undefined ? await allWebhooks(client) : [chosen];
  const query = { limit: Math.min(500, options.limit), ...(verdict === undefined ? {} : { verdict }) };
  const pages = [];
  for (const { id: webhookId } of webhooks)
    pages.push(await client.call('listDeliveries', { params: { webhookId }, query }));
  const items = pages
    .flatMap((page) => page.items)
    .sort((a, b) => (a.deliveryId < b.deliveryId ? 1 : -1))
    .slice(0, options.limit);
  if (wfx.json) return wfx.io.json({ items, nextCursor: null });
  const names = new Map(webhooks.map(({ id, name }) => [id, name]));
  printTable(
    wfx.io,
    items,
    [
      { title: 'RECEIVED', text: ({ receivedAt }) => shownTime(receivedAt) },
      { title: 'WEBHOOK', text: ({ webhookId }) => names.get(webhookId) ?? '' },
      { title: 'VERDICT', text: (row) => row.verdict, style: (row) => STYLES[row.verdict] },
      { title: 'EVENT', text: ({ eventType }) => eventType || '-' },
      { title: 'DELIVERY', text: ({ deliveryId }) => deliveryId },
      { title: 'RUNS, OR WHY NOT', text: outcomeOf },
    ],
    'There are no deliveries. Send one: wfx webhook trigger PROVIDER EVENT',
  );
}

export async function showDelivery(wfx: Wfx, webhook: string, deliveryId: string): Promise<void> {
  const client = await wfx.client();
  const { id: webhookId } = await foundWebhook(client, webhook);
  const delivery = await client.call('getDelivery', { params: { webhookId, deliveryId } });
  if (wfx.json) wfx.io.json(delivery);
  else printDelivery(wfx.io, delivery);
}

export function printDelivery(io: Io, delivery: Delivery): void {
  printFields(io, [
    ['delivery', delivery.deliveryId],
    ['received', shownTime(delivery.receivedAt)],
    ['verdict', delivery.verdict],
    ['why', delivery.reason ?? undefined],
    ['runs', delivery.processInstanceIds.join(', ') || undefined],
    ['event', delivery.eventType || undefined],
    ['event id', delivery.eventId ?? undefined],
    ['environment', delivery.environment ?? 'shared address'],
    ['replay of', delivery.replayOf ?? undefined],
  ]);
  for (const [name, value] of Object.entries(delivery.headers))
    io.print(`${io.paint('cyan', plain(name))}: ${plain(value)}`);
  if (delivery.body === null) io.note('The body is no longer kept.');
  else io.print(`\n${plainLines(delivery.body, 1_500_000)}`);
}

async function follow(
  wfx: Wfx,
  client: Client,
  webhook: Webhook | undefined,
  verdict: string | undefined,
): Promise<void> {
  if (!wfx.json)
    wfx.io.note(`Waiting for deliveries${webhook === undefined ? '' : ` to ${webhook.name}`} (Ctrl-C stops).`);
  await untilInterrupted((signal) => showLive(wfx, client, { webhookId: webhook?.id, verdict }, { signal }));
}

interface Shown {
  readonly webhookId: string | undefined;
  readonly verdict?: string | undefined;
}

/** Prints deliveries as they come, until the signal aborts; rejects then, and when the daemon is lost. */
export async function showLive(
  wfx: Wfx,
  client: Client,
  { webhookId, verdict }: Shown,
  options: Pick<StreamOptions, 'signal' | 'onConnected'>,
): Promise<void> {
  const onReconnecting = warningOfLosses(wfx);
  const after = await newestDelivery(client, webhookId);
  for await (const delivery of client.deliveries(webhookId, { ...options, after, onReconnecting })) {
    if (verdict !== undefined && delivery.verdict !== verdict) continue;
    wfx.io.print(wfx.json ? plainJson(delivery) : deliveryLine(wfx.io, delivery));
  }
}

/** The id after which deliveries are new. With it a stream that is lost before its first one goes on without a gap. */
export async function newestDelivery(client: Client, webhookId: string | undefined): Promise<string> {
  const ids = webhookId === undefined ? (await allWebhooks(client)).map(({ id }) => id) : [webhookId];
  let newest = BEFORE_ALL;
  for (const id of ids) {
    const { items } = await client.call('listDeliveries', { params: { webhookId: id }, query: { limit: 1 } });
    const [{ deliveryId = BEFORE_ALL } = {}] = items;
    if (deliveryId > newest) newest = deliveryId;
  }
  return newest;
}

export function deliveryLine(io: Io, delivery: DeliverySummary): string {
  const { receivedAt, verdict, eventType, deliveryId, environment } = delivery;
  return [
    io.paint('dim', clockTime(receivedAt)),
    io.paint(STYLES[verdict], padded(verdict, 13)),
    padded(plain(eventType || '-', 40), 24),
    ...(environment === null ? [] : [environment]),
    io.paint('dim', deliveryId),
    plain(outcomeOf(delivery)),
  ].join('  ');
}

const outcomeOf = ({ processInstanceIds, reason }: DeliverySummary): string =>
  [processInstanceIds.join(', '), reason ?? ''].filter((part) => part !== '').join('; ');

function verdictOf(text: string): DeliverySummary['verdict'] {
  const verdict = VERDICTS.find((one) => one === text.toUpperCase().replaceAll('-', '_'));
  if (verdict !== undefined) return verdict;
  throw usage(`There is no verdict “${text}”.`, `it is one of ${VERDICTS.join(', ')}`);
}

export async function replay(wfx: Wfx, webhook: string, deliveryId: string, options: ReplayOptions): Promise<void> {
  const environment = wfx.environment(options.environment);
  const client = await wfx.client();
  const { id: webhookId } = await foundWebhook(client, webhook);
  const body = {
    ...(environment === undefined ? {} : { environment }),
    ...(options.flow === undefined ? {} : { processId: options.flow }),
    ...(options.versionNumber === undefined ? {} : { versionNumber: options.versionNumber }),
    ...(options.resign === true ? { resign: true } : {}),
  };
  const delivery = await client.call('replayDelivery', { params: { webhookId, deliveryId }, body });
  report(wfx, delivery);
}

/** What became of a delivery that a command sent: the runs on stdout, the rest beside it. */
export function report(wfx: Wfx, delivery: Delivery): void {
  if (wfx.json) return wfx.io.json(delivery);
  const { verdict, reason, deliveryId } = delivery;
  const why = reason === null ? '' : `: ${plain(reason)}`;
  wfx.io.note(`${wfx.io.paintNote(STYLES[verdict], verdict)}${why} (delivery ${deliveryId})`);
  for (const id of delivery.processInstanceIds) wfx.io.print(id);
}

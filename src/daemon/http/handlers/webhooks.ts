import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { pathOf } from '../../../contract/endpoints.ts';
import type { Delivery, DeliverySummary, Webhook } from '../../../contract/types.ts';
import { addDuration, parseDuration } from '../../../engine/time.ts';
import { type Caller, organizationFilter, organizationFor } from '../../auth/caller.ts';
import { invalid, Refusal } from '../../refusal.ts';
import { type FreshWebhook, holding, type WebhookRecord } from '../../store/webhooks.ts';
import { type Content, type DeliveryRecord, deliveriesOf } from '../../triggers/deliveries.ts';
import type { Headers } from '../../triggers/signatures.ts';
import type { Handlers, Services } from '../handler.ts';
import { checkId, unknownId } from '../ids.ts';
import { byName, pageOf } from '../page.ts';
import { knownFlow } from './flows.ts';

type Names =
  | 'listWebhooks'
  | 'createWebhook'
  | 'getWebhook'
  | 'updateWebhook'
  | 'deleteWebhook'
  | 'rotateWebhook'
  | 'signDelivery'
  | 'listDeliveries'
  | 'streamDeliveries'
  | 'getDelivery'
  | 'replayDelivery'
  | 'receiveWebhook';

const DEFAULT_LIMIT = 50;
const OVERLAP = 'PT24H';
/** Bodies in one page of deliveries; the others are left to be asked for one by one. */
const PAGE_BYTES = 4 * 1024 * 1024;

export function webhookHandlers({ stores, triggers, streams }: Services): Handlers<Names> {
  const { webhooks, organizations, definitions } = stores;
  const { deliveries, receiver, active } = triggers;

  function known(caller: Caller, webhookId: string): WebhookRecord {
    const webhook = webhooks.get(webhookId);
    if (webhook === undefined || (caller.organizationId ?? webhook.organizationId) !== webhook.organizationId)
      throw unknownId('webhookId', webhookId);
    return webhook;
  }

  function delivery(webhookId: string, deliveryId: string): DeliveryRecord {
    const record = deliveries.get(webhookId, deliveryId);
    if (record === undefined) throw unknownId('deliveryId', deliveryId);
    return record;
  }

  const shown = (webhook: WebhookRecord, secrets: FreshWebhook['secrets'] = []): Webhook => ({
    ...webhook,
    endpoints: webhook.endpoints.map(({ environment, token, previous }, at) => ({
      environment,
      token,
      path: pathOf('receiveWebhook', { token }),
      ...(secrets[at] === undefined ? {} : { secret: secrets[at] }),
      previousSecretUntil: holdingUntil(previous),
    })),
    flows: active.webhooks(webhook).map(({ processId, flowName, environment, version, trigger }) => ({
      processId,
      name: flowName,
      environment,
      version,
      eventType: trigger.eventType ?? null,
    })),
  });

  const whole = async (record: DeliveryRecord): Promise<Delivery> =>
    deliveryOf(record, await deliveries.content(record));

  return {
    listWebhooks({ caller, query }) {
      const organizationId = organizationFilter(caller, query.organizationId, organizations);
      const page = pageOf(webhooks.list(organizationId), ({ name, id }) => byName(name, id), query);
      return { ...page, items: page.items.map((webhook) => shown(webhook)) };
    },

    async createWebhook({ caller, body, reply }) {
      const { organizationId: asked, ...rest } = body;
      const organizationId = organizationFor(caller, asked, organizations);
      const { record, secrets } = await webhooks.create({ ...rest, organizationId }, Date.now());
      void reply.code(201);
      return shown(record, secrets);
    },

    getWebhook: ({ caller, params }) => shown(known(caller, params.webhookId)),

    async updateWebhook({ caller, params, body }) {
      return shown(await webhooks.update(known(caller, params.webhookId).id, body, Date.now()));
    },

    async deleteWebhook({ caller, params }) {
      const { id } = known(caller, params.webhookId);
      await webhooks.remove(id, deliveriesOf(id));
      return undefined;
    },

    async rotateWebhook({ caller, params, body = {} }) {
      const { id } = known(caller, params.webhookId);
      const { environment, secret, overlap = OVERLAP, token = false } = body;
      const rotation = { environment, secret, token, overlapMs: millisecondsOf(overlap) };
      const { record, secrets } = await webhooks.rotate(id, rotation, Date.now());
      return shown(record, secrets);
    },

    signDelivery({ caller, params, body }) {
      const webhook = known(caller, params.webhookId);
      const { token, headers } = receiver.sign(webhook, {
        environment: body.environment,
        body: Buffer.from(body.body, 'base64'),
        eventId: body.eventId ?? 'wfx',
        at: Date.now() - (body.age ?? 0) * 1000,
        forged: body.forged ?? false,
      });
      return { path: pathOf('receiveWebhook', { token }), headers };
    },

    async listDeliveries({ caller, params, query: { verdict, ...paging } }) {
      const { id } = known(caller, params.webhookId);
      const records = deliveries.all(id).filter((one) => verdict === undefined || one.verdict === verdict);
      const { items, nextCursor } = newestFirst(records, paging);
      return { items: await withBodies(items, whole), nextCursor };
    },

    streamDeliveries({ caller, query, request, reply }) {
      const organizationId = organizationFilter(caller, query.organizationId, organizations);
      const { webhookId } = query;
      if (webhookId !== undefined) {
        checkId('webhookId', webhookId);
        known(caller, webhookId);
      }
      const isMeant = (id: string) =>
        (webhookId === undefined || id === webhookId) &&
        (organizationId === undefined || webhooks.get(id)?.organizationId === organizationId);
      const sent = request.headers['last-event-id'];
      const after = typeof sent === 'string' && /^[0-9a-f-]{36}$/.test(sent) ? sent : undefined;
      streams.answer(request, reply, async function* (signal) {
        for await (const record of deliveries.follow(isMeant, after, signal))
          yield { id: record.deliveryId, event: 'delivery', data: summaryOf(record) };
      });
      return undefined;
    },

    getDelivery({ caller, params }) {
      return whole(delivery(known(caller, params.webhookId).id, params.deliveryId));
    },

    async replayDelivery({ caller, params, body = {} }) {
      const webhook = known(caller, params.webhookId);
      const original = delivery(webhook.id, params.deliveryId);
      const { environment, versionNumber: version, resign = false } = body;
      const flow =
        body.processId === undefined ? undefined : knownFlow(definitions, body.processId, webhook.organizationId);
      if (flow !== undefined && version !== undefined && definitions.version(flow.processId, version) === undefined)
        throw new Refusal('VERSION_NOT_FOUND', `Flow ${flow.name} has no such version: its newest is ${flow.latest}.`);
      const replay = { environment, processId: flow?.processId, version, resign };
      return whole(await receiver.replay(webhook, original, replay, Date.now()));
    },

    async receiveWebhook({ params: { token }, body, request }) {
      const { headers } = request.raw;
      const bytes = await bytesOf(body, headers, request.routeOptions.bodyLimit ?? 0);
      return receiver.receive(token, { headers: headersOf(headers), body: bytes }, Date.now());
    },
  };
}

const holdingUntil = (previous: WebhookRecord['endpoints'][number]['previous']): string | null =>
  holding(previous, Date.now())
    .map(({ until }) => until)
    .sort()
    .at(-1) ?? null;

/** Milliseconds of an ISO 8601 duration, at most 30 days. */
function millisecondsOf(text: string): number {
  const duration = parseDuration(text);
  const ms = duration === undefined ? -1 : addDuration(0, duration);
  if (ms < 0 || ms > 30 * 24 * 3_600_000)
    throw invalid('overlap', 'must be an ISO 8601 duration such as PT24H, at most P30D');
  return ms;
}

function newestFirst(
  records: readonly DeliveryRecord[],
  { limit = DEFAULT_LIMIT, cursor }: { readonly limit?: number; readonly cursor?: string },
): { items: DeliveryRecord[]; nextCursor: string | null } {
  const left = records
    .filter(({ deliveryId }) => cursor === undefined || deliveryId < cursor)
    .sort((a, b) => (a.deliveryId < b.deliveryId ? 1 : -1));
  const items = left.slice(0, limit);
  return { items, nextCursor: items.length < left.length ? (items.at(-1)?.deliveryId ?? null) : null };
}

async function withBodies(
  records: readonly DeliveryRecord[],
  whole: (record: DeliveryRecord) => Promise<Delivery>,
): Promise<Delivery[]> {
  const shown: Delivery[] = [];
  let bytes = 0;
  for (const record of records) {
    bytes += record.size;
    shown.push(bytes > PAGE_BYTES ? deliveryOf(record, undefined) : await whole(record));
  }
  return shown;
}

function summaryOf({ content: _, ...record }: DeliveryRecord): DeliverySummary {
  return record;
}

function deliveryOf(record: DeliveryRecord, content: Content | undefined): Delivery {
  const { headers = {}, body } = content ?? {};
  const text = body === undefined ? undefined : textOf(body);
  const isText = body === undefined || text !== undefined;
  return {
    ...summaryOf(record),
    headers,
    body: text ?? body?.toString('base64') ?? null,
    bodyEncoding: isText ? 'utf8' : 'base64',
  };
}

function textOf(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The whole body, whatever its type; PAYLOAD_TOO_LARGE over the limit. */
async function bytesOf(
  body: Readable,
  { 'content-length': length }: IncomingHttpHeaders,
  limit: number,
): Promise<Buffer> {
  const tooLarge = () => new Refusal('PAYLOAD_TOO_LARGE', `The body is larger than ${limit} bytes.`);
  if (Number(length) > limit) throw tooLarge();
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of body as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > limit) throw tooLarge();
      parts.push(part);
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal('VALIDATION_ERROR', 'The body broke off.');
  }
  return Buffer.concat(parts);
}

/** Node has joined repeated ones; only Set-Cookie, which no request has, would be a list. */
const headersOf = (headers: IncomingHttpHeaders): Headers =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );

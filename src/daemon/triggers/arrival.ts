import type { JsonObject } from '../../engine/json.ts';
import type { Environment, Once, StartRequest } from '../runtime/door.ts';
import type { FoundEndpoint, StoredEndpoint, WebhookRecord } from '../store/webhooks.ts';
import type { ActiveWebhook } from './active.ts';
import type { DeliveryRecord } from './deliveries.ts';
import type { WebhookEvent } from './event.ts';
import type { Headers } from './signatures.ts';

/** What an address is sent. */
export interface Incoming {
  readonly headers: Headers;
  readonly body: Buffer;
}

/** What is known of a delivery before it is judged. */
export interface Arrival extends FoundEndpoint {
  readonly incoming: Incoming;
  readonly deliveryId: string;
  readonly now: number;
  readonly content: DeliveryRecord['content'];
  readonly replayOf: string | null;
}

const ONCE_MS = 7 * 24 * 3_600_000;

export const environmentOf = ({ environment }: StoredEndpoint): Environment => environment ?? 'PRODUCTION';

/** An event that its sender named takes effect once within 7 days, at each address (decisions §6); a replay always does. */
export function onceOf({ webhook, endpoint, now, replayOf }: Arrival, { id }: WebhookEvent): Once | undefined {
  if (id === undefined || replayOf !== null) return undefined;
  const key = `webhook:${webhook.id}:${endpoint.environment ?? 'SHARED'}:${id}`;
  return { key, fingerprint: '', expiresAt: now + ONCE_MS };
}

/** Variables set by the webhook trigger (interface). */
export function variablesOf(
  {
    deliveryId,
    webhook,
    incoming,
  }: Pick<Arrival, 'deliveryId' | 'incoming'> & { readonly webhook: Pick<WebhookRecord, 'provider'> },
  event: WebhookEvent,
): JsonObject {
  return {
    webhookPayload: event.payload,
    webhookEventType: event.type,
    webhookHeaders: headersFor(webhook, incoming.headers),
    webhookProvider: webhook.provider,
    webhookEventId: event.id ?? deliveryId,
    webhookTraceId: event.traceId ?? deliveryId,
    webhookRawBody: incoming.body.toString('base64'),
    webhookEventTimestamp: event.timestamp ?? null,
  };
}

/** All of them, but for GitLab's token, which is the secret itself. */
function headersFor({ provider }: Pick<WebhookRecord, 'provider'>, headers: Headers): JsonObject {
  const shown: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) shown[name] = provider === 'GITLAB' && name === 'x-gitlab-token' ? '***' : value;
  return shown;
}

/** The start of a flow by a delivery, which the instance names as its trigger. */
export function startOf(
  { deliveryId, webhook, replayOf }: Arrival,
  event: WebhookEvent,
  { organizationId, processId, version, environment }: ActiveWebhook,
  data: JsonObject,
): StartRequest {
  const about = { type: 'webhook', webhookId: webhook.id, webhookName: webhook.name, deliveryId };
  const trigger = {
    ...about,
    eventType: event.type,
    eventId: event.id ?? null,
    ...(replayOf === null ? {} : { replayOf }),
  };
  return { organizationId, processId, version, environment, data, trigger };
}

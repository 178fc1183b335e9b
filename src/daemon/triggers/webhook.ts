import { randomBytes } from 'node:crypto';
import type { JsonObject } from '../../engine/json.ts';
import { Refusal } from '../refusal.ts';
import type { Environment, Runtime } from '../runtime/door.ts';
import { newId } from '../runtime/ids.ts';
import type { DefinitionStore } from '../store/definitions.ts';
import type { FoundEndpoint, StoredEndpoint, WebhookRecord, WebhookStore } from '../store/webhooks.ts';
import type { ActiveTriggers, ActiveWebhook } from './active.ts';
import { type Arrival, environmentOf, type Incoming, onceOf, startOf, variablesOf } from './arrival.ts';
import type { DeliveryRecord, DeliveryStore } from './deliveries.ts';
import { type EventSource, readEvent, slackChallenge, UnreadableBody, type WebhookEvent } from './event.ts';
import { type Judgement, judgementOf, type Meant, meantOf, noMatch } from './judgement.ts';
import { type Scheme, signatureFault, signatureHeaderNames, signatureHeaders } from './signatures.ts';

/** How a delivery is sent again. */
export interface Replay {
  /** Undefined: where it came in. */
  readonly environment: Environment | undefined;
  /** Only this flow; undefined: all that are linked. */
  readonly processId: string | undefined;
  /** Instead of the active one. */
  readonly version: string | undefined;
  /** Signs it anew and checks that, as if it came from outside. Otherwise the operator's word is enough. */
  readonly resign: boolean;
}

export interface SignRequest {
  readonly environment: Environment | undefined;
  readonly body: Buffer;
  readonly eventId: string;
  readonly at: number;
  /** Signs with a secret that nobody has. */
  readonly forged: boolean;
}

export interface ReceiverParts {
  readonly runtime: Runtime;
  readonly webhooks: WebhookStore;
  readonly definitions: DefinitionStore;
  readonly deliveries: DeliveryStore;
  readonly active: ActiveTriggers;
}

/** Takes deliveries: first durable, then answered, then the flows run (decisions §6). */
export class WebhookReceiver {
  readonly #parts: ReceiverParts;
  constructor(parts: ReceiverParts) {
    this.#parts = parts;
  }

  /**
   * A request to an address. Resolves when it is durable together with the starts that it led to, with what to answer: the same
   * whether the signature held or not, but for the challenge with which Slack proves an address. NOT_FOUND for an unknown
   * token; StorageError.
   */
  async receive(token: string, incoming: Incoming, now: number): Promise<JsonObject> {
    const found = this.#parts.webhooks.at(token);
    if (found === undefined) throw new Refusal('NOT_FOUND', 'There is no webhook with this address.');
    const arrival = await this.#kept(found, incoming, now, null);
    const fault = this.#faultOf(arrival);
    if (fault !== undefined) {
      await this.#note(this.#record(arrival, undefined, fault));
      return { received: true };
    }
    const { challenge } = await this.#judge(arrival, (event) => this.#linked(arrival, event));
    return challenge === undefined ? { received: true } : { challenge };
  }

  /** Sends a delivery again, as a delivery of its own; it is never a repeat. Refusal when its content is gone. */
  async replay(webhook: WebhookRecord, original: DeliveryRecord, replay: Replay, now: number): Promise<DeliveryRecord> {
    const content = await this.#parts.deliveries.content(original);
    if (content === undefined)
      throw new Refusal('CONFLICT', `The content of delivery ${original.deliveryId} is no longer kept.`);
    const endpoint = endpointOf(webhook, replay.environment ?? original.environment ?? undefined);
    const { headers, body } = content;
    const incoming = replay.resign ? this.#resigned(webhook, endpoint, { headers, body }, original, now) : content;
    const arrival = await this.#kept({ webhook, endpoint }, incoming, now, original.deliveryId);
    const fault = replay.resign ? this.#faultOf(arrival) : undefined;
    if (fault !== undefined) return this.#note(this.#record(arrival, undefined, fault));
    const environment = replay.environment ?? environmentOf(endpoint);
    const { record } = await this.#judge(arrival, (event) => this.#chosen(webhook, event, environment, replay));
    return record;
  }

  /** The headers with which the sender would sign this now; and the address that it would send it to. */
  sign(
    webhook: WebhookRecord,
    request: SignRequest,
  ): { readonly token: string; readonly headers: Record<string, string> } {
    const endpoint = endpointOf(webhook, request.environment);
    if (webhook.auth === 'NONE') return { token: endpoint.token, headers: {} };
    const [secret = ''] = request.forged
      ? [randomBytes(32).toString('base64')]
      : this.#parts.webhooks.secrets(webhook, endpoint, request.at);
    const { body, eventId: id, at } = request;
    return { token: endpoint.token, headers: signatureHeaders(schemeOf(webhook), secret, { body, id, at }) };
  }

  async #kept(found: FoundEndpoint, incoming: Incoming, now: number, replayOf: string | null): Promise<Arrival> {
    const content = await this.#parts.deliveries.keep(incoming.headers, incoming.body);
    return { ...found, incoming, deliveryId: newId(now), now, content, replayOf };
  }

  #faultOf({ webhook, endpoint, incoming, now }: Arrival): Judgement | undefined {
    if (webhook.auth === 'NONE') return undefined;
    const secrets = this.#parts.webhooks.secrets(webhook, endpoint, now);
    const fault = signatureFault(schemeOf(webhook), secrets, incoming.headers, incoming.body, now);
    return fault && { ...fault, processInstanceIds: [] };
  }

  /** Reads the event and starts what is meant by it, in one commit with the delivery's record. */
  async #judge(
    arrival: Arrival,
    meant: (event: WebhookEvent) => Meant,
  ): Promise<{ readonly record: DeliveryRecord; readonly challenge?: string }> {
    const { webhook, incoming } = arrival;
    let event: WebhookEvent;
    try {
      event = readEvent(sourceOf(webhook), incoming.headers, incoming.body);
    } catch (error) {
      if (!(error instanceof UnreadableBody)) throw error;
      return { record: await this.#note(this.#record(arrival, undefined, noMatch(error.message))) };
    }
    const challenge = slackChallenge(sourceOf(webhook), event);
    if (challenge !== undefined) {
      const judgement = noMatch("answered Slack's url_verification");
      return { record: await this.#note(this.#record(arrival, event, judgement)), challenge };
    }
    return { record: await this.#start(arrival, event, meant(event)) };
  }

  async #start(arrival: Arrival, event: WebhookEvent, { triggers, reason }: Meant): Promise<DeliveryRecord> {
    const data = variablesOf(arrival, event);
    const starts = triggers.map((trigger) => startOf(arrival, event, trigger, data));
    let record: DeliveryRecord | undefined;
    const outcome = await this.#parts.runtime.startAll(
      {
        starts,
        facts: (started) => {
          record = this.#record(arrival, event, judgementOf(started, reason));
          return [this.#parts.deliveries.fact(record)];
        },
        answer: arrival.deliveryId,
      },
      onceOf(arrival, event),
    );
    if (outcome === 'done') return this.#announced(record as DeliveryRecord);
    const repeated = this.#repeated(arrival, event, String(outcome.repeatOf));
    return this.#note(this.#record(arrival, event, { verdict: 'DUPLICATE', reason: repeated, processInstanceIds: [] }));
  }

  #repeated({ webhook }: Arrival, { id }: WebhookEvent, first: string): string {
    const didNothing = this.#parts.deliveries.get(webhook.id, first)?.verdict === 'NO_MATCH';
    const hint = didNothing ? ', which started nothing: replay it to start the flow now' : '';
    return `the event ${id} came before, with delivery ${first}${hint}`;
  }

  /** What is published and linked to the registration, in the environment of the address. */
  #linked({ webhook, endpoint }: Arrival, event: WebhookEvent): Meant {
    const linked = this.#parts.active.webhooks(webhook);
    const environment = environmentOf(endpoint);
    return meantOf(webhook, event, environment, linked);
  }

  #chosen(webhook: WebhookRecord, event: WebhookEvent, environment: Environment, replay: Replay): Meant {
    const { processId, version } = replay;
    const linked =
      version === undefined
        ? this.#parts.active.webhooks(webhook).filter((one) => processId === undefined || one.processId === processId)
        : this.#ofVersion(webhook, environment, processId, version);
    if (linked.length === 0 && (processId ?? version) !== undefined) {
      const which = version === undefined ? 'that flow is not' : `no version ${version} of a flow is`;
      return { triggers: [], reason: `${which} linked to the webhook ${webhook.name}` };
    }
    return meantOf(webhook, event, environment, linked);
  }

  /** The triggers of that version of a flow; without a flow, of every flow that is linked now and has such a version. */
  #ofVersion(
    webhook: WebhookRecord,
    environment: Environment,
    processId: string | undefined,
    version: string,
  ): ActiveWebhook[] {
    const { definitions, active } = this.#parts;
    const ids = processId === undefined ? active.webhooks(webhook).map((one) => one.processId) : [processId];
    return [...new Set(ids)].flatMap((id) => {
      const flow = definitions.find(id, webhook.organizationId);
      if (flow === undefined || definitions.version(id, version) === undefined) return [];
      const about = { organizationId: flow.organizationId, processId: id, flowName: flow.name, version, environment };
      return definitions
        .flow(id, version)
        .triggers.flatMap((trigger) =>
          trigger.type === 'webhook' && [webhook.id, webhook.name].includes(trigger.registration)
            ? [{ ...about, trigger }]
            : [],
        );
    });
  }

  /** The same event with the headers that its sender would sign it with now. */
  #resigned(
    webhook: WebhookRecord,
    endpoint: StoredEndpoint,
    { headers, body }: Incoming,
    original: DeliveryRecord,
    now: number,
  ): Incoming {
    if (webhook.auth === 'NONE') return { headers, body };
    const old = new Set(signatureHeaderNames(schemeOf(webhook)));
    const kept = Object.entries(headers).filter(([name]) => !old.has(name));
    const [secret = ''] = this.#parts.webhooks.secrets(webhook, endpoint, now);
    const signable = { body, id: original.eventId ?? original.deliveryId, at: now };
    const signed = Object.entries(signatureHeaders(schemeOf(webhook), secret, signable));
    return {
      headers: Object.fromEntries([...kept, ...signed.map(([name, value]) => [name.toLowerCase(), value])]),
      body,
    };
  }

  #record(arrival: Arrival, event: WebhookEvent | undefined, judgement: Judgement): DeliveryRecord {
    const { deliveryId, webhook, endpoint, now, incoming, content, replayOf } = arrival;
    return {
      deliveryId,
      webhookId: webhook.id,
      receivedAt: new Date(now).toISOString(),
      environment: endpoint.environment,
      eventType: event?.type ?? null,
      eventId: event?.id ?? null,
      traceId: event?.traceId ?? deliveryId,
      ...judgement,
      replayOf,
      size: incoming.body.length,
      content,
    };
  }

  async #note(record: DeliveryRecord): Promise<DeliveryRecord> {
    const { runtime, deliveries } = this.#parts;
    await runtime.facts.put([deliveries.fact(record)]);
    return this.#announced(record);
  }

  #announced(record: DeliveryRecord): DeliveryRecord {
    this.#parts.deliveries.announce(record);
    return record;
  }
}

/** The endpoint of an environment; a SHARED registration has one for both. */
export function endpointOf(webhook: WebhookRecord, environment: Environment | undefined): StoredEndpoint {
  const place = webhook.mode === 'SHARED' ? null : (environment ?? 'PRODUCTION');
  return webhook.endpoints.find((one) => one.environment === place) as StoredEndpoint;
}

/** Left out where the record has none. */
const given = <K extends string>(key: K, value: string | null) =>
  (value === null ? {} : { [key]: value }) as { readonly [P in K]?: string };

const schemeOf = (webhook: WebhookRecord): Scheme => ({
  provider: webhook.provider,
  algorithm: webhook.algorithm,
  encoding: webhook.encoding,
  ...given('signatureHeader', webhook.signatureHeader),
  ...given('signaturePrefix', webhook.signaturePrefix),
});
/** Where the sender of a webhook tells what an event is. */
export const sourceOf = (webhook: WebhookRecord): EventSource => ({
  provider: webhook.provider,
  ...given('eventTypePath', webhook.eventTypePath),
  ...given('eventIdPath', webhook.eventIdPath),
});

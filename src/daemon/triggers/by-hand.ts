import type { Trigger } from '../../engine/flow.ts';
import type { JsonObject } from '../../engine/json.ts';
import { invalid, Refusal } from '../refusal.ts';
import type { Environment, Runtime } from '../runtime/door.ts';
import { newId } from '../runtime/ids.ts';
import type { DefinitionStore, FlowRecord } from '../store/definitions.ts';
import type { UploadStore } from '../store/uploads.ts';
import type { WebhookStore } from '../store/webhooks.ts';
import { variablesOf as webhookVariables } from './arrival.ts';
import { storedFiles } from './email/attachments.ts';
import { passes } from './email/filter.ts';
import { readMail } from './email/mail.ts';
import { variablesOf as emailVariables } from './email/start.ts';
import { type EventSource, isMeant, readEvent, UnreadableBody, type WebhookEvent } from './event.ts';
import type { Headers, Provider } from './signatures.ts';
import { sourceOf } from './webhook.ts';

/** What a trigger is tried with. */
export interface Trial {
  readonly flow: FlowRecord;
  readonly version: string;
  readonly environment: Environment;
  readonly type: 'webhook' | 'schedule' | 'email';
  /** Which of several triggers: the webhook, connection or cron expression in it. Undefined: any that fits. */
  readonly link: string | undefined;
  /** Who sends the event, where the webhook is not registered yet. */
  readonly provider: Provider | undefined;
  readonly headers: Headers;
  /** The body of the event, or the message as it is in the inbox. */
  readonly payload: Buffer;
  /** Who tries it, as the run's `trigger` names them. */
  readonly by: JsonObject;
}
/** Without an instance: why the trigger did not fire. */
export interface Tried {
  readonly processInstanceId: string | null;
  readonly reason: string | null;
}
interface Parts {
  readonly runtime: Runtime;
  readonly definitions: DefinitionStore;
  readonly webhooks: WebhookStore;
  readonly uploads: UploadStore;
}
type Of<T extends Trigger['type']> = Extract<Trigger, { type: T }>;

/**
 * Tries the path of a trigger: what it is given is read, filtered and made into variables as when it comes from outside; only
 * its signature is not checked, and it is never taken for a repeat. The run's `trigger` says `byHand`.
 */
export async function tryTrigger(parts: Parts, trial: Trial): Promise<Tried> {
  const triggers = triggersOf(parts, trial);
  if (trial.type === 'webhook') return tryWebhook(parts, trial, triggers as Of<'webhook'>[]);
  if (trial.type === 'email') return tryEmail(parts, trial, triggers as Of<'email'>[]);
  const [{ cron, timezone }] = triggers as [Of<'schedule'>];
  return start(parts, trial, {}, { cron, timezone });
}

function triggersOf({ definitions }: Parts, { flow, version, type, link }: Trial): Trigger[] {
  const ofType = definitions.flow(flow.processId, version).triggers.filter((one) => one.type === type);
  const found = ofType.filter((one) => link === undefined || linkOf(one) === link);
  if (found.length > 0) return found;
  if (ofType.length === 0)
    throw invalid('type', `is ${type}, but version ${version} of ${flow.name} has no such trigger`);
  const links = ofType.map(linkOf).join(', ');
  throw invalid('link', `is in no ${type} trigger of version ${version}; there are: ${links}`);
}

function linkOf(trigger: Trigger): string | undefined {
  if (trigger.type === 'webhook') return trigger.registration;
  if (trigger.type === 'email') return trigger.connection;
  return trigger.type === 'schedule' ? trigger.cron : undefined;
}

async function tryWebhook(parts: Parts, trial: Trial, triggers: readonly Of<'webhook'>[]): Promise<Tried> {
  const wanted: string[] = [];
  for (const { registration, eventType } of triggers) {
    const source = sourceFor(parts, trial, registration);
    const event = readable(source, trial);
    if (typeof event === 'string') return { processInstanceId: null, reason: event };
    if (isMeant(eventType, event))
      return start(parts, trial, dataOf(source, event, trial), { registration, eventType: event.type });
    wanted.push(`${eventType} (this is ${event.type || 'of no type'})`);
  }
  return { processInstanceId: null, reason: `no trigger wants it, only: ${wanted.join(', ')}` };
}

function sourceFor({ webhooks }: Parts, { flow, provider }: Trial, registration: string): EventSource {
  const all = webhooks.list(flow.organizationId);
  const webhook = all.find(({ id }) => id === registration) ?? all.find(({ name }) => name === registration);
  if (webhook !== undefined && (provider ?? webhook.provider) === webhook.provider) return sourceOf(webhook);
  if (provider !== undefined) return { provider };
  throw new Refusal(
    'CONFLICT',
    `The trigger names the webhook ${registration}, which is not there: make it, or say who sends the event (provider).`,
  );
}

/** The event, or why it can't be read. */
function readable(source: EventSource, { headers, payload }: Trial): WebhookEvent | string {
  try {
    return readEvent(source, headers, payload);
  } catch (error) {
    if (error instanceof UnreadableBody) return error.message;
    throw error;
  }
}

const dataOf = (webhook: EventSource, event: WebhookEvent, { headers, payload: body }: Trial): JsonObject =>
  webhookVariables({ deliveryId: newId(Date.now()), webhook, incoming: { headers, body } }, event);

async function tryEmail(parts: Parts, trial: Trial, triggers: readonly Of<'email'>[]): Promise<Tried> {
  const mail = await readMail(trial.payload);
  const trigger = triggers.find((one) => passes(one, mail));
  if (trigger === undefined) {
    const reason = `the filters let no message with the subject “${mail.subject}” of ${mail.sender || 'nobody'} pass`;
    return { processInstanceId: null, reason };
  }
  const files = await storedFiles(parts.uploads, trial.flow.organizationId, mail);
  return start(parts, trial, emailVariables(mail, files), { connection: trigger.connection });
}

async function start({ runtime }: Parts, trial: Trial, data: JsonObject, about: JsonObject): Promise<Tried> {
  const { flow, version, environment, type, by } = trial;
  const { organizationId, processId } = flow;
  const trigger = { type, byHand: true, ...by, ...about };
  const { processInstanceId } = await runtime.start({ organizationId, processId, version, environment, data, trigger });
  return { processInstanceId, reason: null };
}

import type { Environment, Started } from '../runtime/door.ts';
import { Rejection } from '../runtime/door.ts';
import type { WebhookRecord } from '../store/webhooks.ts';
import { type ActiveWebhook, onePerFlow } from './active.ts';
import type { Verdict } from './deliveries.ts';
import { isMeant, type WebhookEvent } from './event.ts';

/** What becomes of a delivery. */
export interface Judgement {
  readonly verdict: Verdict;
  readonly reason: string | null;
  readonly processInstanceIds: readonly string[];
}
/** The triggers that fire; with none, why. */
export interface Meant {
  readonly triggers: readonly ActiveWebhook[];
  readonly reason: string | null;
}

export const noMatch = (reason: string): Judgement => ({ verdict: 'NO_MATCH', reason, processInstanceIds: [] });

/** After the starts that were tried; `reason`: why there were none. */
export function judgementOf(started: readonly (Started | Rejection)[], reason: string | null): Judgement {
  const runs = started.flatMap((one) => (one instanceof Rejection ? [] : [one.processInstanceId]));
  const refused = started.flatMap((one) => (one instanceof Rejection ? [one.message] : []));
  const why = refused.length > 0 ? `not started: ${refused.join('; ')}` : reason;
  return { verdict: runs.length > 0 ? 'STARTED' : 'NO_MATCH', reason: why, processInstanceIds: runs };
}

/** Of the triggers that link to a webhook, those that fire in an environment; a flow with two that fit starts once. */
export function meantOf(
  webhook: WebhookRecord,
  event: WebhookEvent,
  environment: Environment,
  linked: readonly ActiveWebhook[],
): Meant {
  if (linked.length === 0)
    return { triggers: [], reason: `no published flow is linked to the webhook ${webhook.name}` };
  const published = linked.filter((one) => one.environment === environment);
  if (published.length === 0)
    return { triggers: [], reason: `no linked flow is published in ${environment}: ${namesOf(linked)}` };
  const triggers = published.filter(({ trigger }) => isMeant(trigger.eventType, event));
  if (triggers.length > 0) return { triggers: onePerFlow(triggers), reason: null };
  const wanted = [...new Set(published.map(({ trigger }) => trigger.eventType))].join(', ');
  return { triggers, reason: `no linked flow wants events of type ${event.type || '(none)'}, only: ${wanted}` };
}

const namesOf = (linked: readonly ActiveWebhook[]): string =>
  [...new Set(linked.map(({ flowName }) => flowName))].slice(0, 5).join(', ');

import type { Committer } from './commit.ts';
import { throwEvent } from './deliver.ts';
import { type EventAnswer, type EventRequest, type Once, Rejection } from './door.ts';
import { newId } from './ids.ts';
import { eventKey } from './subscriptions.ts';

/** How long a messageId is remembered: a repeat within it is not taken again. */
const REMEMBERED_MS = 7 * 24 * 3600_000;

/**
 * Correlates an event from outside: a message goes to one waiting subscription, a signal of that name to all; a message that
 * nothing waits for is buffered for its timeToLive, or refused (semantics 12-14).
 */
export async function sendEvent(committer: Committer, request: EventRequest): Promise<EventAnswer> {
  const { organizationId, eventType: name, correlationKey, data, messageId, timeToLive } = request;
  const answer = await committer.submit(
    (transaction) => {
      const { surroundings, messages } = committer.waiting;
      const { misses } = surroundings;
      const event = { name, correlationKey, data };
      const taken = [...throwEvent(transaction, surroundings, { organizationId }, { event: 'message', ...event })];
      for (const id of throwEvent(transaction, surroundings, { organizationId }, { event: 'signal', ...event })) {
        if (!taken.includes(id)) taken.push(id);
      }
      if (taken.length > 0) return { status: 'correlated', processInstanceIds: taken };
      if (timeToLive === undefined || timeToLive <= 0) {
        misses.event(organizationId, { name, correlationKey, at: transaction.at });
        throw new Rejection(
          'NO_MATCHING_SUBSCRIPTION',
          `nothing waits for "${name}" with the key "${correlationKey}"; give it a timeToLive to have it wait`,
        );
      }
      messages.add(transaction, newId(transaction.at), { ...request, timeToLive });
      return { status: 'buffered', processInstanceIds: [] };
    },
    onceOf(organizationId, name, correlationKey, messageId),
  );
  return answer as unknown as EventAnswer;
}

/** The same (eventType, correlationKey, messageId) is taken once, whatever its data. */
function onceOf(
  organizationId: string,
  name: string,
  correlationKey: string,
  messageId: string | undefined,
): Once | undefined {
  if (messageId === undefined) return undefined;
  const key = `message:${eventKey(organizationId, 'message', name, correlationKey)}:${messageId}`;
  return { key, fingerprint: '', expiresAt: Date.now() + REMEMBERED_MS };
}

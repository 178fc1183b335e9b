import { organizationFilter } from '../../auth/caller.ts';
import type { LifecycleEvent, LogEvent, Runtime } from '../../runtime/door.ts';
import type { Handlers, Services } from '../handler.ts';
import { unknownId } from '../ids.ts';
import type { Message } from '../streams.ts';

export function streamHandlers({ runtime, stores, streams }: Services): Handlers<'streamLog' | 'streamEvents'> {
  return {
    /**
     * Entries have the ids 1, 2, … and the end has the next one: a reader who saw the end and asks again gets 204, one who
     * missed it gets it. An id that the log did not give starts from the beginning.
     */
    async streamLog({ caller: { organizationId }, params: { processInstanceId: id }, request, reply }) {
      const asked = logId(request.headers['last-event-id']);
      if (await sawTheEnd(runtime, organizationId, id, asked)) {
        void reply.code(204).send();
        return undefined;
      }
      streams.answer(request, reply, (signal) => logMessages(runtime.log(organizationId, id, asked, signal), asked));
      return undefined;
    },

    streamEvents({ caller, query, request, reply }) {
      const organizationId = organizationFilter(caller, query.organizationId, stores.organizations);
      const sent = request.headers['last-event-id'];
      const after = typeof sent === 'string' ? sent : undefined;
      streams.answer(request, reply, (signal) => lifecycleMessages(runtime.lifecycle(organizationId, after, signal)));
      return undefined;
    },
  };
}

const logId = (sent: string | string[] | undefined): number =>
  typeof sent === 'string' && /^\d{1,15}$/.test(sent) ? Number(sent) : 0;

/** Whether `asked` is the id of the end of a log. INSTANCE_NOT_FOUND. */
async function sawTheEnd(
  runtime: Runtime,
  organizationId: string | undefined,
  id: string,
  asked: number,
): Promise<boolean> {
  if (asked > 0) {
    const instance = await runtime.instance(organizationId, id);
    if (instance === undefined) throw unknownId('processInstanceId', id);
    // What a running instance has to say next may be long in coming, so only an ended one is asked.
    if (instance.stateCd === 0) return false;
  }
  const before = Math.max(0, asked - 1);
  for await (const event of runtime.log(organizationId, id, before, new AbortController().signal))
    return 'end' in event;
  return false;
}

async function* logMessages(events: AsyncIterable<LogEvent>, after: number): AsyncGenerator<Message> {
  let last = after;
  for await (const event of events) {
    if ('end' in event) yield { id: String(last + 1), event: 'end', data: event.end };
    else {
      last = event.id;
      yield { id: String(last), event: 'log', data: event.entry };
    }
  }
}

async function* lifecycleMessages(events: AsyncIterable<LifecycleEvent>): AsyncGenerator<Message> {
  for await (const { id, type, data } of events) yield { id, event: type, data: { type, ...data } };
}

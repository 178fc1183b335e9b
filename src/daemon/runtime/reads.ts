import type { Flow } from '../../engine/flow.ts';
import {
  type Event,
  HistoryFold,
  type Json,
  LogFold,
  PastFold,
  type State,
  type Step,
  unfolded,
  ViewFold,
  WaitFold,
} from '../../engine/index.ts';
import { jsonSize } from '../../engine/json.ts';
import type { JournalPort, StoredEvents } from '../ports.ts';
import {
  type Definitions,
  type InstanceQuery,
  type InstanceSummary,
  type InstanceView,
  type LogEvent,
  type Page,
  Rejection,
  type Waits,
} from './door.ts';
import type { Feed } from './feed.ts';
import { isId } from './ids.ts';
import type { Memory } from './memory.ts';
import { iso, summaryOf } from './summary.ts';

/** Reading: everything here tells only what is durable. */
export class Reads {
  readonly #journal: JournalPort;
  readonly #definitions: Definitions;
  readonly #feed: Feed;
  readonly #memory: () => Memory;

  constructor(journal: JournalPort, definitions: Definitions, feed: Feed, memory: () => Memory) {
    this.#journal = journal;
    this.#definitions = definitions;
    this.#feed = feed;
    this.#memory = memory;
  }

  /** As it is, or as it was once its log had `entries` entries. */
  async instance(organizationId: string | undefined, id: string, entries?: number): Promise<InstanceView | undefined> {
    const view =
      entries === undefined
        ? await this.fold(id, (flow) => new ViewFold(flow))
        : (await this.fold(id, (flow) => new PastFold(flow, entries)))?.view;
    if (view === undefined || !belongs(view.state, organizationId)) return undefined;
    const nodes = view.nodes.map(({ startTime, endTime, ...node }) => ({
      ...node,
      startTime: iso(startTime),
      ...(endTime !== undefined && { endTime: iso(endTime) }),
    }));
    return { ...summaryOf(view.state), data: view.state.variables, children: view.children, nodes };
  }

  /** A page ends where it is full, by the number of its steps or by what they hold; the cursor is its last step. */
  async history(
    organizationId: string | undefined,
    id: string,
    { step: after, limit }: { readonly step: number; readonly limit: number },
  ): Promise<Page<Step> | undefined> {
    const items: Step[] = [];
    let bytes = 0;
    let fold: HistoryFold | undefined;
    for await (const part of isId(id) ? this.#journal.history(id) : []) {
      fold ??= new HistoryFold(this.#flowOf(part));
      for (const event of eventsOf(part)) {
        const step = fold.next(event, part.at);
        if (!belongs(fold.state, organizationId)) return undefined;
        if (step === undefined || step.step <= after) continue;
        if (items.length === limit || bytes > STEPS_BYTES)
          return { items, nextCursor: String((items.at(-1) as Step).step) };
        items.push(step);
        bytes += jsonSize(step.changes as unknown as Json) + step.message.length;
      }
    }
    return fold && { items, nextCursor: null };
  }

  async waits(organizationId: string | undefined, id: string): Promise<Waits | undefined> {
    const fold = await this.fold(id, (flow) => new WaitFold(flow));
    if (fold === undefined || !belongs(fold.state, organizationId)) return undefined;
    return { instance: summaryOf(fold.state), waits: fold.waits, ended: fold.ended };
  }

  /** Folds an instance's history; undefined for an unknown id. */
  async fold<F extends { next(event: Event, at: number): unknown }>(
    id: string,
    make: (flow: Flow) => F,
  ): Promise<F | undefined> {
    if (!isId(id)) return undefined;
    let fold: F | undefined;
    for await (const part of this.#journal.history(id)) {
      fold ??= make(this.#flowOf(part));
      for (const event of eventsOf(part)) fold.next(event, part.at);
    }
    return fold;
  }

  /** The summary of an instance, live or ended. */
  async summary(id: string): Promise<InstanceSummary | undefined> {
    const live = this.#memory().live.get(id)?.durable;
    if (live !== undefined) return summaryOf(live);
    const ended = isId(id) ? await this.#journal.endedInstance(id) : undefined;
    return ended?.ended as InstanceSummary | undefined;
  }

  #flowOf(part: StoredEvents): Flow {
    const [started] = eventsOf(part);
    if (started?.type !== 'instanceStarted') throw new Error(`the history of ${part.id} does not begin with its start`);
    return this.#definitions.flow(started.processId, started.version);
  }

  /** Newest first: live instances and ended ones, merged by their time-ordered ids. */
  async instances(query: InstanceQuery): Promise<Page<InstanceSummary>> {
    const items: InstanceSummary[] = [];
    const live = this.#liveBefore(query.cursor);
    let next = 0;
    const take = (summary: InstanceSummary): boolean => matches(summary, query) && items.push(summary) > query.limit;
    if (query.stateCd === undefined || query.stateCd !== 0) {
      for await (const { id, ended } of this.#journal.ended(query.cursor)) {
        while (next < live.length && (live[next] as State).id > id) {
          if (take(summaryOf(live[next++] as State))) return pageOf(items, query.limit);
        }
        if (take(ended as unknown as InstanceSummary)) return pageOf(items, query.limit);
      }
    }
    while (next < live.length) if (take(summaryOf(live[next++] as State))) break;
    return pageOf(items, query.limit);
  }

  #liveBefore(cursor: string | undefined): readonly State[] {
    const states: State[] = [];
    for (const { durable } of this.#memory().live.values()) {
      if (durable?.stateCd === 0 && (cursor === undefined || durable.id < cursor)) states.push(durable);
    }
    return states.sort((a, b) => (a.id < b.id ? 1 : -1));
  }

  /** How many log lines an instance has by now, and whether more can come. */
  async logPosition(
    organizationId: string | undefined,
    id: string,
  ): Promise<{ last: number; ended: boolean } | undefined> {
    let last = 0;
    const fold = await this.fold(id, (flow) => {
      const log = new LogFold(flow);
      const next = (event: Event, at: number): void => {
        if (log.next(event, at) !== undefined) last += 1;
      };
      return { next, log };
    });
    if (fold === undefined || !belongs(fold.log.state, organizationId)) return undefined;
    return { last, ended: fold.log.state.stateCd !== 0 };
  }

  /** Every log line gets the next number, so that a number is a place to go on from. */
  async *log(
    organizationId: string | undefined,
    id: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<LogEvent> {
    const over = new AbortController();
    try {
      yield* this.#followed(organizationId, id, after, AbortSignal.any([signal, over.signal]));
    } finally {
      // A reader that has seen enough need not abort: nobody wakes it any more.
      over.abort();
    }
  }

  async *#followed(
    organizationId: string | undefined,
    id: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<LogEvent> {
    let from = after;
    let fold: LogFold | undefined;
    let seq = 1;
    let count = 0;
    while (!signal.aborted) {
      const changed = this.#feed.changed(id, signal);
      for await (const part of isId(id) ? this.#journal.history(id, seq) : []) {
        fold ??= new LogFold(this.#flowOf(part));
        for (const event of eventsOf(part)) {
          const line = fold.next(event, part.at);
          if (line !== undefined) count += 1;
          if (!belongs(fold.state, organizationId)) throw unknown(id);
          if (line !== undefined && count > from) {
            const { at, ...entry } = line;
            yield { id: count, entry: { ...entry, timestamp: iso(at) } };
          }
          if (event.type === 'instanceEnded' && count >= from) return yield { end: { stateCd: event.stateCd } };
        }
        seq = part.seq + part.events.length;
      }
      if (fold === undefined) throw unknown(id);
      if (count < from) {
        // Nobody was ever given that number: begin anew.
        [from, seq, count, fold] = [0, 1, 0, undefined];
        continue;
      }
      await changed;
    }
  }
}

/** What the steps of one page may hold, but for one of them. */
const STEPS_BYTES = 1024 * 1024;

const eventsOf = (part: StoredEvents): readonly Event[] => unfolded(part.events as unknown as readonly Event[]);
const unknown = (id: string): Rejection =>
  new Rejection('INSTANCE_NOT_FOUND', `there is no instance ${id.slice(0, 100)}`);

export const belongs = (state: Pick<State, 'organizationId'>, organizationId: string | undefined): boolean =>
  organizationId === undefined || state.organizationId === organizationId;

function matches(summary: InstanceSummary, query: InstanceQuery): boolean {
  return (
    belongs(summary, query.organizationId) &&
    (query.processId === undefined || summary.processId === query.processId) &&
    (query.stateCd === undefined || summary.stateCd === query.stateCd) &&
    (query.environment === undefined || summary.environment === query.environment) &&
    (query.correlationKey === undefined || summary.correlationKey === query.correlationKey)
  );
}

/** `items` holds one more than the page when there are more. */
function pageOf(items: readonly InstanceSummary[], limit: number): Page<InstanceSummary> {
  const page = items.slice(0, limit);
  return { items: page, nextCursor: items.length > limit ? (page.at(-1)?.processInstanceId ?? null) : null };
}

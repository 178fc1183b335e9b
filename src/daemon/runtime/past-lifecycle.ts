import type { Flow } from '../../engine/flow.ts';
import type { Event, InstanceStarted } from '../../engine/index.ts';
import type { InstanceEvents, JournalPort } from '../ports.ts';
import type { Definitions } from './door.ts';
import { type Identity, NODE_ENDS, type Transitions, transitionsOf } from './lifecycle.ts';

/** An instance as far as it was read: its nodes that are active, by the number of their activation. */
interface Met {
  readonly instance: Identity;
  readonly flow: Flow;
  readonly active: Map<number, string>;
}

/** How many instances are remembered while frames go by; of one that was forgotten, the history is read again. */
const REMEMBERED = 10_000;

/** Lifecycle events that no memory holds any more: out of the journal. */
export class PastLifecycle {
  readonly #journal: JournalPort;
  readonly #definitions: Definitions;

  constructor(journal: JournalPort, definitions: Definitions) {
    this.#journal = journal;
    this.#definitions = definitions;
  }

  /** The newest durable frame. */
  get newest(): number {
    return this.#journal.stats.frames;
  }

  /** Those of each frame after `frame`, up to the newest of now. StorageError, CorruptJournalError. */
  async *after(frame: number): AsyncGenerator<readonly Transitions[]> {
    const known = new Map<string, Met>();
    for await (const { number, at, instances } of this.#journal.frames(frame)) {
      const transitions: Transitions[] = [];
      let index = 0;
      for (const part of instances) {
        const { id, seq } = part;
        const events = eventsOf(part);
        const met = known.get(id) ?? (await this.#meet(id, seq, events));
        const { types, nodes } = transitionsOf(events, (n) => met.active.get(n));
        const end = events.findLast((event) => event.type === 'instanceEnded');
        const instance = end === undefined ? met.instance : { ...met.instance, stateCd: end.stateCd };
        transitions.push({ frame: number, index, at, instance, flow: met.flow, types, nodes });
        index += types.length;
        follow(met, events);
        if (end !== undefined) known.delete(id);
        else known.set(id, met);
      }
      yield transitions;
      for (const id of known.keys()) {
        if (known.size <= REMEMBERED) break;
        known.delete(id);
      }
    }
  }

  /** The instance as it was before its event number `seq`, with which `events` begin. */
  async #meet(id: string, seq: number, events: readonly Event[]): Promise<Met> {
    if (seq === 1) return this.#met(events[0] as InstanceStarted);
    let met: Met | undefined;
    for await (const part of this.#journal.history(id)) {
      if (part.seq >= seq) break;
      const before = eventsOf(part);
      met ??= this.#met(before[0] as InstanceStarted);
      follow(met, before);
    }
    return met as Met;
  }

  #met({ id, processId, version, environment, organizationId }: InstanceStarted): Met {
    const instance = { id, processId, version, environment, organizationId, stateCd: 0 };
    return { instance, flow: this.#definitions.flow(processId, version), active: new Map() };
  }
}

const eventsOf = ({ events }: InstanceEvents): readonly Event[] => events as unknown as readonly Event[];

function follow({ active }: Met, events: readonly Event[]): void {
  for (const event of events) {
    if (event.type === 'nodeStarted') active.set(event.n, event.node);
    else if (NODE_ENDS.has(event.type) && 'n' in event) active.delete(event.n);
  }
}

import {
  applyAll,
  EVENT_FORMAT,
  type Event,
  emptyDraft,
  restoreState,
  type State,
  storedState,
} from '../../engine/index.ts';
import type { JsonObject } from '../../engine/json.ts';
import type { Fact, InstanceEvents, Recovery } from '../ports.ts';
import type { Memory } from './memory.ts';

/** A checkpoint's entries: every live instance and every fact, as they were right after one frame. Made while it is written. */
export function checkpointOf(memory: Memory): Iterable<JsonObject> {
  const states = [...memory.live.values()].flatMap(({ durable }) => (durable === undefined ? [] : [durable]));
  const collections = [...memory.collections].map(([name, values]) => [name, [...values]] as const);
  return entries(states, collections);
}

function* entries(
  states: readonly State[],
  collections: readonly (readonly [string, readonly (readonly [string, JsonObject[string]])[]])[],
): Generator<JsonObject> {
  for (const state of states) yield { state: storedState(state) };
  for (const [collection, values] of collections) {
    for (const [key, value] of values) yield { fact: { collection, key, value } };
  }
}

/** Reads a recovery into `memory`'s collections; gives the live instances. Only applies: nothing is evaluated or decided. */
export async function restored(recovery: Recovery, memory: Memory): Promise<ReadonlyMap<string, State>> {
  const states = new Map<string, State>();
  for await (const entry of recovery.checkpoint) {
    const { state, fact } = entry as { readonly state?: JsonObject; readonly fact?: JsonObject };
    if (fact !== undefined) memory.apply(fact as unknown as Fact);
    if (state !== undefined) {
      const live = restoreState(state);
      states.set(live.id, live);
    }
  }
  for await (const frame of recovery.frames) {
    memory.frame = frame.number;
    for (const fact of frame.facts) memory.apply(fact);
    for (const part of frame.instances) replay(states, part, frame.at);
  }
  return states;
}

function replay(states: Map<string, State>, { id, seq, events }: InstanceEvents, at: number): void {
  const before = states.get(id) ?? emptyDraft();
  if (seq !== before.seq + 1) {
    throw new Error(`the journal has event ${seq} of instance ${id} where event ${before.seq + 1} belongs`);
  }
  refuseNewer(events[0]);
  const after = applyAll(before, events as unknown as readonly Event[], at);
  if (after.stateCd !== 0 && after.outbox.size === 0) states.delete(id);
  else states.set(id, after);
}

function refuseNewer(event: JsonObject | undefined): void {
  const format = event?.['type'] === 'instanceStarted' ? event['format'] : undefined;
  if (typeof format === 'number' && format > EVENT_FORMAT) {
    throw new Error(
      `the journal was written by a newer wfx (event format ${format}, this one knows ${EVENT_FORMAT}): update wfx`,
    );
  }
}

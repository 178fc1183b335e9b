import type { Json, JsonObject } from './json.ts';
import type { Activation, Owed, Scope, State } from './state.ts';

/** A state as JSON, for a checkpoint. `restoreState` gives an equal one back. */
export function storedState(state: State): JsonObject {
  return {
    ...(state as unknown as JsonObject),
    written: [...state.written],
    active: [...state.active.values()] as unknown as Json,
    scopes: [...state.scopes.values()] as unknown as Json,
    population: [...state.population] as unknown as Json,
    joins: [...state.joins].map(([key, tokens]) => [key, [...tokens]]),
    outbox: [...state.outbox] as unknown as Json,
  };
}

export function restoreState(stored: JsonObject): State {
  const { written, active, scopes, population, joins, outbox } = stored as unknown as {
    readonly written: readonly string[];
    readonly active: readonly Activation[];
    readonly scopes: readonly Scope[];
    readonly population: readonly [number, number][];
    readonly joins: readonly [string, [string, number][]][];
    readonly outbox: readonly [number, Owed][];
  };
  return {
    ...(stored as unknown as State),
    written: new Set(written),
    active: new Map(active.map((activation) => [activation.n, activation])),
    scopes: new Map(scopes.map((scope) => [scope.id, scope])),
    population: new Map(population),
    joins: new Map(joins.map(([key, tokens]) => [key, new Map(tokens)])),
    outbox: new Map(outbox),
  };
}

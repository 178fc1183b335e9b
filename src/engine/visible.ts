import { type Json, type JsonObject, member, merged } from './json.ts';
import { ROOT_SCOPE, type State } from './state.ts';

type Scoped = Pick<State, 'variables' | 'scopes'>;

/** The variables that a node in `scope` sees, by name: an iteration's own names first, then the instance's. */
export function visible(state: Scoped, scope: number): JsonObject {
  const inner = state.scopes.get(scope);
  if (scope === ROOT_SCOPE || inner === undefined) return state.variables;
  return merged(visible(state, inner.parent ?? ROOT_SCOPE), inner.local);
}

/** One of the variables that a node in `scope` sees. */
export function lookup(state: Scoped, scope: number, name: string): Json | undefined {
  const owner = ownerOf(state, scope, name);
  return member(owner === undefined ? state.variables : (state.scopes.get(owner)?.local ?? {}), name);
}

/** The iteration in or around `scope` that has `name` for its own; undefined: the name is the instance's. */
export function ownerOf(state: Pick<State, 'scopes'>, scope: number, name: string): number | undefined {
  let inner = scope === ROOT_SCOPE ? undefined : state.scopes.get(scope);
  while (inner !== undefined && inner.id !== ROOT_SCOPE) {
    if (Object.hasOwn(inner.local, name)) return inner.id;
    inner = state.scopes.get(inner.parent ?? ROOT_SCOPE);
  }
  return undefined;
}

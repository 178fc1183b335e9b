import { type JsonObject, merged } from './json.ts';
import { ROOT_SCOPE, type State } from './state.ts';

/** The variables that a node in `scope` sees, by name. */
export function visible(draft: Pick<State, 'variables' | 'scopes'>, scope: number): JsonObject {
  const inner = draft.scopes.get(scope);
  if (scope === ROOT_SCOPE || inner === undefined) return draft.variables;
  return merged(visible(draft, inner.parent ?? ROOT_SCOPE), inner.local);
}

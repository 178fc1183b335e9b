import { ROOT_SCOPE, type State } from './state.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * A state being changed within one turn. Its maps are the draft's own, the values in them are shared with the state that
 * it came from and are replaced, never changed.
 */
export type Draft = Omit<
  Mutable<State>,
  'active' | 'scopes' | 'population' | 'joins' | 'outbox' | 'written' | 'ready'
> & {
  active: Map<number, NonNullable<ReturnType<State['active']['get']>>>;
  scopes: Map<number, NonNullable<ReturnType<State['scopes']['get']>>>;
  population: Map<number, number>;
  joins: Map<string, NonNullable<ReturnType<State['joins']['get']>>>;
  outbox: Map<number, NonNullable<ReturnType<State['outbox']['get']>>>;
  written: Set<string>;
  ready: number[];
};

/** A draft that starts as a copy of `state`; costs what is alive in it, not what it went through. */
export function draftOf(state: State): Draft {
  return {
    ...state,
    active: new Map(state.active),
    scopes: new Map(state.scopes),
    population: new Map(state.population),
    joins: new Map(state.joins),
    outbox: new Map(state.outbox),
    written: new Set(state.written),
    ready: [...state.ready],
  };
}

const EMPTY_MAP: ReadonlyMap<never, never> = new Map<never, never>();
const EMPTY_SET: ReadonlySet<never> = new Set<never>();
const EMPTY_LIST: readonly never[] = [];

/** The draft as a state that stays: what is empty is shared, for most of what waits has most of its parts empty. */
export function stateOf(draft: Draft): State {
  const state: Mutable<State> = draft;
  if (draft.active.size === 0) state.active = EMPTY_MAP;
  if (draft.joins.size === 0) state.joins = EMPTY_MAP;
  if (draft.outbox.size === 0) state.outbox = EMPTY_MAP;
  if (draft.written.size === 0) state.written = EMPTY_SET;
  if (draft.ready.length === 0) state.ready = EMPTY_LIST;
  return state;
}

/** A new draft of the state before an instance's first event. */
export function emptyDraft(): Draft {
  return {
    id: '',
    processId: '',
    processName: '',
    version: '',
    path: [],
    organizationId: '',
    environment: '',
    trigger: {},
    depth: 0,
    root: '',
    startTime: 0,
    stateCd: 0,
    seq: 0,
    nextActivation: 1,
    nextScope: 1,
    nextOwed: 1,
    variables: {},
    size: 2,
    held: 0,
    written: new Set(),
    active: new Map(),
    ready: [],
    scopes: new Map([[ROOT_SCOPE, { id: ROOT_SCOPE, local: {}, value: null, held: 0 }]]),
    population: new Map(),
    joins: new Map(),
    outbox: new Map(),
  };
}

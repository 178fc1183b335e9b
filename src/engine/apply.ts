import { type Draft, draftOf } from './draft.ts';
import type { Assignment, Event, InstanceStarted } from './event.ts';
import { type Json, jsonSize, member, merged, withPath } from './json.ts';
import { type Activation, joinKey, type Loop, ROOT_SCOPE, type Scope, type State } from './state.ts';

/** `state` after `event`, which happened `at` (ms). The only code that changes state is in this file. */
export function apply(state: State, event: Event, at: number): State {
  const draft = draftOf(state);
  change(draft, event, at);
  return draft;
}

/** `state` after all of `events`, in order; what replay does with a frame. */
export function applyAll(state: State, events: readonly Event[], at: number): State {
  const draft = draftOf(state);
  for (const event of events) change(draft, event, at);
  return draft;
}

/** Applies one event to a draft in place. */
export function change(draft: Draft, event: Event, at: number): void {
  draft.seq += 1;
  switch (event.type) {
    case 'instanceStarted':
      return begin(draft, event, at);
    case 'nodeStarted':
      return startNode(draft, event.n, event.node, event.scope ?? ROOT_SCOPE, at);
    case 'nodeWaiting':
      return patch(draft, event.n, { phase: 'waiting', ...(event.task && { task: event.task }) });
    case 'workStarted':
      return patch(draft, event.n, {
        phase: 'working',
        attempt: event.attempt,
        timers: without(draft, event.n, 'retry'),
      });
    case 'workProgressed': {
      const { progress = [] } = activationOf(draft, event.n);
      return patch(draft, event.n, { progress: [...progress, event.step] });
    }
    case 'workFailed': {
      const timers = [...without(draft, event.n, 'retry'), { purpose: 'retry' as const, due: event.retryAt }];
      return patch(draft, event.n, { phase: 'retrying', timers });
    }
    case 'timerSet':
      return patch(draft, event.n, {
        timers: [...without(draft, event.n, event.purpose), { purpose: event.purpose, due: event.due }],
      });
    case 'timerLapsed':
      return patch(draft, event.n, { timers: without(draft, event.n, event.purpose) });
    case 'subscribed': {
      const { purpose, kind, name, correlationKey } = event;
      const { subscriptions } = activationOf(draft, event.n);
      return patch(draft, event.n, { subscriptions: [...subscriptions, { purpose, kind, name, correlationKey }] });
    }
    case 'nodeCompleted':
    case 'nodeFailed':
    case 'nodeCancelled':
    case 'nodeTimedOut':
      return endNode(draft, event.n);
    case 'variablesSet':
    case 'outputEmitted':
      return assign(draft, event.n, event.set);
    case 'tokenArrived':
      return arrive(draft, event.scope, event.node, event.via);
    case 'joinFired':
      return consume(draft, event.scope, event.node, event.vias);
    case 'loopStarted': {
      const { items, count } = event;
      const loop: Loop = {
        ...(items && { items }),
        ...(count !== undefined && { count }),
        next: 0,
        running: 0,
        results: [],
      };
      return patch(draft, event.n, { phase: 'body', loop });
    }
    case 'iterationStarted':
      return startIteration(draft, event.n, event.scope, event.as);
    case 'iterationEnded':
      return endIteration(draft, event.n, event.scope);
    case 'scopeDropped':
      return dropScope(draft, event.scope);
    case 'owed':
      draft.outbox.set(draft.nextOwed, event.owed);
      draft.nextOwed += 1;
      if (event.owed.kind === 'startChild' || event.owed.kind === 'call')
        patch(draft, event.owed.n, { phase: 'child' });
      return;
    case 'delivered':
      draft.outbox.delete(event.id);
      return;
    case 'childStarted':
      return patch(draft, event.n, { child: event.child });
    case 'childEnded': {
      const { child: _, ...rest } = activationOf(draft, event.n);
      draft.active.set(event.n, rest);
      return;
    }
    case 'instanceEnded':
      draft.stateCd = event.stateCd;
      draft.endTime = at;
      if (event.error !== undefined) draft.error = event.error;
      return;
    case 'eventTaken':
    case 'logged':
      return;
  }
}

function begin(draft: Draft, event: InstanceStarted, at: number): void {
  draft.id = event.id;
  draft.processId = event.processId;
  draft.processName = event.processName;
  draft.version = event.version;
  draft.path = event.path ?? [];
  draft.organizationId = event.organizationId;
  draft.environment = event.environment;
  if (event.correlationKey !== undefined) draft.correlationKey = event.correlationKey;
  draft.trigger = event.trigger;
  if (event.parent !== undefined) draft.parent = event.parent;
  if (event.retryOf !== undefined) draft.retryOf = event.retryOf;
  draft.depth = event.depth ?? 0;
  draft.root = event.root ?? event.id;
  draft.startTime = at;
  draft.variables = event.variables;
  draft.size = jsonSize(event.variables);
}

function startNode(draft: Draft, n: number, node: string, scope: number, at: number): void {
  draft.nextActivation = n + 1;
  draft.active.set(n, {
    n,
    node,
    scope,
    phase: 'ready',
    startedAt: at,
    attempt: 1,
    timers: NONE,
    subscriptions: NONE,
  });
  draft.ready.push(n);
  live(draft, scope, 1);
}
const NONE: readonly never[] = [];

function endNode(draft: Draft, n: number): void {
  const { scope } = activationOf(draft, n);
  draft.active.delete(n);
  notReady(draft, n);
  live(draft, scope, -1);
}

function notReady(draft: Draft, n: number): void {
  const index = draft.ready.indexOf(n);
  if (index >= 0) draft.ready.splice(index, 1);
}

function activationOf(draft: Draft, n: number): Activation {
  const activation = draft.active.get(n);
  if (activation === undefined) throw new Error(`instance ${draft.id} has no active node number ${n}`);
  return activation;
}

function patch(draft: Draft, n: number, changes: Partial<Activation>): void {
  const before = activationOf(draft, n);
  if (before.phase === 'ready' && changes.phase !== undefined) notReady(draft, n);
  draft.active.set(n, { ...before, ...changes });
}

const without = (draft: Draft, n: number, purpose: string) =>
  activationOf(draft, n).timers.filter((timer) => timer.purpose !== purpose);

function scopeOf(draft: Draft, id: number): Scope {
  const scope = draft.scopes.get(id);
  if (scope === undefined) throw new Error(`instance ${draft.id} has no scope number ${id}`);
  return scope;
}

function live(draft: Draft, id: number, by: number): void {
  draft.population.set(id, (draft.population.get(id) ?? 0) + by);
}

function assign(draft: Draft, n: number, set: readonly Assignment[]): void {
  for (const assignment of set) {
    const { path, value, scope } = assignment;
    if (scope === undefined) assignVariable(draft, path, value);
    else
      draft.scopes.set(scope, { ...scopeOf(draft, scope), local: withPath(scopeOf(draft, scope).local, path, value) });
  }
  const { scope } = activationOf(draft, n);
  if (scope !== ROOT_SCOPE && set.length > 0)
    draft.scopes.set(scope, { ...scopeOf(draft, scope), value: producedBy(set) });
}

function assignVariable(draft: Draft, path: readonly string[], value: Json): void {
  const name = path[0] as string;
  const before = member(draft.variables, name);
  draft.variables = withPath(draft.variables, path, value);
  const after = member(draft.variables, name) as Json;
  draft.size += jsonSize(after) + (before === undefined ? name.length + 4 : -jsonSize(before));
  draft.written.add(name);
}

/** One variable counts as its value, several as an object of them. */
function producedBy(set: readonly Assignment[]): Json {
  const [first] = set;
  if (set.length === 1 && first !== undefined) return first.value;
  return merged({}, Object.fromEntries(set.map(({ path, value }) => [path.join('.'), value])));
}

function arrive(draft: Draft, scope: number, node: string, via: string): void {
  const key = joinKey(scope, node);
  const tokens = new Map(draft.joins.get(key));
  tokens.set(via, (tokens.get(via) ?? 0) + 1);
  draft.joins.set(key, tokens);
  live(draft, scope, 1);
}

function consume(draft: Draft, scope: number, node: string, vias: readonly string[]): void {
  const key = joinKey(scope, node);
  const tokens = new Map(draft.joins.get(key));
  for (const via of vias) {
    const left = (tokens.get(via) ?? 0) - 1;
    if (left > 0) tokens.set(via, left);
    else tokens.delete(via);
  }
  if (tokens.size > 0) draft.joins.set(key, tokens);
  else draft.joins.delete(key);
  live(draft, scope, -vias.length);
}

function startIteration(draft: Draft, n: number, id: number, as: string | undefined): void {
  const activation = activationOf(draft, n);
  const loop = activation.loop as Loop;
  const item = loop.items?.[loop.next] ?? null;
  const named = loop.items === undefined ? { index: loop.next } : { index: loop.next, item };
  const local = merged({ loop: named }, as === undefined ? {} : { [as]: item });
  draft.nextScope = id + 1;
  draft.scopes.set(id, { id, parent: activation.scope, owner: n, index: loop.next, local, value: null });
  patch(draft, n, { loop: { ...loop, next: loop.next + 1, running: loop.running + 1 } });
}

function endIteration(draft: Draft, n: number, id: number): void {
  const scope = scopeOf(draft, id);
  const loop = activationOf(draft, n).loop as Loop;
  const results = [...loop.results];
  while (results.length < (scope.index ?? 0)) results.push(null);
  results[scope.index ?? 0] = scope.value;
  dropScope(draft, id);
  patch(draft, n, { loop: { ...loop, running: loop.running - 1, results } });
}

/** Forgets a scope that nothing runs in any more, with the tokens that stood at its joins. */
function dropScope(draft: Draft, id: number): void {
  for (const key of draft.joins.keys()) if (key.startsWith(`${id}/`)) draft.joins.delete(key);
  draft.population.delete(id);
  if (id !== ROOT_SCOPE) draft.scopes.delete(id);
}

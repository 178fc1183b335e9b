import { type Draft, draftOf } from './draft.ts';
import type { Assignment, Event, InstanceStarted, NodePassed, NodeStarted } from './event.ts';
import { type Json, type JsonObject, jsonSize, member, merged, withPaths } from './json.ts';
import { type Activation, joinKey, type Loop, RESULT_CHUNK, ROOT_SCOPE, type Scope, type State } from './state.ts';

/**
 * `state` after all of `events`, in order, which happened `at` (ms): what replay does with a frame. The only code that
 * changes state is in this file.
 */
export function applyAll(state: State, events: readonly Event[], at: number): State {
  const draft = draftOf(state);
  for (const event of events) change(draft, event, at);
  return draft;
}

/**
 * Applies the completion of a node that the event before, `started`, started, as one event with it: gives what stands in
 * its place.
 */
export function changePassed(draft: Draft, started: NodeStarted): NodePassed {
  endNode(draft, started.n);
  return { ...started, type: 'nodePassed' };
}

/** Applies one event to a draft in place. */
export function change(draft: Draft, event: Event, at: number): void {
  draft.seq += 1;
  switch (event.type) {
    case 'instanceStarted':
      return begin(draft, event, at);
    case 'nodeStarted':
      return startNode(draft, event.n, event.node, event.scope ?? ROOT_SCOPE, at);
    case 'nodePassed':
      startNode(draft, event.n, event.node, event.scope ?? ROOT_SCOPE, at);
      return endNode(draft, event.n);
    case 'nodeWaiting':
      if (event.task === undefined) return patch(draft, event.n, { phase: 'waiting' });
      return patch(draft, event.n, { phase: 'waiting', task: event.task }, jsonSize(event.task));
    case 'workStarted':
      return patch(draft, event.n, {
        phase: 'working',
        attempt: event.attempt,
        timers: without(draft, event.n, 'retry'),
      });
    case 'workProgressed': {
      const { progress = [] } = activationOf(draft, event.n);
      return patch(draft, event.n, { progress: [...progress, event.step] }, jsonSize(event.step));
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
      const subscriptions = [...activationOf(draft, event.n).subscriptions, { purpose, kind, name, correlationKey }];
      return patch(draft, event.n, { subscriptions }, name.length + correlationKey.length);
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
      const { items, count, collects } = event;
      const loop: Loop = {
        ...(items && { items }),
        ...(count !== undefined && { count }),
        next: 0,
        running: 0,
        ...(collects && { results: [] }),
      };
      return patch(draft, event.n, { phase: 'body', loop }, items === undefined ? 0 : jsonSize(items));
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
    held: 0,
  });
  draft.ready.push(n);
  live(draft, scope, 1);
}
const NONE: readonly never[] = [];

function endNode(draft: Draft, n: number): void {
  const { scope, held } = activationOf(draft, n);
  draft.held -= held;
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

/** Changes an activation, which holds so many `bytes` more by that. */
function patch(draft: Draft, n: number, changes: Partial<Activation>, bytes = 0): void {
  const before = activationOf(draft, n);
  if (before.phase === 'ready' && changes.phase !== undefined) notReady(draft, n);
  draft.held += bytes;
  draft.active.set(n, { ...before, ...changes, held: before.held + bytes });
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
  const own = set.filter(({ scope }) => scope === undefined);
  if (own.length > 0) assignVariables(draft, own);
  if (own.length < set.length) {
    for (const id of new Set(set.map(({ scope }) => scope))) {
      if (id !== undefined)
        assignLocal(
          draft,
          id,
          set.filter(({ scope }) => scope === id),
        );
    }
  }
  const { scope } = activationOf(draft, n);
  if (scope !== ROOT_SCOPE && set.length > 0) produce(draft, scope, set);
}

function assignVariables(draft: Draft, set: readonly Assignment[]): void {
  const before = draft.variables;
  draft.variables = withPaths(before, set);
  for (const name of new Set(set.map(({ path }) => path[0] as string))) {
    draft.size += entrySize(draft.variables, name) - entrySize(before, name);
    draft.written.add(name);
  }
}

function entrySize(variables: JsonObject, name: string): number {
  const value = member(variables, name);
  return value === undefined ? 0 : name.length + 4 + jsonSize(value);
}

function assignLocal(draft: Draft, id: number, set: readonly Assignment[]): void {
  const scope = scopeOf(draft, id);
  const local = withPaths(scope.local, set);
  patchScope(draft, scope, { local }, jsonSize(local) - jsonSize(scope.local));
}

/** What a node in an iteration sets is what the iteration gives, until another sets something. */
function produce(draft: Draft, id: number, set: readonly Assignment[]): void {
  const scope = scopeOf(draft, id);
  if (loopOf(draft, scope).results === undefined) return;
  const value = producedBy(set);
  patchScope(draft, scope, { value }, jsonSize(value) - jsonSize(scope.value));
}

/** Changes a scope, which holds so many `bytes` more by that. */
function patchScope(draft: Draft, scope: Scope, changes: Partial<Scope>, bytes: number): void {
  draft.held += bytes;
  draft.scopes.set(scope.id, { ...scope, ...changes, held: scope.held + bytes });
}

const loopOf = (draft: Draft, { owner }: Scope): Loop => activationOf(draft, owner as number).loop as Loop;

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
  // The item is the list's own: it counts there.
  draft.scopes.set(id, { id, parent: activation.scope, owner: n, index: loop.next, local, value: null, held: 0 });
  patch(draft, n, { loop: { ...loop, next: loop.next + 1, running: loop.running + 1 } });
}

function endIteration(draft: Draft, n: number, id: number): void {
  const scope = scopeOf(draft, id);
  const { results, ...loop } = loopOf(draft, scope);
  const running = loop.running - 1;
  dropScope(draft, id);
  if (results === undefined) return patch(draft, n, { loop: { ...loop, running } });
  const more = withResult(results, scope.index as number, scope.value);
  patch(draft, n, { loop: { ...loop, running, results: more } }, jsonSize(scope.value) + 1);
}

type Results = NonNullable<Loop['results']>;

function withResult(results: Results, index: number, value: Json): Results {
  const chunks = [...results];
  while (chunks.length * RESULT_CHUNK <= index) chunks.push([]);
  const at = Math.floor(index / RESULT_CHUNK);
  const chunk = [...(chunks[at] as readonly Json[])];
  while (chunk.length < index % RESULT_CHUNK) chunk.push(null);
  chunk[index % RESULT_CHUNK] = value;
  chunks[at] = chunk;
  return chunks;
}

/** Forgets a scope that nothing runs in any more, with the tokens that stood at its joins. */
function dropScope(draft: Draft, id: number): void {
  for (const key of draft.joins.keys()) if (key.startsWith(`${id}/`)) draft.joins.delete(key);
  draft.population.delete(id);
  if (id === ROOT_SCOPE) return;
  draft.held -= scopeOf(draft, id).held;
  draft.scopes.delete(id);
}

import { find, instanceBody, located } from './body.ts';
import type { ChildResult, Command, Context, DeliveryAnswer, Refusal, StartCommand, WorkOutcome } from './command.ts';
import { draftOf, emptyDraft, stateOf } from './draft.ts';
import { EVENT_FORMAT, type Event } from './event.ts';
import { fail, failForGood, timeOut } from './failure.ts';
import type { Flow, Node } from './flow.ts';
import { isDeeper, type Json, type JsonObject, jsonSize, MAX_LEVELS, merged } from './json.ts';
import { behaviourOf } from './nodes/index.ts';
import type { KeysOf } from './nodes/keys.ts';
import { cancelInside, endInstance } from './scope.ts';
import { type Activation, type Owed, ROOT_SCOPE, type State } from './state.ts';
import { checkTask } from './task.ts';
import { dueAt } from './time.ts';
import { Turn } from './turn.ts';

/** What a command comes to: events and the state after them, or why it is refused. No events: it came too late, and lapses. */
export type Decision =
  | { readonly ok: true; readonly events: readonly Event[]; readonly state: State }
  | { readonly ok: false; readonly refusal: Refusal };

/** Begins an instance and runs it until all its tokens wait or end. */
export function begin(flow: Flow, command: StartCommand, context: Context): Decision {
  const { path, parent, from, beside, data, depth, ...rest } = command;
  const variables = path.length > 0 || command.retryOf !== undefined ? data : merged(flow.variables, data);
  const limit = context.limits.variableBytes;
  if (isDeeper(variables, MAX_LEVELS))
    return refused('VALIDATION_ERROR', `the start data has more than ${MAX_LEVELS} levels`);
  if (jsonSize(variables) > limit) return refused('VALIDATION_ERROR', `the start data is larger than ${limit} bytes`);
  const body = instanceBody(flow, path);
  const turn = new Turn(flow, emptyDraft(), context);
  turn.emit({
    type: 'instanceStarted',
    format: EVENT_FORMAT,
    ...rest,
    processName: flow.name,
    ...(path.length > 0 && { path }),
    ...(parent && { parent }),
    ...(depth > 0 && { depth }),
    variables,
  });
  for (const token of beside?.tokens ?? []) turn.emit({ type: 'tokenArrived', scope: ROOT_SCOPE, ...token });
  for (const node of [from ?? body.start, ...(beside?.nodes ?? [])]) turn.start(node, ROOT_SCOPE);
  turn.run();
  return decided(turn);
}

/**
 * What `command` does to a live instance. Pure: the same arguments give the same events, `state` stays as it is, and
 * applying the events to it gives the returned state.
 */
export function decide(flow: Flow, state: State, command: Command, context: Context): Decision {
  const turn = new Turn(flow, draftOf(state), context);
  const refusal = HANDLERS[command.type](turn, command as never);
  if (refusal !== undefined) return { ok: false, refusal };
  if (turn.draft.stateCd === 0) turn.run();
  return decided(turn);
}

const decided = (turn: Turn): Decision => ({ ok: true, events: turn.events, state: stateOf(turn.draft) });

function refused(
  code: Refusal['code'],
  message: string,
  details?: Refusal['details'],
): Extract<Decision, { ok: false }> {
  return { ok: false, refusal: { code, message, ...(details && { details }) } };
}

type Of<T extends Command['type']> = Extract<Command, { readonly type: T }>;
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that accepts its command returns nothing
type Handled = Refusal | undefined | void;

const HANDLERS: { readonly [T in Command['type']]: (turn: Turn, command: Of<T>) => Handled } = {
  completeTask,
  cancelTask,
  finishWork,
  recordProgress,
  resumeWork,
  fireTimer,
  takeEvent,
  deliver,
  endChild,
  cancel,
  fail: failInstance,
  continue: () => undefined,
};

function completeTask(turn: Turn, { node: id, data }: Of<'completeTask'>): Handled {
  const waiting = waitingTask(turn, id);
  if ('code' in waiting) return waiting;
  const checked = checkTask(waiting.task as JsonObject, data);
  if (!checked.ok) {
    const message = `the data of "${turn.node(waiting.n).name}" is not valid: ${checked.details.map((d) => d.message).join('; ')}`;
    return { code: 'VALIDATION_ERROR', message, details: checked.details };
  }
  turn.visit(waiting.n, () => {
    turn.setAll(merged(checked.variables, { inputNodeAction: 'COMPLETE' }));
    turn.leave(turn.node().next);
  });
}

/** The token leaves by `errorFlow`; without one the flow goes on by `next` (decisions §1). */
function cancelTask(turn: Turn, { node: id, data }: Of<'cancelTask'>): Handled {
  const waiting = waitingTask(turn, id);
  if ('code' in waiting) return waiting;
  turn.visit(waiting.n, () => {
    const { errorFlow, next } = turn.node();
    turn.setAll(merged(data, { inputNodeAction: 'CANCEL' }));
    turn.emit({ type: 'nodeCancelled', n: waiting.n });
    turn.follow(errorFlow === undefined ? next : [errorFlow], waiting.scope);
  });
}

/** The activation of node `id` that has waited longest for a person; `id` may be what the node is called in its own body. */
function waitingTask(turn: Turn, id: string): Activation | Refusal {
  const place = find(turn.flow, id);
  if (place === undefined)
    return { code: 'NODE_NOT_FOUND', message: `the flow has no node "${id}"${ofChildren(turn)}` };
  const waiting = [...turn.draft.active.values()].filter(({ task }) => task !== undefined);
  const found = waiting.find(({ node }) => node === id) ?? waiting.find(({ node }) => node.endsWith(`/${id}`));
  if (found !== undefined) return found;
  return {
    code: 'TASK_NOT_WAITING',
    message: `"${place.node.name}" (${id}) does not wait for input in this instance${ofChildren(turn)}`,
  };
}

/** Where else a task may wait: a subProcess runs as an instance of its own. */
function ofChildren(turn: Turn): string {
  const children = [...turn.draft.active.values()].flatMap(({ child }) => child ?? []);
  if (children.length === 0) return '';
  const some = children.slice(0, 3).join(', ');
  return `; what a subProcess waits for is submitted to its own instance: ${some}${children.length > 3 ? ', …' : ''}`;
}

function finishWork(turn: Turn, { n, attempt, outcome }: Of<'finishWork'>): Handled {
  const activation = turn.draft.active.get(n);
  if (activation?.phase !== 'working' || activation.attempt !== attempt) return;
  turn.visit(n, () => {
    for (const { level, message } of outcome.logs) turn.log(level, message);
    if (!outcome.ok) return workFailed(turn, n, outcome.error);
    const node = turn.node();
    const { finish } = behaviourOf(node);
    if (finish !== undefined) return finish(turn, node, outcome.value);
    turn.result((node.keys as { readonly result?: readonly string[] }).result, outcome.value);
    return turn.leave(node.next);
  });
}

function workFailed(
  turn: Turn,
  n: number,
  { code, message, final }: Extract<WorkOutcome, { ok: false }>['error'],
): void {
  if (final !== true) return fail(turn, n, code, message);
  return failForGood(turn, n, code, message);
}

/** Steps count towards the limit of an instance's variables, as they are kept with it. */
function recordProgress(turn: Turn, { n, attempt, step, logs }: Of<'recordProgress'>): Handled {
  const activation = turn.draft.active.get(n);
  if (activation?.phase !== 'working' || activation.attempt !== attempt) return;
  turn.visit(n, () => {
    for (const { level, message } of logs) turn.log(level, message);
    const limit = turn.context.limits.variableBytes;
    if (isDeeper(step, MAX_LEVELS) || jsonSize(activation.progress ?? []) + jsonSize(step) > limit)
      turn.fail('PROGRESS_TOO_LARGE', `the steps of this work are larger than ${limit} bytes together`);
    turn.emit({ type: 'workProgressed', n, step });
  });
}

function resumeWork(turn: Turn, { n, attempt }: Of<'resumeWork'>): Handled {
  const activation = turn.draft.active.get(n);
  if (activation?.phase !== 'working' || activation.attempt !== attempt) return;
  turn.visit(n, () => turn.log('WARN', 'the daemon stopped while this was under way; it is tried again'));
}

function fireTimer(turn: Turn, { n, purpose, due }: Of<'fireTimer'>): Handled {
  const armed = turn.draft.active.get(n)?.timers.some((timer) => timer.purpose === purpose && timer.due === due);
  if (armed !== true || turn.context.at < due) return;
  turn.visit(n, () => {
    const node = turn.node();
    if (purpose === 'timeout') return timeOut(turn, n);
    if (purpose === 'retry') return tryAgain(turn, node);
    if (purpose === 'catch') return behaviourOf(node).resume?.(turn, node, {});
    return fireBoundary(turn, purpose.slice('boundary:'.length), {});
  });
}

function tryAgain(turn: Turn, node: Node): void {
  turn.emit({ type: 'workStarted', n: turn.n, attempt: turn.activation().attempt + 1 });
  turn.armTimeout(node);
}

function takeEvent(turn: Turn, { n, purpose, name, data }: Of<'takeEvent'>): Handled {
  const waits = turn.draft.active.get(n)?.subscriptions.some((subscription) => subscription.purpose === purpose);
  if (waits !== true) return { code: 'TASK_NOT_WAITING', message: 'nothing waits for this event any more' };
  turn.emit({ type: 'eventTaken', n, purpose, name });
  turn.visit(n, () => {
    const node = turn.node();
    if (purpose === 'catch') return behaviourOf(node).resume?.(turn, node, data);
    return fireBoundary(turn, purpose.slice('boundary:'.length), data);
  });
}

/** Interrupting: the activity and all under it is cancelled before the boundary's token leaves (semantics 8). */
function fireBoundary(turn: Turn, id: string, data: JsonObject): void {
  const { n } = turn;
  const { node: boundary } = located(turn.flow, id) as unknown as { node: Node<KeysOf<'boundaryEvent'>> };
  const { scope, node } = turn.activation();
  turn.setAll(data);
  if (boundary.keys.cancelActivity) {
    cancelInside(turn, n);
    turn.emit({ type: 'nodeCancelled', n });
  } else if (boundary.keys.timer !== undefined) rearm(turn, boundary, boundary.keys.timer);
  turn.start(id, scope, node);
}

/** A duration fires once; a cron timer again at its next match from now, without a burst (semantics 8, 16). */
function rearm(turn: Turn, boundary: Node, timer: NonNullable<KeysOf<'boundaryEvent'>['timer']>): void {
  const purpose = `boundary:${boundary.id}` as const;
  const next = dueAt(turn.text(timer), turn.context.at);
  if ('problem' in next || !next.repeats) turn.emit({ type: 'timerLapsed', n: turn.n, purpose });
  else turn.emit({ type: 'timerSet', n: turn.n, purpose, due: next.due });
}

function deliver(turn: Turn, { id, answer }: Of<'deliver'>): Handled {
  const owed = turn.draft.outbox.get(id);
  if (owed === undefined) return;
  turn.emit({ type: 'delivered', id });
  if ((owed.kind === 'startChild' || owed.kind === 'call') && turn.draft.active.has(owed.n)) {
    turn.visit(owed.n, () => began(turn, owed, answer));
  }
}

function began(turn: Turn, owed: Extract<Owed, { kind: 'startChild' | 'call' }>, answer: DeliveryAnswer): void {
  if (!answer.ok) return turn.fail(answer.code, answer.message);
  const id = answer.instanceId as string;
  turn.emit({ type: 'childStarted', n: owed.n, child: id });
  if (owed.kind === 'startChild') return;
  turn.result((turn.node() as Node<KeysOf<'callProcess'>>).keys.result, id);
  turn.leave(turn.node().next);
}

function endChild(turn: Turn, { n, child, result }: Of<'endChild'>): Handled {
  if (turn.draft.active.get(n)?.child !== child) return;
  turn.emit({ type: 'childEnded', n });
  turn.visit(n, () => {
    const node = turn.node() as Node<KeysOf<'subProcess'>>;
    if (result.stateCd !== 1) return childFailed(turn, child, result);
    const { nodes, result: path } = node.keys;
    const back = nodes === undefined ? result.variables : broughtBack(result);
    if (nodes !== undefined) turn.setAll(back);
    turn.result(path, back);
    return turn.leave(node.next);
  });
}

/** The parent's node errs with the same code (semantics 11). */
function childFailed(turn: Turn, child: string, { error }: ChildResult): void {
  const code = error?.code ?? 'CHILD_CANCELLED';
  failForGood(turn, turn.n, code, error?.message ?? `the instance ${child} was cancelled`);
}

/** What an inline subProcess wrote; what it only read does not overwrite what others wrote meanwhile. */
function broughtBack({ variables, written }: ChildResult): JsonObject {
  const back: Record<string, Json> = Object.create(null);
  for (const name of written) if (Object.hasOwn(variables, name)) back[name] = variables[name] as Json;
  return back;
}

function cancel(turn: Turn, { byParent }: Of<'cancel'>): Handled {
  const { stateCd, parent } = turn.draft;
  if (stateCd !== 0) return { code: 'INSTANCE_FINISHED', message: 'the instance has already ended' };
  if (parent !== undefined && !byParent) {
    return {
      code: 'CONFLICT',
      message: `the instance belongs to ${parent.instanceId}: cancel that one, and this goes with it`,
    };
  }
  endInstance(turn, 3);
}

function failInstance(turn: Turn, { code, message }: Of<'fail'>): Handled {
  if (turn.draft.stateCd === 0) endInstance(turn, 2, { code, message, nodeId: '' });
}

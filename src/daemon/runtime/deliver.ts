import {
  calledInstance,
  childResult,
  type DeliveryAnswer,
  inlineChild,
  type Owed,
  processChild,
  type State,
} from '../../engine/index.ts';
import type { Definitions, Environment } from './door.ts';
import { newId } from './ids.ts';
import type { Memory } from './memory.ts';
import type { Messages } from './messages.ts';
import type { Misses } from './misses.ts';
import { eventKey, type Subscriptions, type Waiting } from './subscriptions.ts';
import type { Transaction } from './transaction.ts';

/** Deliveries that one commit takes on; what is left follows in the next. */
const IN_ONE_COMMIT = 16;
/** Bytes of a commit that takes on no more of them: far below what a frame may have, and not long to write. */
const HEAVY = 8 * 1024 * 1024;

/** Live instances that one start may lead to: flows that start one another without end stop there (semantics 24). */
const IN_ONE_CHAIN = 10_000;

export interface Surroundings {
  readonly definitions: Definitions;
  readonly subscriptions: Subscriptions;
  readonly messages: Messages;
  readonly memory: Memory;
  readonly misses: Misses;
}

/**
 * Delivers what the instances changed in `transaction` owe to others, and what that causes in turn, within the same commit:
 * a child begins in the commit that asks for it, a parent goes on in the commit that ends its child, and a catch that opens
 * takes the oldest message that waits for it (semantics 14).
 */
export function deliverOwed(transaction: Transaction, surroundings: Surroundings): void {
  let looked = 0;
  for (let left = IN_ONE_COMMIT; left > 0; left -= 1) {
    const { opened } = transaction;
    while (looked < opened.length && !takeBuffered(transaction, surroundings, opened[looked] as Waiting)) looked += 1;
    if (looked < opened.length) continue;
    const next = nextOwed(transaction);
    if (next === undefined || transaction.weight > HEAVY) return;
    deliver(transaction, surroundings, next.id, next.number);
  }
}

/** Gives what waits the oldest message that came before it; false where there is none, or where it waits no more. */
export function takeBuffered(transaction: Transaction, { messages }: Surroundings, waiting: Waiting): boolean {
  const { kind, instanceId, organizationId, n, purpose, name, correlationKey } = waiting;
  if (kind !== 'message' || !transaction.isOpen(waiting)) return false;
  const message = messages.take(transaction, organizationId, name, correlationKey);
  if (message === undefined) return false;
  transaction.decide(instanceId, { type: 'takeEvent', n, purpose, name, data: message.data });
  return true;
}

function nextOwed(transaction: Transaction): { id: string; number: number } | undefined {
  for (const { id, after } of transaction.changes.values()) {
    for (const number of after.outbox.keys()) return { id, number };
  }
  return undefined;
}

/** Delivers one thing that instance `id` owes; the source learns of it in the same commit. */
export function deliver(transaction: Transaction, surroundings: Surroundings, id: string, number: number): void {
  const source = transaction.state(id);
  const owed = source?.outbox.get(number);
  if (source === undefined || owed === undefined) return;
  const answer = carryOut(transaction, surroundings, source, owed);
  transaction.decide(id, { type: 'deliver', id: number, answer });
  if (owed.kind === 'cancelChild') transaction.first(owed.child);
}

function carryOut(transaction: Transaction, surroundings: Surroundings, source: State, owed: Owed): DeliveryAnswer {
  switch (owed.kind) {
    case 'startChild':
    case 'call':
      return startOther(transaction, surroundings, source, owed);
    case 'cancelChild':
      transaction.decide(owed.child, { type: 'cancel', byParent: true });
      return { ok: true };
    case 'throw':
      if (throwEvent(transaction, surroundings, source, owed).length === 0) {
        const { name, correlationKey } = owed;
        surroundings.misses.event(source.organizationId, {
          name,
          correlationKey,
          at: transaction.at,
          thrownBy: source.id,
        });
      }
      return { ok: true };
    case 'tellParent': {
      const { instanceId, activation } = source.parent as NonNullable<State['parent']>;
      transaction.decide(instanceId, {
        type: 'endChild',
        n: activation,
        child: source.id,
        result: childResult(source),
      });
      return { ok: true };
    }
  }
}

function startOther(
  transaction: Transaction,
  { definitions, memory }: Surroundings,
  source: State,
  owed: Extract<Owed, { kind: 'startChild' | 'call' }>,
): DeliveryAnswer {
  if (memory.chain(source.root) >= IN_ONE_CHAIN) {
    return {
      ok: false,
      code: 'CALL_LIMIT',
      message: `${IN_ONE_CHAIN} instances that one start led to are alive: it may start no more`,
    };
  }
  const id = newId(transaction.at);
  if (owed.kind === 'startChild' && owed.processId === undefined) {
    const flow = definitions.flow(source.processId, source.version);
    return begun(transaction.begin(flow, { id, ...inlineChild(flow, source, owed) }), id);
  }
  const processId = owed.processId as string;
  const active = definitions.active(processId, source.environment as Environment);
  if (active === undefined || active.organizationId !== source.organizationId) {
    return {
      ok: false,
      code: 'NOT_PUBLISHED',
      message: `the flow ${processId} is not published in ${source.environment}`,
    };
  }
  const flow = definitions.flow(processId, active.version);
  const command =
    owed.kind === 'call'
      ? calledInstance(source, owed, active.version)
      : processChild(source, { ...owed, processId }, active.version);
  return begun(transaction.begin(flow, { id, ...command }), id);
}

function begun(decision: ReturnType<Transaction['begin']>, instanceId: string): DeliveryAnswer {
  return decision.ok
    ? { ok: true, instanceId }
    : { ok: false, code: decision.refusal.code, message: decision.refusal.message };
}

type Thrown = Omit<Extract<Owed, { kind: 'throw' }>, 'kind'>;

/**
 * A message goes to one waiting subscription, the oldest; a signal to all (semantics 12, 13). Gives who took it. `id` is the
 * instance that throws it, if one does.
 */
export function throwEvent(
  transaction: Transaction,
  { subscriptions }: Surroundings,
  { id, organizationId }: { readonly id?: string; readonly organizationId: string },
  thrown: Thrown,
): readonly string[] {
  const { event, name, data } = thrown;
  const taken: string[] = [];
  for (const { instanceId, n, purpose } of waitingFor(transaction, subscriptions, organizationId, thrown)) {
    // Nodes run in the order of their numbers: this one began to wait after the event was thrown.
    if (instanceId === id && thrown.n !== undefined && n > thrown.n) continue;
    const decision = transaction.decide(instanceId, { type: 'takeEvent', n, purpose, name, data });
    if (decision?.ok === true) taken.push(instanceId);
    if (taken.length > 0 && event === 'message') break;
  }
  return taken;
}

/** Oldest first: what waited before this transaction, and what began to wait in it before now. */
function* waitingFor(
  transaction: Transaction,
  subscriptions: Subscriptions,
  organizationId: string,
  { event, name, correlationKey }: Thrown,
): Generator<Waiting> {
  const key = eventKey(organizationId, event, name, correlationKey);
  const opened = transaction.opened.filter(
    (one) => eventKey(one.organizationId, one.kind, one.name, one.correlationKey) === key,
  );
  yield* subscriptions.find(key);
  yield* opened;
}

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
import type { Subscriptions } from './subscriptions.ts';
import type { Transaction } from './transaction.ts';

/** Deliveries that one commit takes on; what is left follows in the next. */
const IN_ONE_COMMIT = 16;

/** Live instances that one start may lead to: flows that start one another without end stop there (semantics 24). */
const IN_ONE_CHAIN = 10_000;

export interface Surroundings {
  readonly definitions: Definitions;
  readonly subscriptions: Subscriptions;
  readonly memory: Memory;
}

/**
 * Delivers what the instances changed in `transaction` owe to others, and what that causes in turn, within the same commit:
 * a child begins in the commit that asks for it, and a parent goes on in the commit that ends its child.
 */
export function deliverOwed(transaction: Transaction, surroundings: Surroundings): void {
  let left = IN_ONE_COMMIT;
  for (let next = nextOwed(transaction); next !== undefined && left > 0; next = nextOwed(transaction), left -= 1) {
    deliver(transaction, surroundings, next.id, next.number);
  }
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
      throwEvent(transaction, surroundings, source, owed);
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

/** A message goes to one waiting subscription, the oldest; a signal to all (semantics 12, 13). Gives who took it. */
export function throwEvent(
  transaction: Transaction,
  { subscriptions }: Surroundings,
  { organizationId }: Pick<State, 'organizationId'>,
  { event, name, correlationKey, data }: Omit<Extract<Owed, { kind: 'throw' }>, 'kind'>,
): readonly string[] {
  const taken: string[] = [];
  for (const { instanceId, n, purpose } of subscriptions.find(organizationId, event, name, correlationKey)) {
    const decision = transaction.decide(instanceId, { type: 'takeEvent', n, purpose, name, data });
    if (decision?.ok === true) taken.push(instanceId);
    if (taken.length > 0 && event === 'message') break;
  }
  return taken;
}

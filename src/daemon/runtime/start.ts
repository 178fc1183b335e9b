import type { Flow } from '../../engine/flow.ts';
import type { Limits } from '../../engine/index.ts';
import type { Json } from '../../engine/json.ts';
import type { Committer } from './commit.ts';
import { type BatchOutcome, type Once, Rejection, type StartBatch, type Started, type StartRequest } from './door.ts';
import { newId } from './ids.ts';
import { iso } from './summary.ts';
import type { Transaction } from './transaction.ts';

/** Starts an instance; a repeat of `once` gets the first answer. */
export async function start(committer: Committer, request: StartRequest, once: Once | undefined): Promise<Started> {
  const flow = committer.definitions.flow(request.processId, request.version);
  const answer = await committer.submit(
    (transaction) => begun(transaction, flow, request, committer.limits) as unknown as Json,
    once,
  );
  return answer as unknown as Started;
}

/** See `Runtime.startAll`. */
export async function startAll(
  committer: Committer,
  { starts, facts, answer }: StartBatch,
  once: Once | undefined,
): Promise<BatchOutcome> {
  const flows = starts.map(({ processId, version }) => committer.definitions.flow(processId, version));
  let isFirst = false;
  const told = await committer.submit((transaction) => {
    const started = starts.map((request, at) => tried(transaction, flows[at] as Flow, request, committer.limits));
    transaction.facts.push(...facts(started));
    isFirst = true;
    return answer;
  }, once);
  return isFirst ? 'done' : { repeatOf: told };
}

function tried(transaction: Transaction, flow: Flow, request: StartRequest, limits: Limits): Started | Rejection {
  try {
    return begun(transaction, flow, request, limits);
  } catch (error) {
    if (error instanceof Rejection) return error;
    throw error;
  }
}

function begun(transaction: Transaction, flow: Flow, request: StartRequest, limits: Limits): Started {
  const { calledBy, ...about } = request;
  const id = newId(transaction.at);
  const decision = transaction.begin(flow, { ...about, id, path: [], ...chainOf(transaction, calledBy, limits) });
  if (!decision.ok) throw new Rejection(decision.refusal.code, decision.refusal.message, decision.refusal.details);
  return { processInstanceId: id, processId: request.processId, startTime: iso(transaction.at) };
}

/** Where in a chain of starts an instance stands that the work of another one starts. */
function chainOf(transaction: Transaction, calledBy: string | undefined, limits: Limits) {
  const caller = calledBy === undefined ? undefined : transaction.state(calledBy);
  if (caller === undefined) return { depth: 0 };
  if (caller.depth >= limits.depth) {
    const message = `flows may start one another ${limits.depth} deep; does one start itself?`;
    throw new Rejection('CONFLICT', message);
  }
  return { depth: caller.depth + 1, root: caller.root };
}

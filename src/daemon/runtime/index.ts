import { DEFAULT_LIMITS, type Limits } from '../../engine/index.ts';
import type { JournalPort, Recovery, Work } from '../ports.ts';
import { Committer } from './commit.ts';
import { type Definitions, type Facts, Rejection, type Runtime, type RuntimeLog, type Started } from './door.ts';
import { sendEvent } from './events.ts';
import { newId } from './ids.ts';
import { Reads } from './reads.ts';
import { retryStart } from './retry.ts';
import { start, startAll } from './start.ts';
import { eventKey } from './subscriptions.ts';
import { iso } from './summary.ts';

export interface RuntimeOptions {
  readonly journal: JournalPort;
  readonly recovery: Recovery;
  /** Made once the facts can be read, before any instance is restored. */
  readonly definitions: (facts: Facts) => Definitions;
  readonly work: Work;
  readonly log: RuntimeLog;
  readonly limits?: Partial<Limits>;
  /** Bytes of journal after which a checkpoint is written; default 64 MiB. */
  readonly checkpointBytes?: number;
}

/** Rebuilds what is alive from the journal, takes up its work, timers and messages again, and takes commands. */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const committer = new Committer({
    ...options,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    checkpointBytes: options.checkpointBytes ?? 64 * 1024 * 1024,
  });
  await committer.recover(options.recovery);
  return door(committer, options);
}

function door(committer: Committer, { journal }: RuntimeOptions): Runtime {
  const { definitions } = committer;
  const reads = new Reads(journal, definitions, committer.feed, () => committer.memory);

  return {
    facts: committer.facts,
    start: (request, once) => start(committer, request, once),
    startAll: (batch, once) => startAll(committer, batch, once),

    answered: async (once) => (await committer.answered(once)) as unknown as Started | undefined,

    submitTask: async ({ organizationId, processInstanceId: id, nodeId: node, action, data }) => {
      await mustExist(committer, reads, organizationId, id);
      await committer
        .submit((transaction) => {
          if (transaction.state(id) === undefined) {
            throw new Rejection('TASK_NOT_WAITING', `the instance ${id} has ended: nothing in it waits for input`);
          }
          transaction.demand(id, { type: action === 'COMPLETE' ? 'completeTask' : 'cancelTask', node, data });
          return null;
        })
        .catch((error: unknown) => {
          noteRefusal(committer, id, node, error);
          throw error;
        });
    },

    cancel: async (organizationId, id) => {
      await mustExist(committer, reads, organizationId, id);
      await committer.submit((transaction) => {
        if (transaction.state(id) === undefined)
          throw new Rejection('INSTANCE_FINISHED', `the instance ${id} has already ended`);
        transaction.demand(id, { type: 'cancel', byParent: false });
        return null;
      });
    },

    retry: async (organizationId, id, request) => {
      const command = await retryStart(reads, organizationId, id, request);
      const flow = definitions.flow(command.processId, command.version);
      const answer = await committer.submit((transaction) => {
        const instanceId = newId(transaction.at);
        const decision = transaction.begin(flow, { ...command, id: instanceId });
        if (!decision.ok)
          throw new Rejection(decision.refusal.code, decision.refusal.message, decision.refusal.details);
        return { processInstanceId: instanceId, processId: command.processId, startTime: iso(transaction.at) };
      });
      return answer as unknown as Awaited<ReturnType<Runtime['retry']>>;
    },

    event: (request) => sendEvent(committer, request),
    instance: (organizationId, id, entries) => reads.instance(organizationId, id, entries),
    history: (organizationId, id, page) => reads.history(organizationId, id, page),
    waits: (organizationId, id) => reads.waits(organizationId, id),
    near: {
      missed: (organizationId) => committer.misses.events(organizationId),
      kept: (organizationId) => committer.waiting.messages.kept(committer.memory, organizationId),
      refused: (instanceId, nodeId) => committer.misses.answers(instanceId, nodeId),
      ahead: (organizationId, instanceId, name, correlationKey) => {
        const { subscriptions } = committer.waiting;
        const waiting = [...subscriptions.find(eventKey(organizationId, 'message', name, correlationKey))];
        const place = waiting.findIndex((one) => one.instanceId === instanceId);
        return waiting.slice(0, Math.max(0, place)).map((one) => one.instanceId);
      },
    },
    instances: (query) => reads.instances(query),
    tasks: (query) => committer.waiting.tasks.list(query),
    log: (organizationId, id, after, signal) => reads.log(organizationId, id, after, signal),
    logPosition: (organizationId, id) => reads.logPosition(organizationId, id),
    lifecycle: (organizationId, after, signal) => committer.feed.lifecycle(organizationId, after, signal),
    get stats() {
      return committer.stats;
    },
    ready: () => committer.ready(),
    close: () => committer.close(),
  };
}

/** Remembers an answer that its form refused. */
function noteRefusal({ misses }: Committer, id: string, nodeId: string, error: unknown): void {
  if (!(error instanceof Rejection) || error.code !== 'VALIDATION_ERROR') return;
  const reason = (error.details ?? []).map(({ message }) => message).join('; ');
  misses.answer(id, { nodeId, at: Date.now(), reason: reason === '' ? error.message : reason });
}

/** INSTANCE_NOT_FOUND for an id that is unknown, or another organization's. */
async function mustExist(
  committer: Committer,
  reads: Reads,
  organizationId: string | undefined,
  id: string,
): Promise<void> {
  const owner = committer.memory.live.get(id)?.tip.organizationId ?? (await reads.summary(id))?.organizationId;
  if (owner === undefined || (organizationId !== undefined && owner !== organizationId)) {
    throw new Rejection('INSTANCE_NOT_FOUND', `there is no instance ${id.slice(0, 100)}`);
  }
}

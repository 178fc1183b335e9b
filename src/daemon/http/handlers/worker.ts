import { organizationFilter } from '../../auth/caller.ts';
import { Refusal } from '../../refusal.ts';
import { LEASE_MS } from '../../work/worker-tasks.ts';
import type { Handlers, Services } from '../handler.ts';

type Names = 'pollTask' | 'keepTask' | 'completeTask' | 'failTask';

const MAX_WAIT_SECONDS = 30;
const leaseSeconds = LEASE_MS / 1000;

export function workerHandlers({ workers, stores, streams }: Services): Handlers<Names> {
  return {
    async pollTask({ caller, body, reply }) {
      const request = {
        handlers: body.handlers,
        organizationId: organizationFilter(caller, body.organizationId, stores.organizations),
        environment: body.environment,
        maxWait: Math.min((body.maxWait ?? MAX_WAIT_SECONDS) * 1000, caller.validUntil - Date.now()),
      };
      const task = await workers.poll(request, streams.whileAdmitted(caller, reply));
      return task === undefined ? undefined : { task: { ...task, leaseSeconds } };
    },

    keepTask({ caller, params: { taskId } }) {
      if (!workers.heartbeat(taskId, caller.organizationId)) throw lost(taskId);
      return { leaseSeconds };
    },

    async completeTask({ caller, params: { taskId }, body }) {
      if (!(await workers.complete(taskId, caller.organizationId, body.result ?? null))) throw lost(taskId);
      return undefined;
    },

    async failTask({ caller, params: { taskId }, body }) {
      const { code = 'HANDLER_FAILED', message, retryable = true } = body;
      if (!(await workers.fail(taskId, caller.organizationId, { code, message, retryable }))) throw lost(taskId);
      return undefined;
    },
  };
}

const lost = (taskId: string): Refusal =>
  new Refusal('CONFLICT', `The task ${taskId} is not this worker's any more: stop, and poll for the next one.`);

import { isObject, type Json, type JsonObject } from '../../engine/json.ts';
import { HandlerError, runHandler } from '../../handlers/run.ts';
import type { Handler } from '../../index.ts';
import { type ExecutorContext, type Service, WorkError } from './executor.ts';
import { createPlaces } from './places.ts';
import type { LocalHandlers } from './ports.ts';
import type { OfferedTask, TaskFailure, WorkerTasks } from './worker-tasks.ts';

/** Handlers of this process that run at the same time. */
const MAX_HANDLERS = 64;

/**
 * domainTask with `{handler, input}`: done by a handler of the daemon's own folder, else by the first external worker that
 * polls for it; until one of the two is there it waits. An outcome that a worker was thanked for is a recorded step, so that
 * no crash loses it. Errors: the code that the handler gives, or HANDLER_FAILED, HANDLER_RESULT.
 */
export function createDomain(local: LocalHandlers, workers: WorkerTasks): Service {
  const places = createPlaces(MAX_HANDLERS);

  async function inProcess(handler: Handler, input: Json, context: ExecutorContext): Promise<Json> {
    try {
      return await places.run(context.signal, () => runHandler(handler, input, handlerContext(context)));
    } catch (error) {
      if (!(error instanceof HandlerError)) throw error;
      throw new WorkError(error.code, error.message, !error.retryable);
    }
  }

  return {
    async execute(input, context) {
      const known = recorded(context);
      if (known !== undefined) return known.value();
      await local.ready;
      const name = input['handler'] as string;
      const data = input['input'] ?? null;
      const handler = local.get(name) ?? (await outside(taskOf(name, data, context), context, local, workers));
      return typeof handler === 'function' ? inProcess(handler, data, context) : handler.value();
    },
  };
}

/** How work ended, as it was recorded: gives the value or throws the error. */
interface Ended {
  value(): Json;
}

/** Resolves with the recorded outcome of a worker, or with a handler that came into the folder before one took the task. */
async function outside(
  task: OfferedTask,
  context: ExecutorContext,
  local: LocalHandlers,
  workers: WorkerTasks,
): Promise<Ended | Handler> {
  const { signal } = context;
  return new Promise((resolve, reject) => {
    const settled = (outcome: Ended | Handler): void => {
      leave();
      resolve(outcome);
    };
    const stop = (): void => {
      leave();
      reject(signal.reason);
    };
    const look = (): void => {
      const handler = local.get(task.handler);
      if (handler !== undefined && !offer.taken) settled(handler);
    };
    const leave = (): void => {
      offer.withdraw();
      unsubscribe();
      signal.removeEventListener('abort', stop);
    };
    const offer = workers.offer(task, {
      complete: async (result) => settled(endOf(await context.record({ completed: result }))),
      fail: async (failure) =>
        settled(endOf(await context.record({ failed: { ...failure }, attempt: context.attempt }))),
      lost: () => {
        context.log('WARN', `the worker that had "${task.handler}" gave no sign of life; the task is offered again`);
        look();
      },
    });
    const unsubscribe = local.onChange(look);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    else if (!offer.taken) tellOnce(context, task.handler).catch(() => undefined);
  });
}

/** Says once for all attempts what it waits for. */
async function tellOnce(context: ExecutorContext, handler: string): Promise<void> {
  if (context.progress.some((step) => isObject(step) && step['waiting'] === handler)) return;
  context.log('INFO', `waiting for a worker that handles "${handler}"`);
  await context.record({ waiting: handler });
}

/** What a worker did before a crash: a result counts for good, a failure for its own attempt. */
function recorded({ progress, attempt }: ExecutorContext): Ended | undefined {
  const steps = progress.filter(isObject);
  const step = steps.find((one) => Object.hasOwn(one, 'completed') || one['attempt'] === attempt);
  return step && endOf(step);
}

function endOf(step: Json): Ended {
  const { completed, failed } = step as JsonObject;
  return {
    value() {
      if (failed === undefined) return completed as Json;
      const { code, message, retryable } = failed as unknown as TaskFailure;
      throw new WorkError(code, message, !retryable);
    },
  };
}

const taskOf = (handler: string, input: Json, context: ExecutorContext): OfferedTask => ({
  handler,
  input,
  idempotencyKey: context.idempotencyKey,
  organizationId: context.organizationId,
  environment: context.environment,
  processInstanceId: context.instanceId,
  processId: context.processId,
  nodeId: context.nodeId,
  attempt: context.attempt,
});

const handlerContext = ({ idempotencyKey, instanceId, nodeId, attempt, signal, log }: ExecutorContext) => ({
  idempotencyKey,
  instanceId,
  nodeId,
  attempt,
  signal,
  log: (message: string, level: 'INFO' | 'WARN' | 'ERROR' = 'INFO') => log(level, String(message)),
});

import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, type Client, plain, UnreachableError } from '../../client/index.ts';
import type { Environment, WorkerTask } from '../../contract/types.ts';
import { HandlerError, runHandler } from '../../handlers/run.ts';
import type { Wfx } from '../wfx.ts';
import { type Handlers, openHandlers } from './handlers.ts';

export interface WorkerOptions {
  readonly files: readonly string[];
  readonly dir: string | undefined;
  /** Tasks at the same time. */
  readonly places: number;
  readonly environment: Environment | undefined;
}

/** Seconds that a poll waits: less than what a client waits for an answer. */
const POLL_SECONDS = 20;
/** Between polls while the daemon is away, ms. */
const AWAY_MS = 1000;

/** Polls for tasks and does them until SIGINT or SIGTERM; then what is under way is finished, or left by a second signal. */
export async function runWorker(wfx: Wfx, { files, dir, places, environment }: WorkerOptions): Promise<void> {
  const handlers = await openHandlers(wfx.io, files, dir);
  const client = await wfx.client();
  const worker = new Worker(wfx, client, handlers, places, environment);
  let signals = 0;
  const stop = (): void => {
    signals += 1;
    if (signals > 1) worker.leave();
    else worker.stop();
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  wfx.io.note(`Working on ${shownNames(handlers)} (Ctrl-C stops).`);
  await worker.run();
  await handlers.close();
}

const shownNames = ({ names }: Handlers): string => (names.length === 0 ? 'nothing yet' : names.join(', '));

class Worker {
  readonly #wfx: Wfx;
  readonly #client: Client;
  readonly #handlers: Handlers;
  readonly #places: number;
  readonly #environment: Environment | undefined;
  readonly #busy = new Set<Promise<void>>();
  /** Aborts tasks under way. */
  readonly #left = new AbortController();
  #poll = new AbortController();
  #stopped = false;
  #away = false;

  constructor(wfx: Wfx, client: Client, handlers: Handlers, places: number, environment: Environment | undefined) {
    this.#wfx = wfx;
    this.#client = client;
    this.#handlers = handlers;
    this.#places = places;
    this.#environment = environment;
    // The next poll asks for what can be done now.
    handlers.onChange(() => this.#poll.abort());
  }

  async run(): Promise<void> {
    while (!this.#stopped) {
      if (this.#busy.size >= this.#places) await Promise.race(this.#busy);
      else {
        const task = await this.#next();
        if (task !== undefined) this.#begin(task);
      }
    }
    if (this.#busy.size > 0) this.#wfx.io.note(`Finishing ${this.#busy.size} under way (Ctrl-C leaves them).`);
    await Promise.all(this.#busy);
  }

  stop(): void {
    this.#stopped = true;
    this.#poll.abort();
  }

  leave(): void {
    this.#left.abort();
  }

  async #next(): Promise<WorkerTask | undefined> {
    this.#poll = new AbortController();
    const { signal } = this.#poll;
    const handlers = [...this.#handlers.names];
    if (handlers.length === 0) return waited(POLL_SECONDS * 1000, signal);
    const environment = this.#environment === undefined ? {} : { environment: this.#environment };
    const body = { handlers, maxWait: POLL_SECONDS, ...environment };
    try {
      const answer = await this.#client.call('pollTask', { body }, { signal });
      if (this.#away) this.#wfx.io.note('The daemon answers again.');
      this.#away = false;
      return answer?.task;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!mayPass(error)) throw error;
      if (!this.#away) this.#wfx.io.warn('the daemon does not answer; it is asked until it does');
      this.#away = true;
      return waited(AWAY_MS, signal);
    }
  }

  #begin(task: WorkerTask): void {
    const work = this.#perform(task).finally(() => this.#busy.delete(work));
    this.#busy.add(work);
  }

  async #perform(task: WorkerTask): Promise<void> {
    const { taskId } = task;
    const lost = new AbortController();
    const beat = setInterval(() => void this.#keep(taskId, lost), (task.leaseSeconds * 1000) / 3);
    this.#say(task, 'started');
    try {
      await this.#handIn(task, AbortSignal.any([lost.signal, this.#left.signal]));
    } catch (error) {
      if (!this.#left.signal.aborted) this.#say(task, `not handed in: ${(error as Error).message}`);
    } finally {
      clearInterval(beat);
    }
  }

  /** Runs the handler and hands in how it ended; a task that another worker has by now is let go of. */
  async #handIn(task: WorkerTask, signal: AbortSignal): Promise<void> {
    const { taskId } = task;
    const once = { idempotencyKey: taskId };
    try {
      const result = await this.#result(task, signal);
      await this.#client.call('completeTask', { params: { taskId }, body: { result } }, once);
      this.#say(task, 'completed');
    } catch (error) {
      if (!(error instanceof HandlerError) || signal.aborted) throw error;
      const { code, retryable } = error;
      const message = error.message.slice(0, 2000);
      await this.#client.call('failTask', { params: { taskId }, body: { code, message, retryable } }, once);
      this.#say(task, `failed: ${code}: ${message}`);
    }
  }

  async #result(task: WorkerTask, signal: AbortSignal) {
    const handler = this.#handlers.get(task.handler);
    if (handler === undefined)
      throw new HandlerError('HANDLER_FAILED', `the worker has no handler ${task.handler} any more`);
    return runHandler(handler, task.input, {
      idempotencyKey: task.idempotencyKey,
      instanceId: task.processInstanceId,
      nodeId: task.nodeId,
      attempt: task.attempt,
      signal,
      log: (message) => this.#say(task, message),
    });
  }

  /** A sign of life. The daemon that says the task is not ours any more ends it; one that is away may be back in time. */
  async #keep(taskId: string, lost: AbortController): Promise<void> {
    try {
      await this.#client.call('keepTask', { params: { taskId } });
    } catch (error) {
      if (!mayPass(error)) lost.abort();
    }
  }

  #say({ handler, processInstanceId, nodeId }: WorkerTask, message: string): void {
    this.#wfx.io.note(plain(`${handler}  ${processInstanceId}/${nodeId}  ${message}`));
  }
}

const mayPass = (error: unknown): boolean =>
  error instanceof UnreachableError || (error instanceof ApiError && (error.status === 429 || error.status >= 500));

async function waited(ms: number, signal: AbortSignal): Promise<undefined> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
  return undefined;
}

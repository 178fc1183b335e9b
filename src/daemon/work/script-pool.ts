import { existsSync } from 'node:fs';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { WorkError } from './executor.ts';
import type { ScriptAnswer, ScriptJob } from './sandbox.ts';
import type { ScriptThreadData } from './script-worker.ts';

const MAX_THREADS = 2;
/** After that the threads are ended, and with them the memory that scripts made them take. */
const IDLE_MS = 30_000;
/** How long a thread has to notice that its script is to stop, before it is ended from outside. */
const NOTICE_MS = 500;
/** The interpreter nests on the thread's stack as its scripts do on its own; overflowing this one would break it. */
const STACK_MB = 64;
const HEAP_MB = 256;

export interface ScriptPool {
  /**
   * Evaluates a script on a thread, when one is free. Rejects with WorkError SCRIPT_TIMEOUT or SCRIPT_MEMORY when the
   * thread had to be ended, and when `signal` aborts.
   */
  evaluate(job: ScriptJob, signal: AbortSignal): Promise<ScriptAnswer>;
  close(): Promise<void>;
}

interface Job extends ScriptJob {
  readonly signal: AbortSignal;
  readonly settle: (answer: ScriptAnswer | Error) => void;
}

interface Thread {
  readonly worker: Worker;
  readonly stop: Int32Array;
  ready: boolean;
  job?: Job | undefined;
  watchdog?: NodeJS.Timeout | undefined;
}

/** Up to two threads, started when there are scripts to run. `timeLimit` in milliseconds, for each script. */
export function createScriptPool(timeLimit: number): ScriptPool {
  const waiting = new Set<Job>();
  const idle = new Set<Thread>();
  const all = new Set<Thread>();
  let idleTimer: NodeJS.Timeout | undefined;
  let closed = false;

  function serve(): void {
    clearTimeout(idleTimer);
    for (const job of waiting) {
      const [thread] = idle;
      if (thread === undefined) {
        // Threads on their way are idle soon: no more than one for each job.
        if (all.size < MAX_THREADS && !closed) spawn();
        return;
      }
      waiting.delete(job);
      idle.delete(thread);
      begin(thread, job);
    }
    if (all.size > 0 && idle.size === all.size) idleTimer = setTimeout(endIdle, IDLE_MS).unref();
  }

  function spawn(): void {
    const shared = new SharedArrayBuffer(4);
    const workerData: ScriptThreadData = { timeLimit, stop: shared };
    const worker = startThread({
      workerData,
      name: 'wfx-script',
      env: {},
      resourceLimits: { stackSizeMb: STACK_MB, maxOldGenerationSizeMb: HEAP_MB },
    });
    const thread: Thread = { worker, stop: new Int32Array(shared), ready: false };
    all.add(thread);
    worker.on('message', (message: 'ready' | ScriptAnswer) => {
      if (message === 'ready') thread.ready = true;
      else finish(thread, message);
      idle.add(thread);
      worker.unref();
      serve();
    });
    worker.on('error', (error) => lose(thread, error));
    worker.on('exit', () => lose(thread, undefined));
  }

  function begin(thread: Thread, job: Job): void {
    thread.job = job;
    Atomics.store(thread.stop, 0, 0);
    thread.worker.ref();
    thread.watchdog = setTimeout(() => end(thread, overrun(timeLimit)), timeLimit + NOTICE_MS);
    thread.worker.postMessage({ script: job.script, variables: job.variables } satisfies ScriptJob);
  }

  function finish(thread: Thread, answer: ScriptAnswer | Error): void {
    clearTimeout(thread.watchdog);
    thread.job?.settle(answer);
    thread.job = undefined;
  }

  /** For a script inside one long step of the interpreter, which asks nobody meanwhile. */
  function end(thread: Thread, why: Error): void {
    finish(thread, why);
    void thread.worker.terminate();
    lose(thread, undefined);
  }

  function lose(thread: Thread, error: unknown): void {
    if (!all.delete(thread)) return;
    idle.delete(thread);
    finish(thread, broken(error));
    // What keeps one thread from starting keeps the next one too.
    if (!thread.ready) failWaiting(broken(error));
    serve();
  }

  function failWaiting(error: Error): void {
    for (const job of waiting) job.settle(error);
    waiting.clear();
  }

  function endIdle(): void {
    for (const thread of idle) {
      all.delete(thread);
      void thread.worker.terminate();
    }
    idle.clear();
  }

  function abort(job: Job): void {
    waiting.delete(job);
    const thread = [...all].find((each) => each.job === job);
    if (thread === undefined) return job.settle(aborted());
    Atomics.store(thread.stop, 0, 1);
    clearTimeout(thread.watchdog);
    thread.watchdog = setTimeout(() => end(thread, aborted()), NOTICE_MS);
  }

  return {
    evaluate: (job, signal) =>
      new Promise((resolve, reject) => {
        const onAbort = (): void => abort(entry);
        const settle = (answer: ScriptAnswer | Error): void => {
          signal.removeEventListener('abort', onAbort);
          if (answer instanceof Error) reject(answer);
          else resolve(answer);
        };
        const entry: Job = { ...job, signal, settle };
        if (signal.aborted || closed) return settle(aborted());
        signal.addEventListener('abort', onAbort);
        waiting.add(entry);
        serve();
      }),
    async close() {
      closed = true;
      clearTimeout(idleTimer);
      failWaiting(aborted());
      const workers = [...all].map(({ worker }) => worker);
      for (const thread of [...all]) end(thread, aborted());
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}

function startThread(options: WorkerOptions): Worker {
  const file = threadFile();
  if (!file.pathname.endsWith('.ts')) return new Worker(file, options);
  // Run from source by tsx, which reaches only the main thread by itself.
  const tsx = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const source = `import(${tsx}).then((api) => { api.register(); return import(${JSON.stringify(file.href)}); })`;
  return new Worker(source, { ...options, eval: true });
}

/** Beside this file as it is written, beside the bundle, or one folder above a part of the bundle. */
function threadFile(): URL {
  const places = ['./script-worker.ts', './script-worker.js', '../script-worker.js'];
  const found = places.map((place) => new URL(place, import.meta.url)).find((url) => existsSync(url));
  if (found === undefined) throw new Error('script-worker.js is missing beside the daemon; install wfx again');
  return found;
}

const overrun = (timeLimit: number) =>
  new WorkError('SCRIPT_TIMEOUT', `the script ran longer than ${timeLimit / 1000} s`);

const aborted = () => new WorkError('SCRIPT_ABORTED', 'the script was stopped');

function broken(error: unknown): WorkError {
  const reason = error instanceof Error ? `: ${error.message}` : '';
  const isMemory =
    error instanceof RangeError || (error as NodeJS.ErrnoException | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY';
  return new WorkError(
    isMemory ? 'SCRIPT_MEMORY' : 'SCRIPT_ERROR',
    `the script broke its sandbox, which was made anew${reason}`,
  );
}

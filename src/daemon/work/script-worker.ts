import { parentPort, workerData } from 'node:worker_threads';
import { getQuickJS } from 'quickjs-emscripten';
import { evaluate, type ScriptJob } from './sandbox.ts';

/** What script-pool.ts starts its threads with. */
export interface ScriptThreadData {
  /** Milliseconds that one script may run. */
  readonly timeLimit: number;
  /** One shared number, not 0 as soon as the script under way is to stop. */
  readonly stop: SharedArrayBuffer;
}

const { timeLimit, stop } = workerData as ScriptThreadData;
const stopFlag = new Int32Array(stop);
const module = await getQuickJS();

parentPort?.on('message', (job: ScriptJob) => {
  // What is thrown here ends the thread: the interpreter's memory is not to be trusted any more.
  parentPort?.postMessage(evaluate(module, job, { timeLimit, aborted: () => Atomics.load(stopFlag, 0) !== 0 }));
});
parentPort?.postMessage('ready');

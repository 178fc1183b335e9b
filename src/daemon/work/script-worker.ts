import { parentPort, workerData } from 'node:worker_threads';
import { newQuickJSWASMModuleFromVariant, newVariant, RELEASE_SYNC } from 'quickjs-emscripten';
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
/**
 * Pages of 64 KiB: 128 MiB for scripts, and 16 MiB that the interpreter itself begins with. Its own limit is no bound: it looks
 * at each piece of memory by itself.
 */
const PAGES = { initial: 256, maximum: 256 + 2048 };

/** What Node has and its types don't tell of. */
interface WithWasm {
  readonly WebAssembly: { readonly Memory: new (pages: typeof PAGES) => object };
}

const { WebAssembly: wasm } = globalThis as unknown as WithWasm;
const wasmMemory = new wasm.Memory(PAGES);
const module = await newQuickJSWASMModuleFromVariant(newVariant(RELEASE_SYNC, { wasmMemory }));

parentPort?.on('message', (job: ScriptJob) => {
  // What is thrown here ends the thread: the interpreter's memory is not to be trusted any more.
  parentPort?.postMessage(evaluate(module, job, { timeLimit, aborted: () => Atomics.load(stopFlag, 0) !== 0 }));
});
parentPort?.postMessage('ready');

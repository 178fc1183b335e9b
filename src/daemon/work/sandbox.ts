import {
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSWASMModule,
  Scope,
} from 'quickjs-emscripten';
import type { LogLevel } from './executor.ts';
import { SANDBOX_GLOBALS } from './sandbox-globals.ts';

/** One script and the variables that it sees as globals, as the JSON text of an object. */
export interface ScriptJob {
  readonly script: string;
  readonly variables: string;
}

export interface ScriptLine {
  readonly level: LogLevel;
  readonly line: string;
}

export type ScriptAnswer =
  | { readonly ok: true; readonly json: string; readonly logs: readonly ScriptLine[] }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly logs: readonly ScriptLine[] };

const MEMORY = 128 * 1024 * 1024;
/** Held back, and let go for describing the error of a script that used up all memory. */
const SPARE_MEMORY = 1024 * 1024;
/** Of the interpreter's own stack; the thread's stack is far larger (see script-pool.ts). */
const STACK = 768 * 1024;
/** Characters of JSON. */
const MAX_RESULT = 4 * 1024 * 1024;
const MAX_LOGS = 250;
const MAX_CODE = 200;
const JOBS_AT_ONCE = 1000;
const FILE = 'script';

class ScriptFailure extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

interface Sandbox {
  readonly runtime: QuickJSRuntime;
  readonly context: QuickJSContext;
  readonly scope: Scope;
  readonly timeLimit: number;
  readonly interrupted: () => boolean;
  /** The functions of sandbox-globals.ts. */
  readonly globals: QuickJSHandle;
  readonly spare: QuickJSHandle;
}

/** What ends a script from outside. */
export interface ScriptLimits {
  /** Milliseconds. */
  readonly timeLimit: number;
  /** Asked all the time while the script runs. */
  readonly aborted: () => boolean;
}

/**
 * Evaluates a script in a context of its own, made for it and thrown away after it.
 * The value is that of the script's last expression, or what a `return` outside of functions gives; of a promise, what it
 * is fulfilled with, if nothing but promises is needed for that. It must be JSON: undefined is null; functions, symbols,
 * BigInts, NaN, Infinity and cycles are errors.
 * Errors: SCRIPT_ERROR or the thrown value's own string `code`; SCRIPT_TIMEOUT; SCRIPT_MEMORY for more than 128 MiB, calls
 * that nest too deeply, and results over 4 MiB.
 * @throws what the interpreter itself fails with; nothing of `module` may be used after that.
 */
export function evaluate(module: QuickJSWASMModule, job: ScriptJob, limits: ScriptLimits): ScriptAnswer {
  const logs: ScriptLine[] = [];
  return Scope.withScope((scope): ScriptAnswer => {
    try {
      return { ok: true, json: resultOf(createSandbox(module, scope, limits, logs), job), logs };
    } catch (error) {
      if (!(error instanceof ScriptFailure)) throw error;
      return { ok: false, code: error.code, message: error.message, logs };
    }
  });
}

function createSandbox(module: QuickJSWASMModule, scope: Scope, limits: ScriptLimits, logs: ScriptLine[]): Sandbox {
  const runtime = scope.manage(module.newRuntime());
  runtime.setMemoryLimit(MEMORY);
  runtime.setMaxStackSize(STACK);
  const context = scope.manage(runtime.newContext());
  const spare = scope.manage(context.newArrayBuffer(new ArrayBuffer(SPARE_MEMORY)));
  const log = scope.manage(
    context.newFunction('log', (line) => {
      if (logs.length < MAX_LOGS) logs.push(JSON.parse(context.getString(line)) as ScriptLine);
    }),
  );
  const prepare = scope.manage(context.unwrapResult(context.evalCode(SANDBOX_GLOBALS, 'wfx')));
  const globals = scope.manage(context.unwrapResult(context.callFunction(prepare, context.undefined, log)));
  // The time is the script's: making its sandbox does not count.
  const deadline = performance.now() + limits.timeLimit;
  let interrupted = false;
  runtime.setInterruptHandler(() => {
    interrupted ||= limits.aborted() || performance.now() > deadline;
    return interrupted;
  });
  return { runtime, context, scope, globals, spare, timeLimit: limits.timeLimit, interrupted: () => interrupted };
}

function resultOf(sandbox: Sandbox, job: ScriptJob): string {
  const { context, scope } = sandbox;
  call(sandbox, 'variables', scope.manage(context.newString(job.variables)));
  const value = settled(sandbox, run(sandbox, job.script));
  const json = call(sandbox, 'result', value);
  const length = context.getNumber(scope.manage(context.getProp(json, 'length')));
  if (length > MAX_RESULT)
    throw new ScriptFailure('SCRIPT_MEMORY', `the script's result is larger than ${MAX_RESULT / 1024 / 1024} MiB`);
  const text = context.getString(json);
  if (text === '') throw outOfMemory();
  return text;
}

type Evaluated = ReturnType<QuickJSContext['evalCode']>;

function call(sandbox: Sandbox, name: string, argument: QuickJSHandle): QuickJSHandle {
  const { context, scope, globals } = sandbox;
  const called = scope.manage(context.getProp(globals, name));
  return taken(sandbox, context.callFunction(called, context.undefined, argument));
}

function taken(sandbox: Sandbox, result: Evaluated): QuickJSHandle {
  if (result.error) throw failureOf(sandbox, sandbox.scope.manage(result.error));
  return sandbox.scope.manage(result.value);
}

/**
 * A script is a program, whose value is its last expression's. One with a `return` outside of functions is the body of a
 * function instead, and of an async one if it also has such an `await`. The first form that compiles is run.
 */
function run(sandbox: Sandbox, script: string): QuickJSHandle {
  const { context } = sandbox;
  if (!/\b(return|await)\b/.test(script)) return taken(sandbox, context.evalCode(script, FILE));
  // On the script's first line, so that line numbers stay; the line break ends a comment on its last.
  const forms = [script, `(function () { ${script}\n})()`, `(async function () { ${script}\n})()`];
  const problems = forms.map((form) => () => syntaxProblem(sandbox, form));
  const form = forms.find((_, index) => problems[index]?.() === undefined);
  if (form === undefined) throw misread(problems.map((problem) => problem() as ScriptFailure));
  if (form === forms[2] && !/\breturn\b/.test(script))
    throw new ScriptFailure(
      'SCRIPT_ERROR',
      'a script that uses await outside of functions gives its result with return',
    );
  return taken(sandbox, context.evalCode(form, FILE));
}

function syntaxProblem(sandbox: Sandbox, code: string): ScriptFailure | undefined {
  const result = sandbox.context.evalCode(code, FILE, { compileOnly: true });
  if (result.error) return failureOf(sandbox, sandbox.scope.manage(result.error));
  result.value.dispose();
  return undefined;
}

/** The problem of the form that was meant: what stops a program is no news when it is only its `return`. */
function misread([program, body]: readonly ScriptFailure[]): ScriptFailure {
  const failure = program?.message.includes('return not in a function') ? body : program;
  return failure as ScriptFailure;
}

function settled(sandbox: Sandbox, value: QuickJSHandle): QuickJSHandle {
  const { runtime, context, scope } = sandbox;
  while (runtime.hasPendingJob()) {
    const jobs = runtime.executePendingJobs(JOBS_AT_ONCE);
    if (jobs.error) throw failureOf(sandbox, scope.manage(jobs.error));
    if (sandbox.interrupted()) throw timedOut(sandbox);
  }
  const state = context.getPromiseState(value);
  if (state.type === 'rejected') throw failureOf(sandbox, scope.manage(state.error));
  if (state.type === 'pending')
    throw new ScriptFailure(
      'SCRIPT_ERROR',
      'the script gave a promise that never settles: there are no timers and no network in a script',
    );
  return state.notAPromise ? value : scope.manage(state.value);
}

const timedOut = ({ timeLimit }: Sandbox) =>
  new ScriptFailure('SCRIPT_TIMEOUT', `the script ran longer than ${timeLimit / 1000} s`);

function failureOf(sandbox: Sandbox, thrown: QuickJSHandle): ScriptFailure {
  if (sandbox.interrupted()) return timedOut(sandbox);
  sandbox.runtime.setMemoryLimit(MEMORY + SPARE_MEMORY);
  if (sandbox.spare.alive) sandbox.spare.dispose();
  const { context, scope, globals } = sandbox;
  const describe = scope.manage(context.getProp(globals, 'description'));
  const result = context.callFunction(describe, context.undefined, thrown);
  if (result.error) {
    result.error.dispose();
    return sandbox.interrupted()
      ? timedOut(sandbox)
      : new ScriptFailure('SCRIPT_ERROR', 'the script threw something that cannot be read');
  }
  const text = context.getString(scope.manage(result.value));
  return described(JSON.parse(text) as Description);
}

interface Description {
  readonly code?: string;
  readonly name: string;
  readonly message: string;
  /** Only of errors. */
  readonly stack?: string;
  /** There was no memory left for an error. */
  readonly full: boolean;
}

function described({ code, name, message, stack, full }: Description): ScriptFailure {
  const isInternal = name === 'InternalError' || name === 'SyntaxError';
  if (isInternal && message === 'stack overflow')
    return new ScriptFailure('SCRIPT_MEMORY', `the script's calls nest too deeply${lineOf(stack)}`);
  if (full || (isInternal && (message === 'out of memory' || message === 'string too long'))) return outOfMemory(stack);
  const named = name === '' || name === 'Error' ? message : `${name}: ${message}`;
  const valid = code !== undefined && code !== '' && code.length <= MAX_CODE;
  return new ScriptFailure(valid ? code : 'SCRIPT_ERROR', `${named}${lineOf(stack)}`);
}

const outOfMemory = (stack?: string) =>
  new ScriptFailure(
    'SCRIPT_MEMORY',
    `the script needs more than its ${MEMORY / 1024 / 1024} MiB of memory${lineOf(stack)}`,
  );

function lineOf(stack = ''): string {
  const line = /\bscript:(\d+)/.exec(stack)?.[1];
  return line === undefined ? '' : ` (line ${line})`;
}

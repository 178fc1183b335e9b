import { isObject, type Json, type JsonObject } from '../../engine/json.ts';
import type { EnvLookup, Outcome, Prepared, WorkItem, WorkKind, WorkLog } from '../ports.ts';
import { type Executor, type LogLevel, WorkError, type WorkSettings } from './executor.ts';
import { createMask, MASK, type Mask } from './mask.ts';

/** The values that were set for one environment of one organization. */
export interface Environment {
  readonly values: EnvLookup;
  /** The secret ones among them, to be masked in whatever comes back. */
  readonly secrets: readonly string[];
}

/** Deeper values would overflow the stack of whoever writes them as JSON later. */
const MAX_DEPTH = 500;
const MAX_LOGS = 200;
const MAX_LOG_LENGTH = 8192;
const MAX_MESSAGE_LENGTH = 2000;
const MAX_CODE_LENGTH = 200;

/** Everything that one attempt needs beside its item. */
export interface AttemptOptions {
  readonly execute: Executor;
  readonly settings: WorkSettings;
  readonly environment: () => Environment;
  readonly signal: AbortSignal;
  /** Told of errors that are not the flow's, a mistake in wfx itself; the text bears no secrets. */
  readonly unexpected: (error: string) => void;
}

/** Runs one attempt to its outcome; never rejects. Secrets are masked in all of the outcome. */
export async function runAttempt(item: WorkItem, options: AttemptOptions): Promise<Outcome> {
  const lines = createLines();
  let mask = createMask([]);
  try {
    const environment = options.environment();
    mask = createMask(environment.secrets);
    const { input, tool } = resolved(lines, () => item.prepare(lookupFor(item.kind, environment, lines)));
    const context = contextOf(item, options, lines, mask);
    const value = await options.execute(input, {
      ...context,
      env: environment.values,
      tool: (index, variables) => resolved(lines, () => toolOf(tool, environment, index, variables)).input,
    });
    if (isDeep(value))
      throw new WorkError('RESULT_TOO_DEEP', `node '${item.nodeId}': the result nests deeper than ${MAX_DEPTH} levels`);
    return { ok: true, value: mask.value(value), logs: lines.taken(mask.text) };
  } catch (thrown) {
    if (!(thrown instanceof WorkError) && !options.signal.aborted) options.unexpected(mask.text(traceOf(thrown)));
    const { code, message, final } = errorOf(thrown);
    const error = {
      code: shortened(mask.text(code), MAX_CODE_LENGTH),
      message: shortened(mask.text(message), MAX_MESSAGE_LENGTH),
      ...(final === true && { final }),
    };
    return { ok: false, error, logs: lines.taken(mask.text) };
  }
}

/** Templates are resolved with their warnings logged; the flow's own errors need not be instances of a class of ours. */
function resolved(lines: Lines, resolve: () => Prepared): Prepared {
  try {
    const prepared = resolve();
    for (const warning of prepared.warnings) lines.add('WARN', warning);
    return prepared;
  } catch (thrown) {
    if (isObject(thrown) && typeof thrown['code'] === 'string' && typeof thrown['message'] === 'string')
      throw new WorkError(thrown['code'], thrown['message']);
    throw thrown;
  }
}

/** Where secrets go out to the service that they are for; anywhere else they read `***` (decisions §4). */
const TAKES_SECRETS: ReadonlySet<WorkKind> = new Set(['http', 'command', 'email']);

function lookupFor(kind: WorkKind, { values, secrets }: Environment, lines: Lines): EnvLookup {
  if (TAKES_SECRETS.has(kind)) return values;
  const hidden = new Set(secrets);
  return (name) => {
    const value = values(name);
    if (typeof value !== 'string' || !hidden.has(value)) return value;
    lines.add('WARN', `{env.${name}} is a secret: it reads *** here`);
    return MASK;
  };
}

function toolOf(tool: Prepared['tool'], { values }: Environment, index: number, variables: JsonObject): Prepared {
  if (tool === undefined) throw new Error('this work has no tools');
  return tool(index, variables, values);
}

function contextOf(item: WorkItem, options: AttemptOptions, lines: Lines, mask: Mask) {
  const { idempotencyKey, instanceId, nodeId, attempt, organizationId, environment, processId, progress } = item;
  const { signal, settings } = options;
  const place = { instanceId, nodeId, organizationId, environment, processId };
  const withdrawn = abortOf(signal);
  const record = async (step: Json): Promise<Json> => {
    const masked = mask.value(step);
    await Promise.race([item.record(masked, lines.taken(mask.text)), withdrawn]);
    return masked;
  };
  return { ...place, signal, idempotencyKey, attempt, progress, record, log: lines.add, masked: mask.text, settings };
}

/** Rejects when `signal` aborts; nobody needs to wait for it. */
function abortOf(signal: AbortSignal): Promise<never> {
  const withdrawn = new Promise<never>((_, reject) => {
    const stop = () => reject(new WorkError('ABORTED', 'the node was withdrawn'));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  withdrawn.catch(() => undefined);
  return withdrawn;
}

function errorOf(thrown: unknown): { code: string; message: string; final?: boolean } {
  if (thrown instanceof WorkError) return thrown;
  return { code: 'WORK_FAILED', message: thrown instanceof Error ? thrown.message : String(thrown) };
}

const traceOf = (thrown: unknown): string => (thrown instanceof Error && thrown.stack) || String(thrown);

interface Lines {
  add(level: LogLevel, message: string): void;
  taken(mask: (text: string) => string): WorkLog[];
}

function createLines(): Lines {
  const kept: WorkLog[] = [];
  let dropped = 0;
  return {
    add(level, message) {
      if (kept.length < MAX_LOGS) kept.push({ level, message });
      else dropped += 1;
    },
    taken(mask) {
      // Masked before it is cut, since half a secret is not recognised any more.
      const logs = kept
        .splice(0)
        .map(({ level, message }) => ({ level, message: shortened(mask(message), MAX_LOG_LENGTH) }));
      if (dropped > 0) logs.push({ level: 'WARN', message: `${dropped} further log lines were dropped` });
      dropped = 0;
      return logs;
    },
  };
}

const shortened = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1)}…`;

function isDeep(value: Json): boolean {
  let level: Json[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((each) =>
      typeof each === 'object' && each !== null ? Object.values<Json>(each as JsonObject) : [],
    );
  }
  return false;
}

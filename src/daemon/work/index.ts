import type { Outcome, Work, WorkItem, WorkKind } from '../ports.ts';
import { createAgent } from './agent.ts';
import { createAi } from './ai.ts';
import { type AttemptOptions, type Environment, runAttempt } from './attempt.ts';
import { createCommand } from './command.ts';
import { createDomain } from './domain.ts';
import { createEmail } from './email.ts';
import { type Service, WITHDRAWN, WorkError, type WorkSettings } from './executor.ts';
import { createHttp } from './http.ts';
import { createMemory } from './memory.ts';
import type { WorkPorts } from './ports.ts';
import { createScript } from './script.ts';
import { createVoice } from './voice.ts';

export type { Environment } from './attempt.ts';
export type { SmtpSettings, WorkSettings } from './executor.ts';

/** The part of a pino logger that is used here. */
export interface WorkLogger {
  error(fields: object, message: string): void;
}

export interface WorkOptions {
  readonly settings: WorkSettings;
  readonly environment: (organizationId: string, environment: string) => Environment;
  readonly log: WorkLogger;
  /** What is left out is not done here: its nodes fail with WORK_NOT_AVAILABLE. */
  readonly ports?: Partial<WorkPorts>;
}

const DEFAULT_CONCURRENT = 64;
const CLOSE_WAIT_MS = 8000;
/**
 * Work that mostly waits for a worker, or for other flows whose own work needs places: it takes none itself, so that neither
 * many of it stop all other work, nor any of it waits for a place that it holds.
 */
const WAITS_FOR_OTHERS: ReadonlySet<WorkKind> = new Set(['domain', 'agent']);

interface Attempt {
  readonly item: WorkItem;
  readonly done: (outcome: Outcome) => void;
  readonly controller: AbortController;
}

/** @throws when `settings.httpDeny` holds something that is no address or CIDR block. */
export function createWork({ settings, environment, log, ports = {} }: WorkOptions): Work {
  const services = createServices(settings, ports);
  const limit = settings.maxConcurrent ?? DEFAULT_CONCURRENT;
  // Maps keep the order of insertion: the queue is first in, first out, and an abort finds its entry at once.
  const queue = new Map<string, Attempt>();
  const unhurried = new Map<string, Attempt>();
  const current = new Map<string, Attempt>();
  const ending = new Set<Promise<void>>();
  let busy = 0;
  let closed = false;
  let scheduled: NodeJS.Immediate | undefined;

  const schedule = (): void => {
    if (!closed) scheduled ??= setImmediate(fill);
  };

  function fill(): void {
    scheduled = undefined;
    for (const [key, attempt] of unhurried) {
      unhurried.delete(key);
      void begin(key, attempt);
    }
    for (const [key, attempt] of queue) {
      if (busy >= limit) return;
      queue.delete(key);
      busy += 1;
      void begin(key, attempt).then(() => {
        busy -= 1;
        schedule();
      });
    }
  }

  function begin(key: string, attempt: Attempt): Promise<void> {
    current.set(key, attempt);
    const run = perform(key, attempt).finally(() => ending.delete(run));
    ending.add(run);
    return run;
  }

  async function perform(key: string, attempt: Attempt): Promise<void> {
    const outcome = await runAttempt(attempt.item, optionsOf(attempt));
    if (attempt.controller.signal.aborted) return;
    current.delete(key);
    try {
      attempt.done(outcome);
    } catch (error) {
      log.error({ err: error, ...placeOf(attempt.item) }, 'the outcome of a node could not be handed over');
    }
  }

  const optionsOf = ({ item, controller }: Attempt): AttemptOptions => ({
    execute: async (input, context) => serviceFor(services, item).execute(input, context),
    settings,
    environment: () => environment(item.organizationId, item.environment),
    signal: controller.signal,
    unexpected: (error) => log.error({ error, ...placeOf(item) }, 'work failed unexpectedly'),
  });

  function abort(key: string, reason?: Error): void {
    queue.delete(key);
    unhurried.delete(key);
    const attempt = current.get(key);
    current.delete(key);
    attempt?.controller.abort(reason);
  }

  return {
    start(item, done) {
      if (closed) return;
      const key = keyOf(item.instanceId, item.activation);
      abort(key);
      const line = WAITS_FOR_OTHERS.has(item.kind) ? unhurried : queue;
      line.set(key, { item, done, controller: new AbortController() });
      schedule();
    },
    abort: (instanceId, activation) => abort(keyOf(instanceId, activation), WITHDRAWN),
    get running() {
      return ending.size;
    },
    get queued() {
      return queue.size + unhurried.size;
    },
    async close() {
      closed = true;
      clearImmediate(scheduled);
      queue.clear();
      unhurried.clear();
      for (const key of [...current.keys()]) abort(key);
      await atMost(CLOSE_WAIT_MS, Promise.all(ending));
      await Promise.all([...services.values()].map((service) => service.close?.()));
    },
  };
}

function createServices(
  settings: WorkSettings,
  { memory, domain, files, flows }: Partial<WorkPorts>,
): ReadonlyMap<WorkKind, Service> {
  const http = createHttp(settings);
  const services = new Map<WorkKind, Service>([
    ['http', http],
    ['command', createCommand()],
    ['script', createScript(settings)],
    ['ai', createAi()],
    ['agent', createAgent({ http: http.execute, flows: () => flows?.() })],
    ['email', createEmail(files)],
  ]);
  if (files !== undefined) services.set('voice', createVoice(files));
  if (memory !== undefined) services.set('memory', createMemory(memory));
  if (domain !== undefined) services.set('domain', createDomain(domain.local, domain.workers));
  return services;
}

function serviceFor(services: ReadonlyMap<WorkKind, Service>, { kind, nodeId }: WorkItem): Service {
  const service = services.get(kind);
  if (!service)
    throw new WorkError('WORK_NOT_AVAILABLE', `node '${nodeId}': this daemon has nothing that does '${kind}' work`);
  return service;
}

const keyOf = (instanceId: string, activation: number): string => `${instanceId}:${activation}`;

const placeOf = ({ instanceId, nodeId, attempt }: WorkItem) => ({ instanceId, nodeId, attempt });

async function atMost(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work, passed]);
  clearTimeout(timer);
}

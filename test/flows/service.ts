import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Test } from 'tap';
import { ApiError, Client } from '../../src/client/index.ts';
import type { Instance, LifecycleEvent, Task } from '../../src/contract/types.ts';
import { readConfig } from '../../src/daemon/config.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { createLog } from '../../src/daemon/log.ts';
import type { Json, JsonObject } from '../../src/engine/json.ts';

const FLOWS = resolve(import.meta.dirname, '../../flows');

/** The text of an example flow. */
export const flowText = (name: string): string => readFileSync(join(FLOWS, `${name}.yaml`), 'utf8');
/** An example's start data. */
export const flowData = (name: string): JsonObject =>
  JSON.parse(readFileSync(join(FLOWS, `${name}.data.json`), 'utf8')) as JsonObject;
const idOf = (text: string): string => /^id: (\S+)/m.exec(text)?.[1] ?? '';

/** A daemon with these example flows published; it is stopped and its data is removed after the test. */
export const service = (t: Test, ...flows: string[]): Promise<Service> => serviceWith(t, {}, ...flows);

/** As `service`, with settings of the daemon's own. */
export async function serviceWith(t: Test, settings: JsonObject, ...flows: string[]): Promise<Service> {
  const home = mkdtempSync(join(tmpdir(), 'wfx-flows-'));
  writeFileSync(join(home, 'settings.json'), JSON.stringify(settings));
  process.env['WFX_KEYCHAIN'] = 'off';
  const config = readConfig(['--port', '0'], { ...process.env, WFX_HOME: home });
  const daemon = await startDaemon(config, createLog('error'));
  const stopping = new AbortController();
  t.teardown(async () => {
    stopping.abort();
    await daemon.stop();
    rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  });
  const keys = JSON.parse(readFileSync(join(home, 'credentials.json'), 'utf8')) as { admin: string };
  const own = new Service(new Client(() => ({ url: daemon.url, apiKey: keys.admin })));
  own.watch(stopping.signal);
  for (const name of flows) await own.publish(flowText(name));
  return own;
}

type Lifecycle = LifecycleEvent['data'] & JsonObject;

export class Service {
  readonly client: Client;
  /** All lifecycle events since the daemon started. */
  readonly events: { readonly type: string; readonly data: Lifecycle }[] = [];
  readonly #waiters = new Set<() => void>();

  constructor(client: Client) {
    this.client = client;
  }

  watch(signal: AbortSignal): void {
    const read = async () => {
      for await (const { event } of this.client.events({ after: '0.0', signal })) {
        this.events.push(event as { type: string; data: Lifecycle });
        for (const wake of this.#waiters) wake();
        this.#waiters.clear();
      }
    };
    read().catch((error: Error) => {
      if (!signal.aborted) throw error;
    });
  }

  async publish(text: string): Promise<string> {
    const { version } = await this.client.call('publishFlow', { body: text });
    return version;
  }

  /** Starts an example flow; its key, if it is given none, is one of its own. */
  async start(name: string, data: JsonObject = {}, correlationKey = `${name}-${this.#runs++}`): Promise<Run> {
    const processId = idOf(flowText(name));
    const { processInstanceId } = await this.client.call('execProcess', { body: { processId, correlationKey, data } });
    return new Run(this, processInstanceId, correlationKey);
  }
  #runs = 0;

  /** Resolves with the first thing that `look` finds; looks again whenever something happened. */
  async until<T>(look: () => T | undefined | Promise<T | undefined>): Promise<T> {
    for (;;) {
      const happened = new Promise<void>((wake) => this.#waiters.add(wake));
      const found = await look();
      if (found !== undefined) return found;
      await happened;
    }
  }
}

/** One run of a flow, with the instances that it started: they share its correlation key. */
export class Run {
  readonly id: string;
  readonly key: string;
  readonly #service: Service;

  constructor(service: Service, id: string, key: string) {
    this.#service = service;
    this.id = id;
    this.key = key;
  }

  async tasks(): Promise<readonly Task[]> {
    const { items } = await this.#service.client.call('listTasks', { query: { limit: 200 } });
    return items.filter(({ correlationKey }) => correlationKey === this.key);
  }

  /** The task of a node, as soon as it waits; rejects when the run ends before. */
  task(nodeId: string): Promise<Task> {
    return this.#service.until(async () => {
      const { stateCd, error } = await this.now();
      const found = (await this.tasks()).find((task) => task.nodeId === nodeId);
      if (found === undefined && stateCd !== 0)
        throw new Error(`the run ended and ${nodeId} never waited: ${stateCd} ${JSON.stringify(error)}`);
      return found;
    });
  }

  /** Answers a node as soon as it waits; gives the task that was answered. */
  async answer(nodeId: string, data: JsonObject = {}): Promise<Task> {
    const task = await this.task(nodeId);
    await this.submit(task, 'COMPLETE', data);
    return task;
  }

  async cancelTask(nodeId: string): Promise<void> {
    await this.submit(await this.task(nodeId), 'CANCEL', {});
  }

  async submit(
    { processInstanceId, nodeId }: Pick<Task, 'processInstanceId' | 'nodeId'>,
    action: 'COMPLETE' | 'CANCEL',
    data: JsonObject,
  ): Promise<void> {
    await this.#service.client.call('submitTask', { body: { processInstanceId, nodeId, action, data } });
  }

  /** Resolves once the node has been entered for the `time`th time in this instance. */
  async reached(nodeId: string, time = 1): Promise<void> {
    await this.#service.until(() => (this.#entered(nodeId) >= time ? true : undefined));
  }

  #entered(nodeId: string): number {
    const { events } = this.#service;
    return events.filter(
      ({ type, data }) => type === 'NODE_STARTED' && data.processInstanceId === this.id && data.nodeId === nodeId,
    ).length;
  }

  async now(): Promise<Instance> {
    return this.#service.client.call('getInstance', { params: { processInstanceId: this.id } });
  }

  /** The instance, once it has ended. */
  ended(): Promise<Instance> {
    return this.#service.until(async () => {
      const instance = await this.now();
      return instance.stateCd === 0 ? undefined : instance;
    });
  }
}

/** How often each node ran, in the order in which they first began. */
export function visits({ nodes }: Instance): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { nodeId } of nodes) counts[nodeId] = (counts[nodeId] ?? 0) + 1;
  return counts;
}

/** The error code that a call is refused with; undefined when it is not. */
export async function refusal(call: Promise<unknown>): Promise<string | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.code;
    throw error;
  }
}

export interface Asked {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Json;
  readonly idempotencyKey: string;
}
/** What the server answers: a status alone, or 200 and a body. */
type Reply = number | JsonObject;

/** The services that a flow calls: a server that keeps what it was asked, and answers what the test says. */
export interface Outside {
  readonly url: string;
  readonly asked: Asked[];
  /** Answers `POST /path` requests from now on; others get 200 and `{}`. */
  answer(what: string, reply: Reply | ((asked: Asked) => Reply)): void;
  /** The bodies of what it was asked, oldest first. */
  bodies(what: string): Json[];
}

export async function outside(t: Test): Promise<Outside> {
  const asked: Asked[] = [];
  const replies = new Map<string, Reply | ((asked: Asked) => Reply)>();
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    const one: Asked = {
      method: request.method ?? '',
      path: pathname,
      query: searchParams,
      body: text === '' ? null : (JSON.parse(text) as Json),
      idempotencyKey: String(request.headers['idempotency-key']),
    };
    asked.push(one);
    const given = replies.get(`${one.method} ${one.path}`) ?? {};
    const reply = typeof given === 'function' ? given(one) : given;
    response.writeHead(typeof reply === 'number' ? reply : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(typeof reply === 'number' ? {} : reply));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answer: (what, reply) => void replies.set(what, reply),
    bodies: (what) => asked.filter(({ method, path }) => `${method} ${path}` === what).map(({ body }) => body),
  };
}

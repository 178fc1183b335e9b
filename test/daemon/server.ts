import { connect } from 'node:net';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import type { Test } from 'tap';
import type { Role } from '../../src/contract/permissions.ts';
import { RateLimits } from '../../src/daemon/auth/limits.ts';
import { openOidc } from '../../src/daemon/auth/oidc.ts';
import type { OidcSettings } from '../../src/daemon/auth/oidc-settings.ts';
import { bootstrap } from '../../src/daemon/bootstrap.ts';
import { createServer } from '../../src/daemon/http/server.ts';
import { Streams } from '../../src/daemon/http/streams.ts';
import { openJournal } from '../../src/daemon/journal/index.ts';
import type { Runtime } from '../../src/daemon/runtime/door.ts';
import { openRuntime } from '../../src/daemon/runtime/index.ts';
import { createStores, type Stores } from '../../src/daemon/store/index.ts';
import { freshKey, keyFact } from '../../src/daemon/store/keys.ts';
import { SecretBox } from '../../src/daemon/store/secret-box.ts';
import type { Clock } from '../../src/daemon/triggers/clock.ts';
import { openTriggers } from '../../src/daemon/triggers/index.ts';
import { WorkerTasks } from '../../src/daemon/work/worker-tasks.ts';
import { tempFolder } from '../folder.ts';

/** A server over the real journal, runtime and stores in a folder of its own; outside work alone is left undone. */
export interface TestServer {
  readonly url: string;
  readonly dataDir: string;
  readonly port: number;
  readonly app: FastifyInstance;
  readonly runtime: Runtime;
  readonly stores: Stores;
  readonly streams: Streams;
  /** Plain keys: `admin` of the organization default, `system` of none. */
  readonly admin: string;
  readonly system: string;
  keyWith(roles: readonly Role[], organizationId?: string | null, changes?: object): Promise<string>;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  refuse(): void;
}
export interface CallOptions {
  readonly key?: string | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
  readonly body: any;
}

const quiet = pino({ level: 'silent' });
const noWork = { start: () => undefined, abort: () => undefined, running: 0, queued: 0, close: async () => undefined };

export interface Setup {
  readonly clock?: Clock;
  readonly allowedOrigins?: readonly string[];
  readonly oidc?: OidcSettings;
  readonly dataDir?: string;
  readonly heartbeatMs?: number;
  readonly maxFileBytes?: number;
}

export async function openServer(t: Test, setup: Setup = {}): Promise<TestServer> {
  process.env['WFX_KEYCHAIN'] = 'off';
  const dataDir = setup.dataDir ?? tempFolder(t);
  const { journal, recovery } = await openJournal({ dir: join(dataDir, 'journal'), log: quiet });
  const box = await SecretBox.open(dataDir);
  let stores = undefined as unknown as Stores;
  const runtime = await openRuntime({
    journal,
    recovery,
    work: noWork,
    log: quiet,
    definitions: (facts) => {
      stores = createStores({ facts, box, dataDir, maxFileBytes: setup.maxFileBytes ?? 1024 * 1024, log: quiet });
      return {
        flow: (processId, version) => stores.definitions.flow(processId, version),
        active: (processId, environment) => stores.definitions.active(processId, environment),
        environmentValue: (organizationId, environment, name) =>
          stores.environment.shown(organizationId, environment, name),
      };
    },
  });
  await bootstrap(stores, dataDir, Date.now());
  const streams = new Streams(quiet, setup.heartbeatMs);
  const triggers = await openTriggers({
    runtime,
    stores,
    dataDir,
    log: quiet,
    ...(setup.clock && { clock: setup.clock }),
  });
  const services = {
    triggers,
    runtime,
    stores,
    limits: new RateLimits(),
    oidc:
      setup.oidc &&
      openOidc({
        organizations: stores.organizations,
        allowedOrigins: setup.allowedOrigins ?? [],
        log: quiet,
        keysCooldownMs: 0,
        settings: setup.oidc,
      }),
    streams,
    workers: new WorkerTasks(),
    metrics: () => 'wfx_info 1\n',
    version: '0',
    daemonId: 'test',
  };
  const settings = {
    host: '127.0.0.1',
    allowedHosts: [],
    allowedOrigins: setup.allowedOrigins ?? [],
    maxBodyBytes: 1024 * 1024,
  };
  const { app, refuse } = createServer(services, settings, quiet);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(async () => {
    streams.close();
    app.server.closeAllConnections();
    await app.close();
    await triggers.close();
    await stores.close();
    await runtime.close();
    await journal.close();
  });
  const keyWith: TestServer['keyWith'] = async (roles, organizationId = 'default', changes = {}) => {
    const fresh = freshKey({ name: roles.join(), organizationId, roles }, Date.now());
    await stores.collections.put([keyFact({ ...fresh.record, ...changes })]);
    return fresh.key;
  };
  const [admin, system] = [await keyWith(['admin']), await keyWith(['system'], null)];
  return {
    url,
    dataDir,
    port: Number(new URL(url).port),
    runtime,
    stores,
    app,
    streams,
    admin,
    system,
    keyWith,
    refuse,
    call: (method, path, options = {}) => call(url, method, path, { key: admin, ...options }),
  };
}

async function call(url: string, method: string, path: string, options: CallOptions): Promise<Answer> {
  const { key, body, headers } = options;
  const type = body === undefined || typeof body !== 'object' ? {} : { 'content-type': 'application/json' };
  const answer = await fetch(url + path, {
    method,
    headers: { ...(key === undefined ? {} : { 'x-api-key': key }), ...type, ...headers },
    ...(body === undefined ? {} : { body: bodyOf(body) }),
  });
  const text = await answer.text();
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') ?? false;
  return { status: answer.status, headers: answer.headers, body: isJson && text !== '' ? JSON.parse(text) : text };
}

const bodyOf = (body: unknown): string | Uint8Array =>
  typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);

/** Sends bytes as they are, and gives everything that comes back until the connection closes. */
export function raw(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    const parts: Buffer[] = [];
    socket.on('data', (part) => parts.push(part));
    socket.on('close', () => resolve(Buffer.concat(parts).toString('latin1')));
    socket.on('error', reject);
  });
}

export const WAITING = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
/** A flow that waits for input, in YAML. */
export const waitingFlow = (id = WAITING, name = 'Waiting'): string => `
id: ${id}
name: ${name}
nodes:
  start: { type: startEvent, next: ask }
  ask: { type: inputNode, name: Ask, inputType: textbox, next: done, errorFlow: done }
  done: { type: endEvent }
`;

export const SHORT = '11111111-2222-4333-8444-555555555555';
/** A flow that ends by itself. */
export const shortFlow = (id = SHORT, name = 'Short'): string => `
id: ${id}
name: ${name}
variables: { greeting: hello }
nodes:
  start: { type: startEvent, next: set }
  set: { type: setVariable, set: { said: "{greeting} {who}" }, next: done }
  done: { type: endEvent }
`;

export async function publish(server: TestServer, source: string, options: CallOptions = {}): Promise<Answer> {
  return server.call('POST', '/process/publish', {
    body: source,
    ...options,
    headers: { 'content-type': 'application/yaml', ...options.headers },
  });
}

import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { watchHandlers } from '../handlers/folder.ts';
import { isOpenToAll } from '../home.ts';
import { VERSION } from '../version.ts';
import { RateLimits } from './auth/limits.ts';
import { bootstrap } from './bootstrap.ts';
import type { Config } from './config.ts';
import { makeFolder } from './durable-folder.ts';
import { metricsText, RequestCounts } from './http/metrics.ts';
import { createServer, type Server } from './http/server.ts';
import { Streams } from './http/streams.ts';
import { type Certificate, followCertificate, readCertificate, TlsError, type TlsFiles } from './http/tls.ts';
import { lockDataDir, openJournal } from './journal/index.ts';
import type { JournalPort, Work } from './ports.ts';
import type { Environment, Runtime } from './runtime/door.ts';
import { openRuntime } from './runtime/index.ts';
import { writeWhole } from './store/durable-file.ts';
import { createStores, type Stores } from './store/index.ts';
import { SecretBox } from './store/secret-box.ts';
import { openTriggers, type Triggers } from './triggers/index.ts';
import { createWork } from './work/index.ts';
import type { WorkPorts } from './work/ports.ts';
import { WorkerTasks } from './work/worker-tasks.ts';
import { workPorts } from './work-ports.ts';

export interface Daemon {
  readonly url: string;
  /** Refuses new requests, finishes those under way, makes everything durable. Safe to call once. */
  stop(): Promise<void>;
}

/** A daemon that can't begin: `code` for programs, one sentence for people. */
export class StartError extends Error {
  override readonly name = 'StartError';
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** How long requests under way may take to finish when the daemon stops. */
const DRAIN_MS = 10_000;
const IDLE_MS = 20;

/**
 * Joins the rooms: journal, then the runtime rebuilt from it, then HTTP. What was opened is closed again, in reverse, when a
 * later step fails, and when the daemon stops.
 */
export async function startDaemon(config: Config, log: Logger): Promise<Daemon> {
  const closing: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const step of closing.reverse()) await step().catch((error) => log.error({ err: error }, 'while stopping'));
  };
  try {
    refuseOpen(config.dataDir);
    const lock = await lockDataDir(config.dataDir);
    closing.push(() => lock.release());
    const data = await openData(config, log, closing);
    const { stores } = data;
    if (await bootstrap(stores, config.dataDir, Date.now()))
      log.info({}, 'first start: made the organization default, an admin key and a system key');
    await stores.uploads.sweep();
    const triggers = await openTriggers({ ...data, dataDir: config.dataDir, log });
    closing.push(() => triggers.close());
    const url = await serve(config, log, { ...data, triggers }, closing);
    return { url, stop: close };
  } catch (error) {
    await close();
    throw error;
  }
}

function refuseOpen(folder: string): void {
  if (!isOpenToAll(folder)) return;
  throw new StartError(
    'OPEN_TO_ALL',
    `Everybody on this machine may write to the data folder ${folder}: run chmod 700 ${folder}, and start again.`,
  );
}

interface Data {
  readonly journal: JournalPort;
  readonly runtime: Runtime;
  readonly stores: Stores;
  readonly workers: WorkerTasks;
}

async function openData(config: Config, log: Logger, closing: (() => Promise<void>)[]): Promise<Data> {
  const { journal, recovery } = await openJournal({ dir: join(config.dataDir, 'journal'), log });
  closing.push(() => journal.close());
  const box = await SecretBox.open(config.dataDir);
  let stores: Stores | undefined;
  await makeFolder(config.handlersDir).catch((error: Error) => {
    const remedy = 'name another one as `handlers` in settings.json';
    throw new StartError('HANDLERS', `The folder of handlers can't be made (${error.message}): ${remedy}.`);
  });
  const local = watchHandlers(config.handlersDir, log);
  closing.push(() => local.close());
  const workers = new WorkerTasks();
  let runtime: Runtime | undefined;
  const rooms = { stores: () => stores as Stores, runtime: () => runtime as Runtime, domain: { local, workers } };
  const work = openWork(config, log, workPorts(rooms), rooms.stores);
  closing.push(() => work.close());
  runtime = await openRuntime({
    journal,
    recovery,
    work,
    log,
    limits: config.limits,
    definitions: (facts) => {
      stores = createStores({ ...config, facts, box, log });
      const { definitions, environment } = stores;
      return {
        flow: (processId, version) => definitions.flow(processId, version),
        active: (processId, at) => definitions.active(processId, at),
        environmentValue: (organizationId, at, name) => environment.shown(organizationId, at, name),
      };
    },
  });
  const opened = { journal, runtime: rooms.runtime(), stores: rooms.stores(), workers };
  closing.push(() => opened.runtime.close());
  closing.push(() => opened.stores.close());
  return opened;
}

function openWork(config: Config, log: Logger, ports: WorkPorts, stores: () => Stores): Work {
  const { allowCommands, work, smtp, ai } = config;
  return createWork({
    settings: { allowCommands, ...work, ...(smtp === undefined ? {} : { smtp }), ...(ai === undefined ? {} : { ai }) },
    environment: (organizationId, environment) => ({
      values: (name) => stores().environment.value(organizationId, environment as Environment, name),
      secrets: stores().environment.secrets(organizationId, environment as Environment),
    }),
    log,
    ports,
  });
}

interface Address {
  readonly url: string;
  readonly certificate: Certificate | undefined;
  readonly daemonId: string;
}

async function certified(files: TlsFiles): Promise<Certificate> {
  try {
    return await readCertificate(files);
  } catch (error) {
    throw error instanceof TlsError ? new StartError('TLS', error.message, { cause: error }) : error;
  }
}

/** Loaded only where people sign in. */
async function openSignIn({ oidc: settings, allowedOrigins }: Config, { organizations }: Stores, log: Logger) {
  if (settings === undefined) return undefined;
  const { openOidc } = await import('./auth/oidc.ts');
  return openOidc({ settings, organizations, allowedOrigins, log });
}

/** Listens, and says where; resolves with the address. */
async function serve(
  config: Config,
  log: Logger,
  { runtime, stores, journal, workers, triggers }: Data & { readonly triggers: Triggers },
  closing: (() => Promise<void>)[],
): Promise<string> {
  const streams = new Streams(log);
  const daemonId = randomUUID();
  const requests = new RequestCounts();
  const measured = () => ({ runtime: runtime.stats, journal: journal.stats, openStreams: streams.open });
  const metrics = () => metricsText({ ...measured(), requests: requests.counts, version: VERSION });
  const services = {
    runtime,
    stores,
    limits: new RateLimits(),
    oidc: await openSignIn(config, stores, log),
    streams,
    workers,
    triggers,
    metrics,
    version: VERSION,
    daemonId,
  };
  const certificate = config.tls && (await certified(config.tls));
  const server = createServer(services, config, log, certificate);
  server.app.addHook('onResponse', async (request, reply) => requests.add(request.method, reply.statusCode));
  closing.push(() => drain(server, streams, workers));
  await listen(server.app, config);
  const { port } = server.app.server.address() as AddressInfo;
  const url = `${certificate === undefined ? 'http' : 'https'}://${hostOf(config.host)}:${port}`;
  closing.push(await announce(config.dataDir, { url, certificate, daemonId }));
  if (config.tls !== undefined) {
    const secure = server.app.server as unknown as HttpsServer;
    const renewed = (fresh: Certificate) => announce(config.dataDir, { url, certificate: fresh, daemonId });
    closing.push(followCertificate(secure, config.tls, log, renewed));
  }
  return url;
}

async function drain({ app, refuse }: Server, streams: Streams, workers: WorkerTasks): Promise<void> {
  refuse();
  streams.close();
  workers.close();
  const timer = setTimeout(() => app.server.closeAllConnections(), DRAIN_MS);
  // Closing ends the connections that are idle now; those whose answer or stream ends later stay open for the next request.
  const idle = setInterval(() => app.server.closeIdleConnections(), IDLE_MS);
  await app.close();
  clearInterval(idle);
  clearTimeout(timer);
}

async function listen(app: FastifyInstance, { host, port }: Config): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const sentences: Readonly<Record<string, string>> = {
      EADDRINUSE: `Port ${port} on ${host} is in use: stop what uses it, or choose another with --port (0 picks a free one).`,
      EACCES: `Port ${port} may not be used by this user: choose one from 1024 on with --port.`,
      EADDRNOTAVAIL: `${host} is no address of this machine: choose another with --host.`,
      ENOTFOUND: `${host} is no address of this machine: choose another with --host.`,
    };
    const sentence = Object.hasOwn(sentences, code) ? sentences[code] : undefined;
    throw sentence === undefined ? error : new StartError(code, sentence, { cause: error });
  }
}

/** What to call to reach a daemon on this machine that listens on `host`. */
function hostOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** Writes `<data folder>/daemon.json`, where the CLI finds the daemon; returns what takes it away again. */
async function announce(dataDir: string, { url, certificate, daemonId }: Address): Promise<() => Promise<void>> {
  const path = join(dataDir, 'daemon.json');
  const tls = certificate && { name: certificate.name, certificate: certificate.cert };
  const about = {
    pid: process.pid,
    url,
    ...(tls && { tls }),
    version: VERSION,
    daemonId,
    startedAt: new Date().toISOString(),
    dataDir,
  };
  await writeWhole(path, `${JSON.stringify(about, null, 2)}\n`);
  return () => rm(path, { force: true });
}

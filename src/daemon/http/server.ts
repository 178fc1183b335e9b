import type { ServerOptions } from 'node:http';
import cors from '@fastify/cors';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { FastifySSEPlugin } from 'fastify-sse-v2';
import { ENDPOINTS } from '../../contract/endpoints.ts';
import { Refusal } from '../refusal.ts';
import { refuseEncoded } from './bodies.ts';
import { answerFor, answerSocket } from './errors.ts';
import type { Services } from './handler.ts';
import { hostCheck, originCheck } from './hosts.ts';
import { addRoutes } from './routes.ts';
import type { Certificate } from './tls.ts';

export interface ServerSettings {
  /** What it will listen on. */
  readonly host: string;
  /** More names that the Host header may have. */
  readonly allowedHosts: readonly string[];
  /** Origins of web pages that may call from a browser; none: none may. */
  readonly allowedOrigins: readonly string[];
  /** Bytes of the largest JSON body or flow file. */
  readonly maxBodyBytes: number;
}

export interface Server {
  readonly app: FastifyInstance;
  /** From now on every request gets SHUTTING_DOWN. */
  refuse(): void;
}

const REQUEST_MS = 30_000;
const HEADERS_MS = 15_000;
/** How long at most a slow request outlives its time. */
const CHECK_MS = 5000;
const MAX_CONNECTIONS = 4096;
const MAX_HEADER_BYTES = 16 * 1024;
const RETRY_MS = 2000;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const PREFLIGHT_S = 600;

/** The HTTP side: routes of the contract, errors in one shape, and bounds for everything that comes in. */
export function createServer(
  services: Services,
  settings: ServerSettings,
  log: FastifyBaseLogger,
  certificate?: Certificate,
): Server {
  const sockets = {
    headersTimeout: HEADERS_MS,
    connectionsCheckingInterval: CHECK_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Refused below, in words.
    requireHostHeader: false,
  };
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    // Nothing is logged for each request, so no logger is made for each.
    childLoggerFactory: (logger) => logger,
    bodyLimit: settings.maxBodyBytes,
    requestTimeout: REQUEST_MS,
    ...protocol(sockets, certificate),
    // Ids of any length that fits into the headers are simply unknown.
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: true,
    // Keys named __proto__ are refused by the body parser.
    onProtoPoisoning: 'ignore',
    clientErrorHandler: answerSocket,
    frameworkErrors: (error, _request, reply) => void sendError(error, reply),
  });
  app.server.maxConnections = MAX_CONNECTIONS;
  let refusing = false;
  const checkHost = hostCheck(settings.host, settings.allowedHosts);
  const checkOrigin = originCheck(settings.allowedOrigins);

  // Hooks with a callback: each async one would cost every request a turn of the microtask queue.
  app.addHook('onRequest', (request, reply, done) => {
    if (refusing) {
      void reply.header('Connection', 'close');
      throw new Refusal('SHUTTING_DOWN', 'The daemon is stopping: try again when it is back.');
    }
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1')
      throw new Refusal('VALIDATION_ERROR', 'The request needs a Host header that names this daemon.');
    if (!isDelivery(request)) {
      checkHost(request);
      checkOrigin(request);
    }
    refuseEncoded(request);
    if (request.is404) refuseUnknown(request, reply);
    done();
  });
  app.addHook('onSend', (_request, reply, _payload, done) => {
    void reply.header('X-Content-Type-Options', 'nosniff');
    if (!reply.hasHeader('Cache-Control')) void reply.header('Cache-Control', 'no-store');
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    // What went well is only told at debug: under load the log would be larger than the journal.
    if (reply.statusCode >= 400) log.info(requestFields(request, reply), 'request');
    else if (log.level === 'debug') log.debug(requestFields(request, reply), 'request');
    done();
  });
  app.setErrorHandler((error, request, reply) => {
    const sent = sendError(error, reply);
    if (sent === 500) log.error({ err: error, path: loggedPath(request) }, 'a request failed');
    return reply;
  });
  app.setNotFoundHandler((request, reply) => refuseUnknown(request, reply));

  if (settings.allowedOrigins.length > 0)
    void app.register(cors, { origin: [...settings.allowedOrigins], methods: METHODS, maxAge: PREFLIGHT_S });
  void app.register(FastifySSEPlugin, { retryDelay: RETRY_MS });
  addRoutes(app, services);
  services.stores.collections.onPut('keys', (keyId) => services.streams.endOf(keyId));
  return {
    app,
    refuse() {
      refusing = true;
    },
  };
}

/** HTTPS where there is a certificate; fastify's types take one or the other, as a program has only one. */
const protocol = (sockets: ServerOptions, certificate: Certificate | undefined): { http: ServerOptions } =>
  certificate === undefined
    ? { http: sockets }
    : ({ https: { ...sockets, cert: certificate.cert, key: certificate.key } } as unknown as { http: ServerOptions });

function sendError(error: unknown, reply: FastifyReply): number {
  const { status, body } = answerFor(error);
  if (body.retryAfter !== undefined) void reply.header('Retry-After', body.retryAfter);
  if (status === 401) void reply.header('WWW-Authenticate', 'ApiKey realm="wfx", Bearer realm="wfx"');
  void reply.code(status).type('application/json; charset=utf-8').send(body);
  return status;
}

const PATHS = Object.values(ENDPOINTS).map(({ method, path }) => ({
  method,
  path,
  form: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
}));

/** METHOD_NOT_ALLOWED where the path has other methods, else NOT_FOUND. */
function refuseUnknown(request: FastifyRequest, reply: FastifyReply): never {
  const asked = pathOf(request);
  const named = PATHS.filter(({ path }) => path === asked);
  const methods = (named.length > 0 ? named : PATHS.filter(({ form }) => form.test(asked))).map(({ method }) => method);
  if (methods.length === 0)
    throw new Refusal('NOT_FOUND', 'There is no such endpoint: GET /openapi.json lists them all.');
  const allowed = [...new Set(methods)].join(', ');
  void reply.header('Allow', allowed);
  throw new Refusal('METHOD_NOT_ALLOWED', `This endpoint takes ${allowed}.`);
}

const DELIVERIES = '/webhook/receive/';
/** Characters of a token that tell which one it is, and are no use to anybody else. */
const TOKEN_START = 6;
const MAX_LOGGED = 200;

/** Senders call by whatever public name leads here; the token in the path is all that they need. */
const isDelivery = (request: FastifyRequest): boolean => pathOf(request).startsWith(DELIVERIES);

const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0] ?? '';

/** A token is cut: who has it can send what starts flows. Other paths carry ids alone. */
const loggedPath = (request: FastifyRequest): string =>
  isDelivery(request)
    ? `${pathOf(request).slice(0, DELIVERIES.length + TOKEN_START)}…`
    : pathOf(request).slice(0, MAX_LOGGED);

/** Queries, headers and bodies are not logged. */
const requestFields = (request: FastifyRequest, reply: FastifyReply) => ({
  method: request.method,
  path: loggedPath(request),
  status: reply.statusCode,
  ms: Math.round(reply.elapsedTime * 10) / 10,
  ...(request.apiKey === undefined ? {} : { keyId: request.apiKey.keyId }),
  ...(request.userId === undefined ? {} : { userId: request.userId }),
});

import { performance } from 'node:perf_hooks';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ENDPOINTS, type RouteName } from '../../contract/endpoints.ts';
import type { BodySpec, RouteSpec } from '../../contract/routes/route.ts';
import { ROUTES } from '../../contract/routes.ts';
import { authenticate, authorize, type Caller, callerOf, NOBODY, unauthorized } from '../auth/caller.ts';
import type { Oidc } from '../auth/oidc.ts';
import { Refusal } from '../refusal.ts';
import type { KeyRecord } from '../store/keys.ts';
import { checkOf } from '../validate.ts';
import { Audit, isAudited } from './audit.ts';
import { readBodies } from './bodies.ts';
import type { Services } from './handler.ts';
import { handlersOf } from './handlers/index.ts';
import { checkId } from './ids.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | undefined;
    /** The key that it was admitted with. */
    apiKey: KeyRecord | undefined;
    /** For the log. */
    userId: string | undefined;
  }
}

/** A handler as the table sees it: the types of its own route are known where it is written. */
type AnyHandler = (call: object) => unknown;

/** Makes a fastify route of each row of the contract's table; routes with the same kind of body share its parsers. */
export function addRoutes(app: FastifyInstance, services: Services): void {
  app.decorateRequest('caller', undefined);
  app.decorateRequest('apiKey', undefined);
  app.decorateRequest('userId', undefined);
  const handlers = handlersOf(services) as Readonly<Record<RouteName, AnyHandler>>;
  const names = Object.keys(ENDPOINTS) as RouteName[];
  const audit = new Audit(services.stores.audit);
  for (const kind of ['json', 'flow', 'bytes'] as const)
    void app.register(async (scope) => {
      readBodies(scope, kind);
      for (const name of names)
        if (kindOf(ROUTES[name]) === kind) addRoute(scope, services, audit, name, handlers[name]);
    });
}

const kindOf = (spec: RouteSpec): BodySpec['kind'] => spec.body?.kind ?? 'json';

function addRoute(app: FastifyInstance, services: Services, audit: Audit, name: RouteName, handler: AnyHandler): void {
  const { method, path } = ENDPOINTS[name];
  const spec: RouteSpec = ROUTES[name];
  const read = readerOf(spec);
  const audited = isAudited(name, spec);
  app.route({
    method,
    url: path.replace(/\{(\w+)\}/g, ':$1'),
    ...(spec.permission !== 'none' && {
      onError: (request: FastifyRequest, _reply: FastifyReply, error: Error, done: () => void) => {
        audit.refused(name, request, error);
        done();
      },
    }),
    // Before the body is read, so that nobody without a key makes the daemon read one.
    onRequest: (request, _reply, done) => {
      const { oidc } = services;
      if (spec.permission !== 'none' && oidc !== undefined && hasToken(request)) {
        admitUser(request, oidc, spec).then(() => done(), done);
        return;
      }
      if (spec.permission === 'none') request.caller = NOBODY;
      else admit(request, services, spec);
      done();
    },
    handler: async (request, reply) => {
      refuseEnded(request, services);
      const answer = await handler({ ...read(request), caller: request.caller, request, reply });
      if (audited) await audit.done(name, spec, request, answer);
      if (reply.sent) return reply;
      return answered(spec, reply, answer);
    },
  });
}

/** Lets in a caller within its limits and with the route's permission. */
function admit(request: FastifyRequest, { stores, limits }: Services, spec: RouteSpec): void {
  const key = authenticate(request.raw, stores.keys, Date.now());
  request.apiKey = key;
  limits.take(key, performance.now());
  request.caller = callerOf(key);
  authorize(request.caller, spec);
}

/** A body may be long in coming: what was revoked meanwhile does nothing any more. */
function refuseEnded({ apiKey }: FastifyRequest, { stores }: Services): void {
  if (apiKey !== undefined && !stores.keys.stillHolds(apiKey, Date.now())) throw unauthorized();
}

/** A bearer token, and no other credential. */
const hasToken = ({ headers }: FastifyRequest): boolean =>
  headers.authorization !== undefined && headers['x-api-key'] === undefined;

/** The same for who signed in. */
async function admitUser(request: FastifyRequest, { bearer }: Oidc, spec: RouteSpec): Promise<void> {
  request.caller = await bearer.caller(request.headers.authorization ?? '');
  request.userId = request.caller.userId;
  authorize(request.caller, spec);
}

/** What a handler gets of a request, checked. */
function readerOf({ query, body }: RouteSpec) {
  const checkQuery = query === undefined ? undefined : checkOf(query, 'query');
  const readBody = bodyReader(body);
  return (request: FastifyRequest) => {
    const params = request.params as Readonly<Record<string, string>>;
    for (const [name, id] of Object.entries(params)) checkId(name, id);
    return { params, query: checkQuery?.(request.query) ?? {}, body: readBody(request) };
  };
}

function bodyReader(body: BodySpec | undefined): (request: FastifyRequest) => unknown {
  if (body === undefined) return () => undefined;
  if (body.kind === 'bytes') return ({ raw }) => raw;
  if (body.kind === 'flow') return (request) => request.body ?? '';
  const check = checkOf(body.schema, 'body');
  return (request) => {
    if (request.body !== undefined) return check(request.body);
    if (body.optional === true) return undefined;
    throw new Refusal('VALIDATION_ERROR', 'The request needs a JSON object as its body.', {
      details: [{ path: '', message: 'is missing' }],
    });
  };
}

function answered({ answer }: RouteSpec, reply: FastifyReply, value: unknown): FastifyReply {
  if (answer.kind === 'none' || (value === undefined && answer.kind === 'json' && answer.orNone === true))
    return reply.code(204).send();
  if (answer.kind === 'json') return reply.type('application/json; charset=utf-8').send(JSON.stringify(value));
  if (answer.kind === 'text') return reply.type(answer.contentType).send(value);
  if (answer.kind === 'redirect') return reply.redirect(String(value), answer.status);
  return reply.send(value);
}

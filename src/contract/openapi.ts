import { ENDPOINTS, type RouteName } from './endpoints.ts';
import { ERRORS, type ErrorCode } from './errors.ts';
import type { JsonObject } from './json.ts';
import type { AnswerSpec, BodySpec, RouteSpec } from './routes/route.ts';
import { ROUTES } from './routes.ts';
import { ErrorAnswer } from './schemas/common.ts';

/** Codes that every route with a key may answer. */
const COMMON: readonly ErrorCode[] = [
  'UNAUTHORIZED',
  'FORBIDDEN',
  'RATE_LIMIT_EXCEEDED',
  'INTERNAL_ERROR',
  'OVERLOADED',
  'ISSUER_UNAVAILABLE',
];
const STREAM_HEADERS = ['streamLog', 'streamEvents', 'streamDeliveries'];
const STARTS = ['execProcess', 'startProcess'];

/** The API as an OpenAPI 3.1 document, made from the table of routes. */
export function openApi(version: string): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const [name, { method, path }] of Object.entries(ENDPOINTS) as [RouteName, (typeof ENDPOINTS)[RouteName]][]) {
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(name, path, ROUTES[name]) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'wfx', version, description: 'Durable workflow execution.' },
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
      schemas: { Error: json(ErrorAnswer) },
    },
  };
}

function operationOf(name: RouteName, path: string, spec: RouteSpec): JsonObject {
  return {
    operationId: name,
    summary: spec.summary,
    tags: [path.split('/')[1] ?? ''],
    ...(spec.permission === 'none' ? {} : { security: [{ apiKey: [] }, { bearer: [] }] }),
    ...(spec.permission === 'none' || spec.permission === 'key' ? {} : { 'x-permission': spec.permission }),
    ...(spec.scope === 'any' ? {} : { 'x-key-scope': spec.scope }),
    parameters: [...pathParameters(path), ...queryParameters(spec), ...headerParameters(name)],
    ...(spec.body === undefined ? {} : { requestBody: requestBody(spec.body) }),
    responses: { ...success(spec.answer), ...failures(spec) },
  };
}

const pathParameters = (path: string): JsonObject[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));

function queryParameters({ query }: RouteSpec): JsonObject[] {
  const asked = query === undefined ? {} : json(query);
  const { properties = {}, required = [] } = asked as { properties?: Record<string, JsonObject>; required?: string[] };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
}

function headerParameters(name: RouteName): JsonObject[] {
  const header = (called: string, description: string) => ({
    name: called,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  });
  if (STARTS.includes(name))
    return [header('Idempotency-Key', 'Within 24 hours the same key with the same request starts once.')];
  return STREAM_HEADERS.includes(name) ? [header('Last-Event-ID', 'Goes on after the event with this id.')] : [];
}

function requestBody(body: BodySpec): JsonObject {
  if (body.kind === 'bytes') return { required: true, content: { '*/*': {} } };
  const content: Record<string, JsonObject> = { 'application/json': { schema: json(body.schema) } };
  if (body.kind === 'flow') content['application/yaml'] = { schema: { type: 'string' } };
  return { required: !('optional' in body), content };
}

function success(answer: AnswerSpec): JsonObject {
  const content = contentOf(answer);
  const none = answer.kind === 'json' && answer.orNone === true ? { 204: { description: 'There is none.' } } : {};
  return { [answer.status]: { description: 'Done.', ...(content === undefined ? {} : { content }) }, ...none };
}

function contentOf(answer: AnswerSpec): JsonObject | undefined {
  switch (answer.kind) {
    case 'json':
      return { 'application/json': { schema: json(answer.schema) } };
    case 'stream':
      return { 'text/event-stream': { schema: json(answer.schema) } };
    case 'text':
      return { [answer.contentType.split(';', 1)[0] ?? '']: { schema: { type: 'string' } } };
    case 'bytes':
      return { '*/*': {} };
    case 'redirect':
    case 'none':
      return undefined;
  }
}

/** The errors of a route by status, each naming its codes. */
function failures(spec: RouteSpec): JsonObject {
  const asked = spec.body !== undefined || spec.query !== undefined ? (['VALIDATION_ERROR'] as const) : [];
  const sent = spec.body === undefined ? [] : (['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const);
  const common = spec.permission === 'none' ? (['INTERNAL_ERROR'] as const) : COMMON;
  const changes = spec.body === undefined ? [] : (['STORAGE_UNAVAILABLE', 'SHUTTING_DOWN'] as const);
  const byStatus: Record<string, JsonObject> = {};
  const codes = new Set<ErrorCode>([...spec.errors, ...asked, ...sent, ...common, ...changes]);
  for (const status of new Set([...codes].map((code) => ERRORS[code]))) {
    const named = [...codes].filter((code) => ERRORS[code] === status);
    byStatus[status] = {
      description: named.join(', '),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    };
  }
  return byStatus;
}

/** A schema as plain JSON, without what its library adds. */
const json = (schema: object): JsonObject => JSON.parse(JSON.stringify(schema)) as JsonObject;

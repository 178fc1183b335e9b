import { createHash } from 'node:crypto';
import type { Answer } from '../../../contract/types.ts';
import { addDuration, parseDuration } from '../../../engine/time.ts';
import { organizationFor, whoOf } from '../../auth/caller.ts';
import { invalid } from '../../refusal.ts';
import type { InstanceQuery, Once } from '../../runtime/door.ts';
import { explain } from '../../why/explain.ts';
import type { Call, Handlers, Services } from '../handler.ts';
import { checkId, unknownId } from '../ids.ts';
import { knownFlow, versionToRun } from './flows.ts';

type Names =
  | 'execProcess'
  | 'startProcess'
  | 'listInstances'
  | 'listFlowInstances'
  | 'getInstance'
  | 'explainInstance'
  | 'listHistory'
  | 'cancelInstance'
  | 'retryInstance'
  | 'submitTask'
  | 'listTasks'
  | 'sendEvent';

const DEFAULT_LIMIT = 50;
const ONCE_MS = 24 * 3_600_000;

export function instanceHandlers({ runtime, stores, workers }: Services): Handlers<Names> {
  const { definitions, organizations } = stores;

  async function start(call: Call<'execProcess' | 'startProcess'>): Promise<Answer<'execProcess'>> {
    const { caller, query, body } = call;
    checkId('processId', body.processId);
    // A repeat gets its first answer, whatever became of the flow since.
    const once = onceOf(call);
    const known = once && (await runtime.answered(once));
    if (known !== undefined) return { ...known, status: 'started' };
    const flow = knownFlow(definitions, body.processId, caller.organizationId);
    const environment = query.environment ?? 'PRODUCTION';
    const request = {
      organizationId: flow.organizationId,
      processId: flow.processId,
      version: versionToRun(definitions, flow, environment, query.versionNumber),
      environment,
      data: body.data ?? {},
      trigger: { type: 'api', ...whoOf(caller) },
      ...(body.correlationKey === undefined ? {} : { correlationKey: body.correlationKey }),
    };
    return { ...(await runtime.start(request, once)), status: 'started' };
  }

  return {
    execProcess: start,
    startProcess: start,

    listInstances: ({ caller, query }) => runtime.instances(queryOf(caller.organizationId, query)),

    listFlowInstances({ caller, params, query }) {
      const { processId } = knownFlow(definitions, params.processId, caller.organizationId);
      return runtime.instances({ ...queryOf(caller.organizationId, query), processId });
    },

    async getInstance({ caller, params: { processInstanceId }, query: { at } }) {
      const instance = await runtime.instance(caller.organizationId, processInstanceId, at);
      if (instance === undefined) throw unknownId('processInstanceId', processInstanceId);
      return instance;
    },

    async listHistory({ caller, params: { processInstanceId }, query: { limit = DEFAULT_LIMIT, cursor } }) {
      const place = { step: stepOf(cursor), limit };
      const page = await runtime.history(caller.organizationId, processInstanceId, place);
      if (page === undefined) throw unknownId('processInstanceId', processInstanceId);
      return {
        ...page,
        items: page.items.map(({ at, ...step }) => ({ ...step, timestamp: new Date(at).toISOString() })),
      };
    },

    async explainInstance({ caller, params: { processInstanceId } }) {
      const explanation = await explain({ runtime, definitions, workers }, caller.organizationId, processInstanceId);
      if (explanation === undefined) throw unknownId('processInstanceId', processInstanceId);
      return explanation;
    },

    async cancelInstance({ caller, params: { processInstanceId } }) {
      await runtime.cancel(caller.organizationId, processInstanceId);
      return { processInstanceId, status: 'cancelled' };
    },

    async retryInstance({ caller, params, body }) {
      const started = await runtime.retry(caller.organizationId, params.processInstanceId, body ?? {});
      return { ...started, status: 'started' };
    },

    async submitTask({ caller, body: { processInstanceId, nodeId, action, data = {} } }) {
      checkId('processInstanceId', processInstanceId);
      await runtime.submitTask({ organizationId: caller.organizationId, processInstanceId, nodeId, action, data });
      return { processInstanceId, status: 'resumed' };
    },

    listTasks: ({ caller, query: { limit = DEFAULT_LIMIT, ...query } }) =>
      runtime.tasks({
        organizationId: caller.organizationId,
        limit,
        ...paged(query, /^\d{1,15}:[0-9a-f-]{36}:\d{1,15}$/),
      }),

    sendEvent({ caller, body: { organizationId, timeToLive, correlationKey = '', data = {}, ...event } }) {
      const lasts = timeToLive === undefined ? {} : { timeToLive: durationOf(timeToLive) };
      const owner = organizationFor(caller, organizationId, organizations);
      return runtime.event({ ...event, organizationId: owner, correlationKey, data, ...lasts });
    },
  };
}

function stepOf(cursor = '0'): number {
  if (/^\d{1,9}$/.test(cursor)) return Number(cursor);
  throw invalid('cursor', 'must be the nextCursor of a page before');
}

/** Idempotency-Key (decisions §2): one caller's organization, endpoint and key take effect once in 24 hours. */
function onceOf({ caller, query, body, request }: Call<'execProcess' | 'startProcess'>): Once | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(key))
    throw invalid('Idempotency-Key', 'must be 1 to 255 printable ASCII characters');
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([query, body], inOrder))
    .digest('hex');
  const owner = caller.organizationId === undefined ? 'start' : `exec:${caller.organizationId}`;
  return { key: `api:${owner}:${key}`, fingerprint, expiresAt: Date.now() + ONCE_MS };
}

/** Two bodies that differ in the order of their keys are the same request. */
const inOrder = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

function queryOf(organizationId: string | undefined, query: Call<'listInstances'>['query']): InstanceQuery {
  const { limit = DEFAULT_LIMIT, state, ...rest } = paged(query, /^[0-9a-f-]{36}$/);
  return { organizationId, limit, ...rest, ...(state === undefined ? {} : { stateCd: state }) };
}

/** The query, whose cursor has the form of those that its list gives. */
function paged<Query extends { readonly cursor?: string }>(query: Query, form: RegExp): Query {
  if (query.cursor === undefined || form.test(query.cursor)) return query;
  throw invalid('cursor', 'is not a nextCursor of this list');
}

/** Milliseconds from now; an ISO 8601 duration that is not negative. */
function durationOf(text: string): number {
  const duration = parseDuration(text);
  const now = Date.now();
  const ms = duration === undefined ? -1 : addDuration(now, duration) - now;
  if (ms < 0) throw invalid('timeToLive', 'must be an ISO 8601 duration such as PT30M');
  return ms;
}

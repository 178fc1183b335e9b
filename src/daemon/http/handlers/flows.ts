import type { Environment } from '../../../contract/types.ts';
import { compile } from '../../../engine/parse.ts';
import { organizationFor, whoOf } from '../../auth/caller.ts';
import { Refusal } from '../../refusal.ts';
import { type DefinitionStore, ENVIRONMENTS, type FlowRecord } from '../../store/definitions.ts';
import { ownEnvironment } from '../../triggers/active.ts';
import { tryTrigger } from '../../triggers/by-hand.ts';
import { nextTimes } from '../../triggers/matches.ts';
import type { Handlers, Services } from '../handler.ts';
import { byName, pageOf } from '../page.ts';

const SHOWN_TIMES = 5;

type Names =
  | 'listFlows'
  | 'getFlow'
  | 'listVersions'
  | 'validateFlow'
  | 'publishFlow'
  | 'activateFlow'
  | 'unpublishFlow'
  | 'triggerFlow';

export function flowHandlers({ stores, runtime }: Services): Handlers<Names> {
  const { definitions, organizations, webhooks, uploads } = stores;
  return {
    listFlows({ caller, query }) {
      const all = definitions.list(caller.organizationId);
      const seen = caller.permissions.has('WORKFLOW_READ') ? all : all.filter((flow) => flow.public);
      const page = pageOf(seen, (flow) => byName(flow.name, flow.processId), query);
      return { ...page, items: page.items.map(summaryOf) };
    },

    getFlow({ caller, params, query }) {
      const flow = knownFlow(definitions, params.processId, caller.organizationId);
      const version = query.versionNumber ?? String(flow.latest);
      return {
        ...summaryOf(flow),
        version,
        schedules: schedulesOf(definitions, flow, version),
        source: definitions.source(flow.processId, version),
        versions: Array.from({ length: flow.latest }, (_, index) => String(index + 1)),
      };
    },

    listVersions({ caller, params }) {
      const flow = knownFlow(definitions, params.processId, caller.organizationId);
      const items = Array.from({ length: flow.latest }, (_, index) =>
        versionOf(definitions, flow, flow.latest - index),
      );
      return { processId: flow.processId, items };
    },

    validateFlow({ body }) {
      const { flow, problems } = compile(body);
      return { valid: flow !== undefined, problems };
    },

    async publishFlow({ caller, query, body }) {
      const named = caller.organizationId ?? query.organizationId;
      const { flow, version, unchanged, problems } = await definitions.publish({
        source: body,
        organizationId: named === undefined ? undefined : organizationFor(caller, query.organizationId, organizations),
        environments: chosen(query.environment),
        now: Date.now(),
      });
      return { processId: flow.processId, version, activeIn: activeIn(flow, version), unchanged, problems };
    },

    async activateFlow({ caller, params, body }) {
      const flow = knownFlow(definitions, params.processId, caller.organizationId);
      return activation(await definitions.activate(flow, body.version, chosen(body.environment), Date.now()));
    },

    async unpublishFlow({ caller, params, body }) {
      const flow = knownFlow(definitions, params.processId, caller.organizationId);
      return activation(await definitions.unpublish(flow, chosen(body?.environment), Date.now()));
    },

    async triggerFlow({ caller, params, body }) {
      const flow = knownFlow(definitions, params.processId, caller.organizationId);
      const environment = body.environment ?? ownEnvironment(definitions, flow.processId);
      const version = versionToRun(definitions, flow, environment, body.versionNumber);
      const headers = Object.entries(body.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
      const tried = await tryTrigger(
        { runtime, definitions, webhooks, uploads },
        {
          flow,
          version,
          environment,
          type: body.type,
          link: body.link,
          provider: body.provider,
          headers: Object.fromEntries(headers),
          payload: Buffer.from(body.payload ?? '', 'base64'),
          by: whoOf(caller),
        },
      );
      return { ...tried, version, environment };
    },
  };
}

/** Of the caller's organization (undefined: of any); another's is PROCESS_NOT_FOUND like one that is not there. */
export function knownFlow(
  definitions: DefinitionStore,
  processId: string,
  organizationId: string | undefined,
): FlowRecord {
  const flow = definitions.find(processId.toLowerCase(), organizationId);
  if (flow !== undefined) return flow;
  throw new Refusal('PROCESS_NOT_FOUND', `There is no flow with the id ${shown(processId)}: publish it first.`);
}

/** The version asked for, or the active one. A flow that was withdrawn runs in no version (decisions §5). */
export function versionToRun(
  definitions: DefinitionStore,
  flow: FlowRecord,
  environment: Environment,
  asked: string | undefined,
): string {
  if (asked !== undefined && definitions.version(flow.processId, asked) === undefined)
    throw new Refusal('VERSION_NOT_FOUND', `Flow ${flow.name} has no such version: its newest is ${flow.latest}.`);
  const active = flow.active[environment];
  if (active !== null) return asked ?? active;
  throw new Refusal(
    'NOT_PUBLISHED',
    `Flow ${flow.name} has no active version in ${environment}: publish it, or activate one of its versions.`,
  );
}

const shown = (id: string): string => (/^[\w-]{1,64}$/.test(id) ? id : 'that was given');

const chosen = (environment: Environment | undefined): readonly Environment[] =>
  environment === undefined ? ENVIRONMENTS : [environment];

const activeIn = (flow: FlowRecord, version: string): Environment[] =>
  ENVIRONMENTS.filter((environment) => flow.active[environment] === version);

const activation = (flow: FlowRecord) => ({ processId: flow.processId, activeVersion: flow.active });

function summaryOf({ active, latest, ...flow }: FlowRecord) {
  return { ...flow, activeVersion: active };
}

/** When the version's schedules come next. A flow runs by the clock in one environment, by the version that is active there. */
function schedulesOf(definitions: DefinitionStore, flow: FlowRecord, version: string) {
  const environment = ownEnvironment(definitions, flow.processId);
  const runs = flow.active[environment] === version;
  return definitions.flow(flow.processId, version).triggers.flatMap((trigger) =>
    trigger.type === 'schedule'
      ? [
          {
            cron: trigger.cron,
            timezone: trigger.timezone,
            environment: runs ? environment : null,
            next: nextTimes(trigger.cron, trigger.timezone, Date.now(), SHOWN_TIMES),
          },
        ]
      : [],
  );
}

function versionOf(definitions: DefinitionStore, flow: FlowRecord, number: number) {
  const version = String(number);
  const record = definitions.version(flow.processId, version);
  return {
    version,
    activeIn: activeIn(flow, version),
    sha256: record?.sha256 ?? '',
    size: record?.size ?? 0,
    publishedAt: record?.publishedAt ?? flow.updatedAt,
  };
}

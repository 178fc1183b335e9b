import { Buffer } from 'node:buffer';
import type { Flow, Problem, Trigger } from '../../engine/flow.ts';
import type { Json, JsonObject } from '../../engine/json.ts';
import { compile } from '../../engine/parse.ts';
import type { Fact } from '../ports.ts';
import { Refusal } from '../refusal.ts';
import type { Environment } from '../runtime/door.ts';
import { type FlowFiles, sha256 } from './flow-files.ts';
import { Turns } from './turns.ts';
import type { Collections } from './views.ts';

export const ENVIRONMENTS = ['DEVELOPMENT', 'PRODUCTION'] as const satisfies readonly Environment[];

/** A flow as the newest publish left it; keyed by its processId. */
export interface FlowRecord {
  readonly processId: string;
  readonly organizationId: string;
  readonly name: string;
  readonly description: string | null;
  readonly public: boolean;
  readonly triggers: readonly JsonObject[];
  /** The active version of each environment. */
  readonly active: Readonly<Record<Environment, string | null>>;
  /** Versions are 1 to `latest`. */
  readonly latest: number;
  /** ISO 8601: of the last publish, activation or withdrawal. */
  readonly updatedAt: string;
}

/** A version, keyed by `<processId>/<version>`; its source is in a file. */
export interface VersionRecord {
  readonly sha256: string;
  /** Bytes of the source. */
  readonly size: number;
  readonly publishedAt: string;
}

export interface PublishRequest {
  readonly source: string;
  /** Undefined: a system-level caller that names none, which will do for a flow that exists. */
  readonly organizationId: string | undefined;
  /** Where the version becomes active. */
  readonly environments: readonly Environment[];
  readonly now: number;
}
export interface PublishResult {
  readonly flow: FlowRecord;
  readonly version: string;
  /** The content was active already, so that no version was made. */
  readonly unchanged: boolean;
  /** Warnings. */
  readonly problems: readonly Problem[];
}

const CACHED_FLOWS = 200;

/** Flows, their versions, and which of them is active where (decisions §5). */
export class DefinitionStore {
  readonly #collections: Collections;
  readonly #files: FlowFiles;
  /** Compiled flows by `<processId>/<version>`, least recently used first. */
  readonly #compiled = new Map<string, Flow>();
  readonly #turns = new Turns();

  constructor(collections: Collections, files: FlowFiles) {
    this.#collections = collections;
    this.#files = files;
  }

  /** The flow, if it belongs to the organization (undefined: to any). */
  find(processId: string, organizationId: string | undefined): FlowRecord | undefined {
    const flow = this.#collections.get<FlowRecord>('flows', processId);
    return organizationId === undefined || flow?.organizationId === organizationId ? flow : undefined;
  }

  /** Flows of one organization; undefined: of all. */
  list(organizationId: string | undefined): FlowRecord[] {
    const flows = [...this.#collections.all<FlowRecord>('flows').values()];
    return organizationId === undefined ? flows : flows.filter((flow) => flow.organizationId === organizationId);
  }

  version(processId: string, version: string): VersionRecord | undefined {
    return this.#collections.get<VersionRecord>('versions', versionKey(processId, version));
  }

  /** The active version of an environment with its owner; undefined when there is none. */
  active(processId: string, environment: Environment): { version: string; organizationId: string } | undefined {
    const flow = this.#collections.get<FlowRecord>('flows', processId);
    const version = flow?.active[environment] ?? null;
    return flow === undefined || version === null ? undefined : { version, organizationId: flow.organizationId };
  }

  /** The source of a version that exists. StorageError when its file is lost or was changed. */
  source(processId: string, version: string): string {
    const record = this.version(processId, version);
    if (record === undefined) throw new Refusal('VERSION_NOT_FOUND', `Flow ${processId} has no version ${version}.`);
    return this.#files.read(processId, version, record.sha256);
  }

  /** The compiled flow of a version that exists. */
  flow(processId: string, version: string): Flow {
    const key = versionKey(processId, version);
    const flow = this.#compiled.get(key) ?? compiledOf(this.source(processId, version), key);
    this.#remember(key, flow);
    return flow;
  }

  /**
   * Publishes a flow file: a new version, unless an active version of the flow has the same content, which is then made active
   * where it is not yet. VALIDATION_ERROR with every error of the file; FORBIDDEN when the id belongs to another organization.
   */
  publish(request: PublishRequest): Promise<PublishResult> {
    const { flow, problems } = compile(request.source);
    if (flow === undefined) throw invalidFlow(problems);
    return this.#turns.take(async () => {
      const known = this.#collections.get<FlowRecord>('flows', flow.id);
      const organizationId = ownerOf(flow.id, known, request.organizationId);
      const hash = sha256(request.source);
      const same = this.#activeWith(known, hash);
      const version = same ?? String((known?.latest ?? 0) + 1);
      const facts: Fact[] = [];
      if (same === undefined) {
        await this.#files.write(flow.id, version, request.source);
        facts.push(versionFact(flow.id, version, request, hash));
      }
      const record = published(known, flow, organizationId, version, request, same === undefined);
      if (record !== known) facts.push(flowFact(record));
      if (facts.length > 0) await this.#collections.put(facts);
      this.#remember(versionKey(flow.id, version), flow);
      return { flow: record, version, unchanged: same !== undefined, problems };
    });
  }

  /** VERSION_NOT_FOUND. */
  activate(flow: FlowRecord, version: string, environments: readonly Environment[], now: number): Promise<FlowRecord> {
    if (this.version(flow.processId, version) === undefined)
      throw new Refusal(
        'VERSION_NOT_FOUND',
        `Flow ${flow.name} has no version ${version.slice(0, 40)}: its newest is ${flow.latest}.`,
      );
    return this.#setActive(flow, version, environments, now);
  }

  /** Withdraws the flow: nothing starts it there any more. */
  unpublish(flow: FlowRecord, environments: readonly Environment[], now: number): Promise<FlowRecord> {
    return this.#setActive(flow, null, environments, now);
  }

  #setActive(
    { processId }: FlowRecord,
    version: string | null,
    environments: readonly Environment[],
    now: number,
  ): Promise<FlowRecord> {
    return this.#turns.take(async () => {
      const known = this.#collections.get<FlowRecord>('flows', processId) as FlowRecord;
      const active = activated(known.active, version, environments);
      const record = { ...known, active, updatedAt: new Date(now).toISOString() };
      await this.#collections.put([flowFact(record)]);
      return record;
    });
  }

  #activeWith(flow: FlowRecord | undefined, hash: string): string | undefined {
    if (flow === undefined) return undefined;
    const active = ENVIRONMENTS.map((environment) => flow.active[environment]).filter((version) => version !== null);
    return active.find((version) => this.version(flow.processId, version)?.sha256 === hash);
  }

  #remember(key: string, flow: Flow): void {
    this.#compiled.delete(key);
    this.#compiled.set(key, flow);
    if (this.#compiled.size > CACHED_FLOWS) this.#compiled.delete(this.#compiled.keys().next().value as string);
  }
}

const versionKey = (processId: string, version: string): string => `${processId}/${version}`;
const flowFact = (flow: FlowRecord): Fact => ({
  collection: 'flows',
  key: flow.processId,
  value: flow as unknown as Json,
});

function versionFact(processId: string, version: string, request: PublishRequest, hash: string): Fact {
  const value = {
    sha256: hash,
    size: Buffer.byteLength(request.source),
    publishedAt: new Date(request.now).toISOString(),
  };
  return { collection: 'versions', key: versionKey(processId, version), value };
}

/** A flow keeps its owner for good. */
function ownerOf(processId: string, known: FlowRecord | undefined, asked: string | undefined): string {
  if (known === undefined) {
    if (asked !== undefined) return asked;
    throw new Refusal(
      'VALIDATION_ERROR',
      'A system-level key names the organization that a new flow belongs to: add ?organizationId=…',
      { details: [{ path: 'organizationId', message: 'is required for a new flow' }] },
    );
  }
  if (asked !== undefined && asked !== known.organizationId)
    throw new Refusal(
      'FORBIDDEN',
      `The flow id ${processId} belongs to another organization: give the flow an id of its own.`,
    );
  return known.organizationId;
}

/** The record after a publish; the same object when nothing changes. */
function published(
  known: FlowRecord | undefined,
  flow: Flow,
  organizationId: string,
  version: string,
  request: PublishRequest,
  isNew: boolean,
): FlowRecord {
  const before = known?.active ?? { DEVELOPMENT: null, PRODUCTION: null };
  const active = activated(before, version, request.environments);
  if (known !== undefined && !isNew && ENVIRONMENTS.every((at) => active[at] === before[at])) return known;
  return {
    processId: flow.id,
    organizationId,
    name: flow.name,
    description: flow.description ?? null,
    public: flow.public,
    triggers: flow.triggers.map(shownTrigger),
    active,
    latest: isNew ? Number(version) : (known?.latest ?? 1),
    updatedAt: new Date(request.now).toISOString(),
  };
}

function activated(
  active: FlowRecord['active'],
  version: string | null,
  environments: readonly Environment[],
): FlowRecord['active'] {
  return { ...active, ...Object.fromEntries(environments.map((environment) => [environment, version])) };
}

/** As flow files write it. */
const shownTrigger = (trigger: Trigger): JsonObject => ({
  ...trigger,
  type: trigger.type === 'onDemand' ? 'on-demand' : trigger.type,
});

function invalidFlow(problems: readonly Problem[]): Refusal {
  const errors = problems.filter((problem) => problem.severity === 'error');
  const details = errors.map(({ path, message, line, column, hint }) => ({
    path,
    message: `line ${line}, column ${column}: ${message}${hint === undefined ? '' : ` (${hint})`}`,
  }));
  const first = details[0]?.message ?? 'it is empty';
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return new Refusal('VALIDATION_ERROR', `The flow is not valid: ${first}${more}`, { details });
}

/** What was published once compiles for good; a newer wfx that refuses it says so. */
function compiledOf(source: string, key: string): Flow {
  const { flow, problems } = compile(source);
  if (flow !== undefined) return flow;
  throw new Error(`Flow version ${key} no longer compiles: ${problems[0]?.message ?? 'unknown problem'}.`);
}

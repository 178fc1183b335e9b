import type { FastifyRequest } from 'fastify';
import { ENDPOINTS, type RouteName } from '../../contract/endpoints.ts';
import type { RouteSpec } from '../../contract/routes/route.ts';
import { whoOf } from '../auth/caller.ts';
import type { AuditFact, AuditLog } from '../store/audit.ts';
import { answerFor } from './errors.ts';

/** They change nothing, or only say that a worker lives. */
const UNTOLD: ReadonlySet<RouteName> = new Set(['validateFlow', 'signDelivery', 'pollTask', 'keepTask']);
/** Whether a field of an answer says what a request made. */
const isId = (field: string): boolean =>
  field.endsWith('Id') || field === 'id' || field === 'version' || field === 'name';
/** Refused requests may come as fast as they like: of each kind one a minute is told of. */
const REFUSED_MS = 60_000;
const MAX_REFUSED = 1000;

/** Whether what a route does is recorded: it changes something, and asks who does it. */
export const isAudited = (name: RouteName, { permission }: RouteSpec): boolean =>
  ENDPOINTS[name].method !== 'GET' && permission !== 'none' && !UNTOLD.has(name);

/** Records who did what. What only starts and answers runs is in their history too, and is not waited for. */
export class Audit {
  readonly #log: AuditLog;
  readonly #refused = new Map<string, number>();

  constructor(log: AuditLog) {
    this.#log = log;
  }

  /**
   * Resolves when the record is durable, or for runs at once: before that nobody is told of a success. What was done is not
   * undone when its record can't be written; the daemon's log tells of that.
   */
  async done(name: RouteName, spec: RouteSpec, request: FastifyRequest, answer: unknown): Promise<void> {
    const status = 'status' in spec.answer ? spec.answer.status : 200;
    const fact = factOf(name, request, { status, made: answer });
    if (spec.permission === 'WORKFLOW_EXECUTE') this.#log.note(fact);
    else await this.#log.durably(fact).catch(() => undefined);
  }

  /** Who was turned away: without a valid credential, or without the permission. */
  refused(name: RouteName, request: FastifyRequest, error: unknown): void {
    const { status, body } = answerFor(error);
    if (status !== 401 && status !== 403) return;
    if (!this.#isNew(`${request.apiKey?.keyId ?? request.userId ?? request.ip} ${name}`)) return;
    this.#log.note({ ...factOf(name, request, { status }), error: body.error });
  }

  #isNew(kind: string): boolean {
    const now = Date.now();
    if (now - (this.#refused.get(kind) ?? 0) < REFUSED_MS) return false;
    if (this.#refused.size >= MAX_REFUSED) this.#refused.clear();
    this.#refused.set(kind, now);
    return true;
  }
}

interface Outcome {
  readonly status: number;
  readonly made?: unknown;
}

function factOf(name: RouteName, request: FastifyRequest, { status, made }: Outcome): AuditFact {
  const { caller, ip } = request;
  const target = { ...(request.params as Readonly<Record<string, string>>), ...idsOf(made) };
  const organizationId = caller?.organizationId ?? target['organizationId'] ?? null;
  const actor = caller === undefined ? null : { ...whoOf(caller), name: caller.name };
  return { at: new Date().toISOString(), organizationId, actor, action: name, target, status, address: ip };
}

const LONGEST_ID = 200;

/** The ids among the fields of an answer; its other fields may be secret. */
function idsOf(value: unknown): Readonly<Record<string, string>> {
  const ids: Record<string, string> = {};
  if (typeof value !== 'object' || value === null) return ids;
  for (const [field, id] of Object.entries(value))
    if (typeof id === 'string' && isId(field)) ids[field] = id.slice(0, LONGEST_ID);
  return ids;
}

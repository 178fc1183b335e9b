import type { Trigger } from '../../engine/flow.ts';
import type { JsonObject } from '../../engine/json.ts';
import type { Environment } from '../runtime/door.ts';
import { type DefinitionStore, ENVIRONMENTS, type FlowRecord } from '../store/definitions.ts';
import type { Collections } from '../store/views.ts';

interface Warner {
  warn(fields: object, message: string): void;
}

/** A trigger of the version of a flow that is active in an environment. */
export interface ActiveTrigger<T extends Trigger = Trigger> {
  readonly organizationId: string;
  readonly processId: string;
  readonly flowName: string;
  readonly version: string;
  readonly environment: Environment;
  readonly trigger: T;
}
export type ActiveWebhook = ActiveTrigger<Extract<Trigger, { type: 'webhook' }>>;
export type ActiveEmail = ActiveTrigger<Extract<Trigger, { type: 'email' }>>;

/** What a flow file may link to by id or name. */
interface Linked {
  readonly id: string;
  readonly name: string;
  readonly organizationId: string;
}

/**
 * The triggers of all active versions, kept as flows are published, activated and withdrawn, so that neither a delivery nor a
 * schedule has to look through every flow.
 */
export class ActiveTriggers {
  readonly #definitions: DefinitionStore;
  readonly #log: Warner;
  readonly #byFlow = new Map<string, readonly ActiveTrigger[]>();
  /** Of triggers with a link, by type, organization and link as the flow names it. */
  readonly #byLink = new Map<string, Set<ActiveTrigger>>();
  readonly #listeners: ((processId: string) => void)[] = [];

  constructor(collections: Collections, definitions: DefinitionStore, log: Warner) {
    this.#definitions = definitions;
    this.#log = log;
    for (const flow of definitions.list(undefined)) this.#follow(flow.processId);
    collections.onPut('flows', (processId) => {
      this.#follow(processId);
      for (const listener of this.#listeners) listener(processId);
    });
  }

  /** `listener` is told of every flow whose triggers may have changed. */
  onChange(listener: (processId: string) => void): void {
    this.#listeners.push(listener);
  }

  processIds(): string[] {
    return [...this.#byFlow.keys()];
  }

  of(processId: string): readonly ActiveTrigger[] {
    return this.#byFlow.get(processId) ?? [];
  }

  /** Those that link to a registration, by its id or its name. */
  webhooks(registration: Linked): ActiveWebhook[] {
    return this.#linked('webhook', registration) as ActiveWebhook[];
  }

  /** Those that an email connection starts, each in the environment where its flow runs by itself. */
  emails(connection: Linked): ActiveEmail[] {
    return (this.#linked('email', connection) as ActiveEmail[]).filter(
      ({ processId, environment }) => environment === ownEnvironment(this.#definitions, processId),
    );
  }

  #linked(type: Trigger['type'], { id, name, organizationId }: Linked): ActiveTrigger[] {
    return [id, name].flatMap((link) => [...(this.#byLink.get(keyOf(type, organizationId, link)) ?? [])]);
  }

  #follow(processId: string): void {
    for (const before of this.of(processId)) this.#unlink(before);
    const flow = this.#definitions.find(processId, undefined);
    const active = flow === undefined ? [] : this.#readable(flow);
    if (active.length === 0) this.#byFlow.delete(processId);
    else this.#byFlow.set(processId, active);
    for (const one of active) this.#link(one);
  }

  /** A version whose file is lost starts nothing, and does not keep the others from it. */
  #readable(flow: FlowRecord): ActiveTrigger[] {
    try {
      return this.#triggersOf(flow);
    } catch (error) {
      this.#log.warn({ err: error, processId: flow.processId }, 'the triggers of a flow cannot be read');
      return [];
    }
  }

  #triggersOf(flow: FlowRecord): ActiveTrigger[] {
    const { organizationId, processId, name: flowName } = flow;
    return ENVIRONMENTS.flatMap((environment) => {
      const version = flow.active[environment];
      if (version === null) return [];
      // The record has the triggers of the newest version, which spares reading and compiling most files.
      const triggers =
        version === String(flow.latest)
          ? flow.triggers.map(compiled)
          : this.#definitions.flow(processId, version).triggers;
      return triggers.map((trigger) => ({ organizationId, processId, flowName, version, environment, trigger }));
    });
  }

  #link(one: ActiveTrigger): void {
    const key = linkOf(one);
    if (key === undefined) return;
    const linked = this.#byLink.get(key);
    if (linked === undefined) this.#byLink.set(key, new Set([one]));
    else linked.add(one);
  }

  #unlink(one: ActiveTrigger): void {
    const key = linkOf(one) ?? '';
    const linked = this.#byLink.get(key);
    linked?.delete(one);
    if (linked?.size === 0) this.#byLink.delete(key);
  }
}

/**
 * Where a flow runs that something starts by itself, the clock or an email: in PRODUCTION, and in DEVELOPMENT only while it is
 * not published there, so that one match or message is one run.
 */
export const ownEnvironment = (definitions: DefinitionStore, processId: string): Environment =>
  definitions.active(processId, 'PRODUCTION') === undefined ? 'DEVELOPMENT' : 'PRODUCTION';

/** As the engine has it: a flow file may write `on-demand`. */
const compiled = (trigger: JsonObject): Trigger =>
  (trigger['type'] === 'on-demand' ? { type: 'onDemand' } : trigger) as unknown as Trigger;

/** What happened once starts a flow once, also when several of its triggers want it. */
export const onePerFlow = <T extends ActiveTrigger>(triggers: readonly T[]): T[] => [
  ...new Map(triggers.map((one) => [one.processId, one])).values(),
];

function linkOf({ organizationId, trigger }: ActiveTrigger): string | undefined {
  if (trigger.type === 'webhook') return keyOf('webhook', organizationId, trigger.registration);
  if (trigger.type === 'email') return keyOf('email', organizationId, trigger.connection);
  return undefined;
}
/** Organization ids hold no space. */
const keyOf = (type: Trigger['type'], organizationId: string, link: string): string =>
  `${type} ${organizationId} ${link}`;

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

/**
 * The triggers of all active versions, kept as flows are published, activated and withdrawn, so that neither a delivery nor a
 * schedule has to look through every flow.
 */
export class ActiveTriggers {
  readonly #definitions: DefinitionStore;
  readonly #log: Warner;
  readonly #byFlow = new Map<string, readonly ActiveTrigger[]>();
  /** Of webhook triggers, by organization and registration as the flow names it. */
  readonly #byRegistration = new Map<string, Set<ActiveWebhook>>();
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
  webhooks(registration: {
    readonly id: string;
    readonly name: string;
    readonly organizationId: string;
  }): ActiveWebhook[] {
    const { id, name, organizationId } = registration;
    return [id, name].flatMap((named) => [...(this.#byRegistration.get(keyOf(organizationId, named)) ?? [])]);
  }

  #follow(processId: string): void {
    for (const before of this.of(processId)) if (isWebhook(before)) this.#unlink(before);
    const flow = this.#definitions.find(processId, undefined);
    const active = flow === undefined ? [] : this.#readable(flow);
    if (active.length === 0) this.#byFlow.delete(processId);
    else this.#byFlow.set(processId, active);
    for (const one of active) if (isWebhook(one)) this.#link(one);
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

  #link(one: ActiveWebhook): void {
    const key = keyOf(one.organizationId, one.trigger.registration);
    const linked = this.#byRegistration.get(key);
    if (linked === undefined) this.#byRegistration.set(key, new Set([one]));
    else linked.add(one);
  }

  #unlink(one: ActiveWebhook): void {
    const key = keyOf(one.organizationId, one.trigger.registration);
    const linked = this.#byRegistration.get(key);
    linked?.delete(one);
    if (linked?.size === 0) this.#byRegistration.delete(key);
  }
}

/** As the engine has it: a flow file may write `on-demand`. */
const compiled = (trigger: JsonObject): Trigger =>
  (trigger['type'] === 'on-demand' ? { type: 'onDemand' } : trigger) as unknown as Trigger;

const isWebhook = (one: ActiveTrigger): one is ActiveWebhook => one.trigger.type === 'webhook';
/** Organization ids hold no space. */
const keyOf = (organizationId: string, registration: string): string => `${organizationId} ${registration}`;

import { Rejection, type Runtime } from './runtime/door.ts';
import type { DefinitionStore } from './store/definitions.ts';
import { WITHDRAWN, WorkError } from './work/executor.ts';
import type { AgentFlows, FlowCall, FlowPlace, FlowResult } from './work/ports.ts';

/** How long a call is known by its key: longer than an agent's work that was under way waits for a daemon. */
const ONCE_MS = 30 * 24 * 60 * 60_000;

/** The flows that agents call, over the runtime. */
export function agentFlows(runtime: Runtime, definitions: DefinitionStore): AgentFlows {
  const activeOf = ({ organizationId, environment, processId }: FlowPlace): string | undefined => {
    const active = definitions.active(processId, environment);
    return active?.organizationId === organizationId ? active.version : undefined;
  };

  return {
    describe(place) {
      const version = activeOf(place);
      if (version === undefined) return undefined;
      const { name, description, variables } = definitions.flow(place.processId, version);
      return { name, description, variables };
    },

    async run(call, signal) {
      const processInstanceId = await started(runtime, call, activeOf(call));
      try {
        await ended(runtime, call.organizationId, processInstanceId, signal);
      } catch (error) {
        // A daemon that stops leaves the instance alone: after its restart the call goes on with it.
        if (signal.reason === WITHDRAWN)
          await runtime.cancel(call.organizationId, processInstanceId).catch(() => undefined);
        throw error;
      }
      return resultOf(runtime, call.organizationId, processInstanceId);
    },
  };
}

async function started(runtime: Runtime, call: FlowCall, version: string | undefined): Promise<string> {
  const { organizationId, environment, processId, data, idempotencyKey, instanceId, nodeId } = call;
  const once = { key: `agent:${idempotencyKey}`, fingerprint: processId, expiresAt: Date.now() + ONCE_MS };
  const known = await runtime.answered(once);
  if (known !== undefined) return known.processInstanceId;
  if (version === undefined)
    throw new WorkError('NOT_PUBLISHED', `the flow ${processId} is not published in ${environment}`);
  const trigger = { type: 'callAgent', processInstanceId: instanceId, nodeId };
  const request = { organizationId, environment, processId, version, data, trigger, calledBy: instanceId };
  try {
    return (await runtime.start(request, once)).processInstanceId;
  } catch (error) {
    if (error instanceof Rejection) throw new WorkError(error.code, error.message);
    throw error;
  }
}

async function ended(runtime: Runtime, organizationId: string, id: string, signal: AbortSignal): Promise<void> {
  const position = await runtime.logPosition(organizationId, id);
  for await (const event of runtime.log(organizationId, id, position?.last ?? 0, signal)) if ('end' in event) return;
  signal.throwIfAborted();
}

async function resultOf(runtime: Runtime, organizationId: string, id: string): Promise<FlowResult> {
  const instance = await runtime.instance(organizationId, id);
  if (instance === undefined || instance.stateCd === 0)
    throw new WorkError('FLOW_LOST', `the run ${id} can't be read; the daemon is stopping`);
  const { stateCd, data, error } = instance;
  return {
    processInstanceId: id,
    stateCd,
    data,
    ...(error && { error: { code: error.code, message: error.message } }),
  };
}

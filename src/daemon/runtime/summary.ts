import type { State } from '../../engine/index.ts';
import type { JsonObject } from '../../engine/json.ts';
import type { Environment, InstanceSummary } from './door.ts';

let last = { ms: Number.NaN, text: '' };

/** ISO 8601. The many times of one commit are mostly the same, so the last one is kept. */
export function iso(ms: number): string {
  if (ms !== last.ms) last = { ms, text: new Date(ms).toISOString() };
  return last.text;
}

/** An instance as lists show it. */
export function summaryOf(state: State): InstanceSummary {
  return {
    processInstanceId: state.id,
    processId: state.processId,
    processName: state.processName,
    processVersion: state.version,
    stateCd: state.stateCd,
    startTime: iso(state.startTime),
    ...(state.endTime !== undefined && { endTime: iso(state.endTime) }),
    ...(state.correlationKey !== undefined && { correlationKey: state.correlationKey }),
    environment: state.environment as Environment,
    organizationId: state.organizationId,
    ...(state.parent && { parentInstanceId: state.parent.instanceId }),
    ...(state.retryOf !== undefined && { retryOf: state.retryOf }),
    trigger: state.trigger,
    ...(state.error && { error: state.error }),
  };
}

export const storedSummary = (state: State): JsonObject => summaryOf(state) as unknown as JsonObject;

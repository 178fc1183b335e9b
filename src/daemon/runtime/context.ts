import type { Context, Limits, State } from '../../engine/index.ts';
import type { Definitions, Environment } from './door.ts';

/** What a decision may know of the world: the time, the limits, and the environment values of the instance's organization. */
export function contextOf(definitions: Definitions, limits: Limits, at: number) {
  return ({ organizationId, environment }: Pick<State, 'organizationId' | 'environment'>): Context => ({
    at,
    limits,
    env: (name) => definitions.environmentValue(organizationId, environment as Environment, name),
  });
}

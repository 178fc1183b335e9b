/** What a key may do (decisions §3). */
export const PERMISSIONS = [
  'WORKFLOW_READ',
  'WORKFLOW_EXECUTE',
  'WORKFLOW_PUBLISH',
  'WEBHOOK_MANAGE',
  'CONNECTION_MANAGE',
  'ENVIRONMENT_MANAGE',
  'API_KEY_MANAGE',
  'ORGANIZATION_MANAGE',
] as const;
export type Permission = (typeof PERMISSIONS)[number];

export const ROLE_NAMES = ['viewer', 'runner', 'developer', 'admin', 'system'] as const;
export type Role = (typeof ROLE_NAMES)[number];

const VIEWER = ['WORKFLOW_READ'] as const;
const RUNNER = [...VIEWER, 'WORKFLOW_EXECUTE'] as const;
const DEVELOPER = [...RUNNER, 'WORKFLOW_PUBLISH', 'WEBHOOK_MANAGE', 'CONNECTION_MANAGE', 'ENVIRONMENT_MANAGE'] as const;
const ADMIN = [...DEVELOPER, 'API_KEY_MANAGE'] as const;

/** Roles -> permissions. `admin` rules its organization; `system` is bound to none and also makes organizations. */
export const ROLES: Readonly<Record<Role, readonly Permission[]>> = {
  viewer: VIEWER,
  runner: RUNNER,
  developer: DEVELOPER,
  admin: ADMIN,
  system: PERMISSIONS,
};

/** All that the roles together allow. */
export function permissionsOf(roles: readonly Role[]): ReadonlySet<Permission> {
  return new Set(roles.flatMap((role) => ROLES[role]));
}

/**
 * Which keys an endpoint takes: those bound to an organization, system-level ones (bound to none), or both.
 */
export type KeyScope = 'any' | 'organization' | 'system';

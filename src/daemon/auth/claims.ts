import type { JWTPayload } from 'jose';
import { permissionsOf, ROLE_NAMES, type Role } from '../../contract/permissions.ts';
import { Refusal } from '../refusal.ts';
import type { OrganizationStore } from '../store/organizations.ts';
import type { Caller } from './caller.ts';
import type { OidcSettings } from './oidc-settings.ts';

const LONGEST = 200;

/**
 * Who a token speaks for here. FORBIDDEN when none of its organizations is known. `system` is given by a mapping only, and
 * then binds to no organization.
 */
export function callerFrom(claims: JWTPayload, settings: OidcSettings, organizations: OrganizationStore): Caller {
  const roles = rolesOf(claims, settings);
  const userId = plain(claims.sub ?? '');
  return {
    keyId: undefined,
    userId,
    name: nameOf(claims) ?? userId,
    organizationId: roles.includes('system') ? undefined : organizationOf(claims, settings, organizations),
    roles,
    permissions: permissionsOf(roles),
    validUntil: (claims.exp ?? 0) * 1000,
  };
}

const nameOf = (claims: JWTPayload): string | undefined =>
  ['name', 'preferred_username', 'email'].flatMap((claim) => valuesOf(claims, claim)).map(plain)[0];

/** For showing: what a provider lets people write in their names must not command a terminal. */
const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}]/gu, '').slice(0, LONGEST);

function rolesOf(claims: JWTPayload, { rolesClaim = 'roles', roles, defaultRoles = [] }: OidcSettings): Role[] {
  const values = valuesOf(claims, rolesClaim);
  const given =
    roles === undefined
      ? ROLE_NAMES.filter((role) => role !== 'system' && values.includes(role))
      : values.flatMap((value) => (Object.hasOwn(roles, value) ? (roles[value] ?? []) : []));
  return [...new Set([...given, ...defaultRoles])];
}

function organizationOf(claims: JWTPayload, settings: OidcSettings, known: OrganizationStore): string {
  const { organization = 'default', organizationClaim, organizations } = settings;
  const named =
    organizationClaim === undefined
      ? [organization]
      : valuesOf(claims, organizationClaim).flatMap((value) => {
          if (organizations === undefined) return [value];
          return Object.hasOwn(organizations, value) ? (organizations[value] ?? []) : [];
        });
  const found = named.find((id) => known.get(id) !== undefined);
  if (found !== undefined) return found;
  throw new Refusal(
    'FORBIDDEN',
    'Your account belongs to no organization of this daemon: ask who runs it to add yours (docs/authentication.md, claims).',
  );
}

/** A claim's texts: `a.b` reaches inside, unless the claim is called that. A list of scopes is one text with spaces. */
function valuesOf(claims: JWTPayload, path: string): string[] {
  const value = Object.hasOwn(claims, path) ? claims[path] : reached(claims, path.split('.'));
  if (typeof value === 'string') return path === 'scope' || path === 'scp' ? value.split(' ') : [value];
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function reached(value: unknown, path: readonly string[]): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return value;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, first)) return undefined;
  return reached((value as Record<string, unknown>)[first], rest);
}

import type { IncomingMessage } from 'node:http';
import { type KeyScope, type Permission, permissionsOf, type Role } from '../../contract/permissions.ts';
import { Refusal } from '../refusal.ts';
import type { KeyRecord, KeyStore } from '../store/keys.ts';
import type { OrganizationStore } from '../store/organizations.ts';

/** Who makes a request: a key, or a person who signed in. */
export interface Caller {
  readonly keyId: string | undefined;
  /** The issuer's id of the person. */
  readonly userId: string | undefined;
  readonly name: string;
  /** Undefined: a system-level caller, who reaches every organization. */
  readonly organizationId: string | undefined;
  readonly roles: readonly Role[];
  readonly permissions: ReadonlySet<Permission>;
  /** Until when the credential is valid by itself, in ms since the epoch; a key may be revoked before. */
  readonly validUntil: number;
}

/** The caller of a route that asks for no credentials. */
export const NOBODY: Caller = {
  keyId: undefined,
  userId: undefined,
  name: '',
  organizationId: '',
  roles: [],
  permissions: new Set(),
  validUntil: Number.POSITIVE_INFINITY,
};

/**
 * The key that a request was made with. A request carries exactly one credential: with none or two it is UNAUTHORIZED, like
 * one whose key is unknown, wrong, suspended, revoked or expired. The text never says which.
 */
export function authenticate(request: IncomingMessage, keys: KeyStore, now: number): KeyRecord {
  // Node joins repeated headers with a comma, which no key has.
  const credential = request.headers.authorization === undefined ? request.headers['x-api-key'] : undefined;
  const record = keys.verify(typeof credential === 'string' ? credential : '', now);
  if (record !== undefined) return record;
  throw unauthorized();
}

export const unauthorized = (): Refusal =>
  new Refusal(
    'UNAUTHORIZED',
    'The request needs one valid credential: an API key in the X-API-Key header, or a bearer token where the daemon has sign-in.',
  );

const callers = new WeakMap<KeyRecord, Caller>();

/** Records are replaced, never changed, so what one allows is worked out once. */
export function callerOf(key: KeyRecord): Caller {
  const known = callers.get(key);
  if (known !== undefined) return known;
  const { keyId, name, organizationId, roles, expiresAt } = key;
  const caller = {
    keyId,
    userId: undefined,
    name,
    organizationId: organizationId ?? undefined,
    roles,
    permissions: permissionsOf(roles),
    validUntil: expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt),
  };
  callers.set(key, caller);
  return caller;
}

/** The key or the person, as records name them. */
export const whoOf = ({ keyId, userId }: Caller): { readonly keyId: string } | { readonly userId: string } =>
  userId === undefined ? { keyId: keyId ?? '' } : { userId };

interface Rule {
  readonly permission: Permission | 'key' | 'none';
  readonly scope: KeyScope;
  readonly scopeHint?: string;
  readonly publicPart?: true;
}

/** FORBIDDEN unless the caller may use a route: first whether its kind of key is meant, then the permission. */
export function authorize(caller: Caller, { permission, scope, scopeHint, publicPart }: Rule): void {
  const kind = caller.organizationId === undefined ? 'system' : 'organization';
  if (scope !== 'any' && scope !== kind)
    throw new Refusal('FORBIDDEN', scopeHint ?? `This endpoint takes ${scope}-level keys.`);
  if (permission === 'none' || permission === 'key' || caller.permissions.has(permission)) return;
  if (publicPart === true && caller.userId !== undefined) return;
  throw new Refusal(
    'FORBIDDEN',
    `This ${caller.userId === undefined ? 'key' : 'account'} lacks the permission ${permission}.`,
  );
}

/**
 * The organization that a request acts on: a key's own, which naming another one does not change (FORBIDDEN); a
 * system-level key names one that exists (VALIDATION_ERROR).
 */
export function organizationFor(
  caller: Caller,
  asked: string | null | undefined,
  organizations: OrganizationStore,
): string {
  const { organizationId } = caller;
  if (organizationId !== undefined) {
    if (asked === undefined || asked === null || asked === organizationId) return organizationId;
    throw new Refusal('FORBIDDEN', 'This key acts on its own organization only: leave organizationId out.');
  }
  if (typeof asked === 'string' && organizations.get(asked) !== undefined) return asked;
  const [message, told] =
    typeof asked === 'string'
      ? ['is not known', `There is no organization ${asked}: list them with GET /admin/organizations.`]
      : [
          'is required with a system-level key',
          'A system-level key names the organization that is meant: give organizationId.',
        ];
  throw new Refusal('VALIDATION_ERROR', told, { details: [{ path: 'organizationId', message }] });
}

/** The same for reading: a system-level key that names none sees all (undefined). */
export function organizationFilter(
  caller: Caller,
  asked: string | undefined,
  organizations: OrganizationStore,
): string | undefined {
  return caller.organizationId === undefined && asked === undefined
    ? undefined
    : organizationFor(caller, asked, organizations);
}

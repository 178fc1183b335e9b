import { permissionsOf, type Role } from '../../../contract/permissions.ts';
import type { Body, Key, NewKey } from '../../../contract/types.ts';
import { parseDate } from '../../../engine/time.ts';
import { type Caller, organizationFilter, organizationFor } from '../../auth/caller.ts';
import { invalid, Refusal } from '../../refusal.ts';
import type { FreshKey, KeyRecord, KeyStore } from '../../store/keys.ts';
import type { Handlers, Services } from '../handler.ts';
import { unknownId } from '../ids.ts';
import { byName, pageOf } from '../page.ts';

type Names = 'listKeys' | 'createKey' | 'getKey' | 'updateKey' | 'deleteKey' | 'rotateKey';

export function keyHandlers({ stores, limits }: Services): Handlers<Names> {
  const { keys, organizations } = stores;
  return {
    listKeys({ caller, query }) {
      const organizationId = organizationFilter(caller, query.organizationId, organizations);
      const page = pageOf(keys.list(organizationId), (key) => byName(key.name, key.keyId), query);
      return { ...page, items: page.items.map((key) => shown(keys, key)) };
    },

    async createKey({ caller, body, reply }) {
      const { expiresAt, organizationId: asked, ...rest } = body;
      // Only a system-level caller may leave the organization open, and so make a key that is bound to none.
      const unbound = caller.organizationId === undefined && (asked === undefined || asked === null);
      const organizationId = unbound ? null : organizationFor(caller, asked, organizations);
      checkRoles(caller, body.roles, organizationId);
      const expiry = expiresAt === undefined ? {} : { expiresAt: futureOf(expiresAt) };
      const fresh = await keys.create({ ...rest, ...expiry, roles: unique(rest.roles), organizationId }, Date.now());
      void reply.code(201);
      return shownOnce(keys, fresh);
    },

    getKey: ({ caller, params }) => shown(keys, known(keys, caller, params.keyId)),

    async updateKey({ caller, params, body }) {
      const key = known(keys, caller, params.keyId);
      if (body.status !== undefined && body.status !== 'ACTIVE') refuseOwn(caller, key, 'switch off');
      if (body.roles !== undefined) {
        refuseOwn(caller, key, 'change the roles of');
        checkRoles(caller, body.roles, key.organizationId);
      }
      return shown(keys, await keys.update(key.keyId, changesOf(body)));
    },

    async deleteKey({ caller, params }) {
      const key = known(keys, caller, params.keyId);
      refuseOwn(caller, key, 'delete');
      await keys.remove(key.keyId);
      limits.forget(key.keyId);
      return undefined;
    },

    async rotateKey({ caller, params }) {
      const key = known(keys, caller, params.keyId);
      // Who gets the secret gets the roles.
      checkRoles(caller, key.roles, key.organizationId);
      return shownOnce(keys, await keys.rotate(key.keyId));
    },
  };
}

/** Of the caller's organization; a system-level caller reaches all keys. */
function known(keys: KeyStore, caller: Caller, keyId: string): KeyRecord {
  const key = keys.get(keyId);
  if (key === undefined || (caller.organizationId !== undefined && key.organizationId !== caller.organizationId))
    throw unknownId('keyId', keyId);
  return key;
}

/** Nobody shuts the door from outside: the key in use is left as it is. */
function refuseOwn(caller: Caller, key: KeyRecord, doing: string): void {
  if (caller.keyId === key.keyId)
    throw new Refusal('CONFLICT', `A key cannot ${doing} itself: use another key with API_KEY_MANAGE.`);
}

/** Nobody gives more than they have; `system` is the role of keys that belong to no organization. */
function checkRoles({ permissions }: Caller, roles: readonly Role[], organizationId: string | null): void {
  if (organizationId !== null && roles.includes('system'))
    throw new Refusal('FORBIDDEN', 'The role system is for system-level keys: only such a key can make one.');
  if (![...permissionsOf(roles)].every((permission) => permissions.has(permission)))
    throw new Refusal(
      'FORBIDDEN',
      'A key with the role system is given by callers alone who have that role themselves.',
    );
}

function changesOf({ expiresAt, roles, ...rest }: Body<'updateKey'>) {
  return {
    ...rest,
    ...(roles !== undefined && { roles: unique(roles) }),
    ...(expiresAt !== undefined && { expiresAt: futureOf(expiresAt) }),
  };
}

const unique = (roles: readonly Role[]): Role[] => [...new Set(roles)];

/** A time still to come, in UTC; null stays: never. */
function futureOf(text: string | null): string | null {
  if (text === null) return null;
  const time = parseDate(text);
  if (time === undefined) throw invalid('expiresAt', 'must be an ISO 8601 time such as 2030-01-31T09:00:00Z');
  if (time <= Date.now()) throw invalid('expiresAt', 'must be in the future');
  return new Date(time).toISOString();
}

function shown(keys: KeyStore, { hash: _, ...key }: KeyRecord): Key {
  return { ...key, lastUsedAt: keys.lastUsedAt(key.keyId) };
}

const shownOnce = (keys: KeyStore, { record, secret, key }: FreshKey): NewKey => ({
  ...shown(keys, record),
  secret,
  key,
});

import type { EnvironmentValue } from '../../../contract/types.ts';
import type { Json } from '../../../engine/json.ts';
import { type Caller, organizationFilter, organizationFor } from '../../auth/caller.ts';
import { invalid } from '../../refusal.ts';
import { type EnvironmentRecord, type EnvironmentStore, HIDDEN } from '../../store/environment.ts';
import type { Handlers, Services } from '../handler.ts';
import { unknownId } from '../ids.ts';
import { pageOf } from '../page.ts';

type Names = 'listEnvironment' | 'setEnvironment' | 'getEnvironment' | 'updateEnvironment' | 'deleteEnvironment';

export function environmentHandlers({ stores }: Services): Handlers<Names> {
  const { environment: values, organizations } = stores;
  return {
    listEnvironment({ caller, query }) {
      const organizationId = organizationFilter(caller, query.organizationId, organizations);
      const order = (value: EnvironmentRecord) =>
        `${value.name}\u0000${value.environment}\u0000${value.organizationId}`;
      const page = pageOf(values.list(organizationId, query.environment), order, query);
      return { ...page, items: page.items.map(shown) };
    },

    async setEnvironment({ caller, body }) {
      const organizationId = organizationFor(caller, body.organizationId, organizations);
      const place = { organizationId, environment: body.environment ?? 'PRODUCTION', name: body.name };
      return shown(await set(values, place, body.value, body.secret ?? false));
    },

    getEnvironment: ({ caller, params }) => shown(known(values, caller, params.valueId)),

    /** A secret stays one unless it is said otherwise. */
    async updateEnvironment({ caller, params, body }) {
      const value = known(values, caller, params.valueId);
      return shown(await set(values, value, body.value, body.secret ?? value.secret));
    },

    async deleteEnvironment({ caller, params }) {
      await values.remove(known(values, caller, params.valueId));
      return undefined;
    },
  };
}

function known(values: EnvironmentStore, caller: Caller, id: string): EnvironmentRecord {
  const value = values.get(id);
  if (value === undefined || (caller.organizationId !== undefined && value.organizationId !== caller.organizationId))
    throw unknownId('valueId', id);
  return value;
}

/** A secret is text: it goes into headers, command environments and messages, and is masked as text. */
function set(
  values: EnvironmentStore,
  place: Pick<EnvironmentRecord, 'organizationId' | 'environment' | 'name'>,
  value: Json,
  secret: boolean,
): Promise<EnvironmentRecord> {
  if (!secret) return values.set(place, value, Date.now());
  if (typeof value !== 'string' || value === '') throw invalid('value', 'must be text, and not empty, for a secret');
  return values.setSecret(place, value, Date.now());
}

/** A secret is never told again. */
const shown = (record: EnvironmentRecord): EnvironmentValue => (record.secret ? { ...record, value: HIDDEN } : record);

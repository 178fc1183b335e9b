import type { EnvironmentValue } from '../../../contract/types.ts';
import { type Caller, organizationFilter, organizationFor } from '../../auth/caller.ts';
import { invalid } from '../../refusal.ts';
import type { EnvironmentRecord, EnvironmentStore } from '../../store/environment.ts';
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
      refuseSecret(body.secret);
      const organizationId = organizationFor(caller, body.organizationId, organizations);
      const place = { organizationId, environment: body.environment ?? 'PRODUCTION', name: body.name };
      return shown(await values.set(place, body.value, Date.now()));
    },

    getEnvironment: ({ caller, params }) => shown(known(values, caller, params.valueId)),

    async updateEnvironment({ caller, params, body }) {
      refuseSecret(body.secret);
      return shown(await values.set(known(values, caller, params.valueId), body.value, Date.now()));
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

/** Nothing is kept in the clear that somebody meant to be secret. */
function refuseSecret(secret: boolean | undefined): void {
  if (secret === true) throw invalid('secret', 'secret values are not supported: nothing was kept');
}

const shown = (record: EnvironmentRecord): EnvironmentValue => ({ ...record, secret: false });

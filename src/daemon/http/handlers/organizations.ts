import { Refusal } from '../../refusal.ts';
import type { Handlers, Services } from '../handler.ts';
import { unknownId } from '../ids.ts';
import { pageOf } from '../page.ts';

type Names =
  | 'listOrganizations'
  | 'createOrganization'
  | 'getOrganization'
  | 'updateOrganization'
  | 'deleteOrganization';

export function organizationHandlers({ stores }: Services): Handlers<Names> {
  const { organizations, definitions, keys, emailConnections, environment, webhooks } = stores;

  function known(organizationId: string) {
    const organization = organizations.get(organizationId);
    if (organization === undefined) throw unknownId('organizationId', organizationId);
    return organization;
  }

  return {
    listOrganizations: ({ query }) => pageOf(organizations.list(), ({ organizationId }) => organizationId, query),

    async createOrganization({ body, reply }) {
      const organization = await organizations.create(body.name, body.organizationId, Date.now());
      void reply.code(201);
      return organization;
    },

    getOrganization: ({ params }) => known(params.organizationId),

    updateOrganization: ({ params, body }) => organizations.rename(known(params.organizationId), body.name),

    async deleteOrganization({ params: { organizationId } }) {
      known(organizationId);
      const [flowCount, keyCount] = [definitions.list(organizationId).length, keys.list(organizationId).length];
      const [inboxCount, hookCount] = [
        emailConnections.list(organizationId).length,
        webhooks.list(organizationId).length,
      ];
      if (flowCount + keyCount + inboxCount + hookCount > 0)
        throw new Refusal(
          'CONFLICT',
          `Organization ${organizationId} still has ${flowCount} flows, ${keyCount} keys, ${hookCount} webhooks and ${inboxCount} email connections: it can be removed when it has none.`,
        );
      for (const value of environment.list(organizationId, undefined)) await environment.remove(value);
      await organizations.remove(organizationId);
      return undefined;
    },
  };
}

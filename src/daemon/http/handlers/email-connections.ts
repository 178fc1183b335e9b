import type { EmailConnection } from '../../../contract/types.ts';
import { type Caller, organizationFilter, organizationFor } from '../../auth/caller.ts';
import type { EmailConnectionRecord } from '../../store/email-connections.ts';
import type { Handlers, Services } from '../handler.ts';
import { unknownId } from '../ids.ts';
import { byName, pageOf } from '../page.ts';

type Names =
  | 'listEmailConnections'
  | 'createEmailConnection'
  | 'getEmailConnection'
  | 'updateEmailConnection'
  | 'deleteEmailConnection'
  | 'testEmailConnection';

export function emailConnectionHandlers({ stores, triggers }: Services): Handlers<Names> {
  const { emailConnections: connections, organizations } = stores;
  const { emails } = triggers;

  function known(caller: Caller, connectionId: string): EmailConnectionRecord {
    const connection = connections.get(connectionId);
    if (connection === undefined || (caller.organizationId ?? connection.organizationId) !== connection.organizationId)
      throw unknownId('connectionId', connectionId);
    return connection;
  }

  function shown(connection: EmailConnectionRecord): EmailConnection {
    const { password: _, ...rest } = connection;
    const begun = { state: 'CONNECTING', since: rest.updatedAt, problem: null, retryAt: null } as const;
    const flows = emails.flowsOf(connection).map(({ processId, flowName, environment, version, trigger }) => ({
      processId,
      name: flowName,
      environment,
      version,
      subjectContains: trigger.subjectContains ?? null,
      senderMatches: trigger.senderMatches ?? null,
    }));
    return { ...rest, status: emails.status(rest.id) ?? begun, flows };
  }

  return {
    listEmailConnections({ caller, query }) {
      const organizationId = organizationFilter(caller, query.organizationId, organizations);
      const page = pageOf(connections.list(organizationId), ({ name, id }) => byName(name, id), query);
      return { ...page, items: page.items.map(shown) };
    },

    async createEmailConnection({ caller, body, reply }) {
      const { organizationId: asked, ...rest } = body;
      const organizationId = organizationFor(caller, asked, organizations);
      const connection = await connections.create({ ...rest, organizationId }, Date.now());
      void reply.code(201);
      return shown(connection);
    },

    getEmailConnection: ({ caller, params }) => shown(known(caller, params.connectionId)),

    async updateEmailConnection({ caller, params, body }) {
      return shown(await connections.update(known(caller, params.connectionId).id, body, Date.now()));
    },

    async deleteEmailConnection({ caller, params }) {
      await connections.remove(known(caller, params.connectionId).id);
      return undefined;
    },

    testEmailConnection: ({ caller, params }) => emails.test(known(caller, params.connectionId)),
  };
}

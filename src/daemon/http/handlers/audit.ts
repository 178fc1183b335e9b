import { organizationFilter } from '../../auth/caller.ts';
import { invalid } from '../../refusal.ts';
import type { Handlers, Services } from '../handler.ts';
import { DEFAULT_LIMIT } from '../page.ts';

export function auditHandlers({ stores }: Services): Handlers<'listAudit'> {
  return {
    async listAudit({ caller, query: { keyId, organizationId: asked, cursor: before, limit = DEFAULT_LIMIT } }) {
      if (before !== undefined && !/^\d{1,9}\.\d{1,9}$/.test(before))
        throw invalid('cursor', 'is not a nextCursor of this list');
      const organizationId = organizationFilter(caller, asked, stores.organizations);
      const { items, next } = await stores.audit.page({ organizationId, keyId, before, limit });
      return { items, nextCursor: next };
    },
  };
}

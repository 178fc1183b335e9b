import { openApi } from '../../../contract/openapi.ts';
import type { Handlers, Services } from '../handler.ts';
import { metricsOfOne } from '../metrics.ts';

type Names = 'whoami' | 'healthLive' | 'healthReady' | 'metrics' | 'openapi';

export function daemonHandlers({ metrics, version, daemonId, runtime, stores }: Services): Handlers<Names> {
  const description = openApi(version);
  return {
    whoami: ({ caller }) => ({
      keyId: caller.keyId ?? null,
      userId: caller.userId ?? null,
      name: caller.name,
      organizationId: caller.organizationId ?? null,
      roles: caller.roles,
      permissions: [...caller.permissions],
    }),
    healthLive: () => ({ status: 'ok', version, daemonId }),
    async healthReady() {
      await runtime.ready();
      return { status: 'ok', version, daemonId };
    },
    metrics: ({ caller: { organizationId } }) =>
      organizationId !== undefined && stores.organizations.list().length > 1 ? metricsOfOne({ version }) : metrics(),
    openapi: () => description,
  };
}

import { openApi } from '../../../contract/openapi.ts';
import type { Handlers, Services } from '../handler.ts';
import { metricsOfOne } from '../metrics.ts';

type Names = 'healthLive' | 'healthReady' | 'metrics' | 'openapi';

export function daemonHandlers({ metrics, version, daemonId, runtime, stores }: Services): Handlers<Names> {
  const description = openApi(version);
  return {
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

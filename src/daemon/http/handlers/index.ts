import type { Handlers, Services } from '../handler.ts';
import { auditHandlers } from './audit.ts';
import { authHandlers } from './auth.ts';
import { daemonHandlers } from './daemon.ts';
import { emailConnectionHandlers } from './email-connections.ts';
import { environmentHandlers } from './environment.ts';
import { fileHandlers } from './files.ts';
import { flowHandlers } from './flows.ts';
import { instanceHandlers } from './instances.ts';
import { keyHandlers } from './keys.ts';
import { memoryHandlers } from './memory.ts';
import { organizationHandlers } from './organizations.ts';
import { streamHandlers } from './streams.ts';
import { webhookHandlers } from './webhooks.ts';
import { workerHandlers } from './worker.ts';

/** What each route of the contract does; leaving one out does not compile. */
export const handlersOf = (services: Services): Handlers => ({
  ...auditHandlers(services),
  ...flowHandlers(services),
  ...instanceHandlers(services),
  ...streamHandlers(services),
  ...fileHandlers(services),
  ...memoryHandlers(services),
  ...workerHandlers(services),
  ...keyHandlers(services),
  ...environmentHandlers(services),
  ...organizationHandlers(services),
  ...webhookHandlers(services),
  ...emailConnectionHandlers(services),
  ...authHandlers(services),
  ...daemonHandlers(services),
});

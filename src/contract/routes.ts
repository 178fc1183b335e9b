import type { RouteName } from './endpoints.ts';
import { adminRoutes } from './routes/admin.ts';
import { authRoutes } from './routes/auth.ts';
import { daemonRoutes } from './routes/daemon.ts';
import { emailConnectionRoutes } from './routes/email-connections.ts';
import { flowRoutes } from './routes/flows.ts';
import { instanceRoutes } from './routes/instances.ts';
import { memoryRoutes } from './routes/memory.ts';
import type { RouteSpec } from './routes/route.ts';
import { webhookRoutes } from './routes/webhooks.ts';
import { workerRoutes } from './routes/worker.ts';

/** The table of all routes; HTTP routes, OpenAPI and the client's types are made from it and `ENDPOINTS`. */
export const ROUTES = {
  ...flowRoutes,
  ...instanceRoutes,
  ...memoryRoutes,
  ...workerRoutes,
  ...adminRoutes,
  ...webhookRoutes,
  ...emailConnectionRoutes,
  ...authRoutes,
  ...daemonRoutes,
} satisfies Record<RouteName, RouteSpec>;

export type Routes = typeof ROUTES;

/**
 * Every endpoint by name, free of schemas: what a client needs at run time. `{name}` in a path is a parameter. What
 * travels in each (types, permissions, documentation) is in `routes.ts`.
 */
export const ENDPOINTS = {
  listFlows: { method: 'GET', path: '/process/list' },
  listInstances: { method: 'GET', path: '/process/instances' },
  listFlowInstances: { method: 'GET', path: '/process/{processId}/instances' },
  getFlow: { method: 'GET', path: '/process/{processId}' },
  listVersions: { method: 'GET', path: '/process/{processId}/versions' },
  validateFlow: { method: 'POST', path: '/process/validate' },
  publishFlow: { method: 'POST', path: '/process/publish' },
  activateFlow: { method: 'POST', path: '/process/{processId}/activate' },
  unpublishFlow: { method: 'POST', path: '/process/{processId}/unpublish' },
  triggerFlow: { method: 'POST', path: '/process/{processId}/trigger' },

  execProcess: { method: 'POST', path: '/process/exec' },
  startProcess: { method: 'POST', path: '/process/start' },
  submitTask: { method: 'POST', path: '/process/task' },
  listTasks: { method: 'GET', path: '/process/tasks' },
  sendEvent: { method: 'POST', path: '/process/event' },
  getInstance: { method: 'GET', path: '/process/instance/{processInstanceId}' },
  listHistory: { method: 'GET', path: '/process/instance/{processInstanceId}/history' },
  explainInstance: { method: 'GET', path: '/process/instance/{processInstanceId}/why' },
  cancelInstance: { method: 'POST', path: '/process/instance/{processInstanceId}/cancel' },
  retryInstance: { method: 'POST', path: '/process/instance/{processInstanceId}/retry' },
  streamLog: { method: 'GET', path: '/process/instance/{processInstanceId}/logs' },
  streamEvents: { method: 'GET', path: '/process/events' },

  uploadFile: { method: 'POST', path: '/process/files' },
  downloadFile: { method: 'GET', path: '/process/files/{fileId}' },

  listMemory: { method: 'GET', path: '/memory' },
  searchMemory: { method: 'GET', path: '/memory/search' },
  getMemory: { method: 'GET', path: '/memory/keys/{memoryKey}' },
  setMemory: { method: 'PUT', path: '/memory/keys/{memoryKey}' },
  deleteMemory: { method: 'DELETE', path: '/memory/keys/{memoryKey}' },

  pollTask: { method: 'POST', path: '/worker/poll' },
  keepTask: { method: 'POST', path: '/worker/tasks/{taskId}/heartbeat' },
  completeTask: { method: 'POST', path: '/worker/tasks/{taskId}/complete' },
  failTask: { method: 'POST', path: '/worker/tasks/{taskId}/fail' },

  listKeys: { method: 'GET', path: '/admin/keys' },
  createKey: { method: 'POST', path: '/admin/keys' },
  getKey: { method: 'GET', path: '/admin/keys/{keyId}' },
  updateKey: { method: 'PATCH', path: '/admin/keys/{keyId}' },
  deleteKey: { method: 'DELETE', path: '/admin/keys/{keyId}' },
  rotateKey: { method: 'POST', path: '/admin/keys/{keyId}/rotate' },

  listEnvironment: { method: 'GET', path: '/admin/environment' },
  setEnvironment: { method: 'POST', path: '/admin/environment' },
  getEnvironment: { method: 'GET', path: '/admin/environment/{valueId}' },
  updateEnvironment: { method: 'PATCH', path: '/admin/environment/{valueId}' },
  deleteEnvironment: { method: 'DELETE', path: '/admin/environment/{valueId}' },

  listAudit: { method: 'GET', path: '/admin/audit' },

  listWebhooks: { method: 'GET', path: '/admin/webhooks' },
  createWebhook: { method: 'POST', path: '/admin/webhooks' },
  getWebhook: { method: 'GET', path: '/admin/webhooks/{webhookId}' },
  updateWebhook: { method: 'PATCH', path: '/admin/webhooks/{webhookId}' },
  deleteWebhook: { method: 'DELETE', path: '/admin/webhooks/{webhookId}' },
  rotateWebhook: { method: 'POST', path: '/admin/webhooks/{webhookId}/rotate' },
  signDelivery: { method: 'POST', path: '/admin/webhooks/{webhookId}/sign' },
  listDeliveries: { method: 'GET', path: '/admin/webhooks/{webhookId}/deliveries' },
  streamDeliveries: { method: 'GET', path: '/admin/webhooks/deliveries' },
  getDelivery: { method: 'GET', path: '/admin/webhooks/{webhookId}/deliveries/{deliveryId}' },
  replayDelivery: { method: 'POST', path: '/admin/webhooks/{webhookId}/deliveries/{deliveryId}/replay' },
  receiveWebhook: { method: 'POST', path: '/webhook/receive/{token}' },

  listEmailConnections: { method: 'GET', path: '/admin/email-connections' },
  createEmailConnection: { method: 'POST', path: '/admin/email-connections' },
  getEmailConnection: { method: 'GET', path: '/admin/email-connections/{connectionId}' },
  updateEmailConnection: { method: 'PATCH', path: '/admin/email-connections/{connectionId}' },
  deleteEmailConnection: { method: 'DELETE', path: '/admin/email-connections/{connectionId}' },
  testEmailConnection: { method: 'POST', path: '/admin/email-connections/{connectionId}/test' },

  listOrganizations: { method: 'GET', path: '/admin/organizations' },
  createOrganization: { method: 'POST', path: '/admin/organizations' },
  getOrganization: { method: 'GET', path: '/admin/organizations/{organizationId}' },
  updateOrganization: { method: 'PATCH', path: '/admin/organizations/{organizationId}' },
  deleteOrganization: { method: 'DELETE', path: '/admin/organizations/{organizationId}' },

  whoami: { method: 'GET', path: '/auth/whoami' },
  signIn: { method: 'GET', path: '/auth/login' },
  signInCallback: { method: 'GET', path: '/auth/callback' },
  signInSettings: { method: 'GET', path: '/auth/settings' },
  healthLive: { method: 'GET', path: '/health/live' },
  healthReady: { method: 'GET', path: '/health/ready' },
  metrics: { method: 'GET', path: '/metrics' },
  openapi: { method: 'GET', path: '/openapi.json' },
} as const satisfies Record<string, Endpoint>;

export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
}
export type RouteName = keyof typeof ENDPOINTS;

/** The names in braces of a path. */
export type ParameterOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterOf<Rest>
  : never;

/** Fills the parameters of an endpoint's path, each as one escaped segment. */
export function pathOf<N extends RouteName>(
  name: N,
  params: Readonly<Record<ParameterOf<(typeof ENDPOINTS)[N]['path']>, string>>,
): string {
  const values = params as Readonly<Record<string, string>>;
  return ENDPOINTS[name].path.replace(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(values[key] ?? ''));
}

import { AnyObject } from '../schemas/common.ts';
import { Health } from '../schemas/daemon.ts';
import type { RouteSpec } from './route.ts';

export const daemonRoutes = {
  healthLive: {
    summary: 'The daemon runs.',
    permission: 'none',
    scope: 'any',
    answer: { kind: 'json', status: 200, schema: Health },
    errors: [],
  },
  healthReady: {
    summary: 'The daemon takes work: recovered, and the disk takes writes.',
    permission: 'none',
    scope: 'any',
    answer: { kind: 'json', status: 200, schema: Health },
    errors: ['STORAGE_UNAVAILABLE', 'SHUTTING_DOWN'],
  },
  metrics: {
    summary: 'Counters and gauges as Prometheus text.',
    permission: 'WORKFLOW_READ',
    scope: 'any',
    answer: { kind: 'text', status: 200, contentType: 'text/plain; version=0.0.4; charset=utf-8' },
    errors: [],
  },
  openapi: {
    summary: 'This description, as OpenAPI 3.1.',
    permission: 'none',
    scope: 'any',
    answer: { kind: 'json', status: 200, schema: AnyObject('An OpenAPI document.') },
    errors: [],
  },
} as const satisfies Record<string, RouteSpec>;

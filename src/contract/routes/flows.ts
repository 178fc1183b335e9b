import Type from 'typebox';
import { OrganizationChoice, PageQuery, pageOf } from '../schemas/common.ts';
import {
  ActivateBody,
  Activated,
  FlowDefinition,
  FlowFile,
  FlowSummary,
  FlowVersions,
  Published,
  TriggerBody,
  Triggered,
  UnpublishBody,
  Verdict,
} from '../schemas/flow.ts';
import type { RouteSpec } from './route.ts';

export const flowRoutes = {
  listFlows: {
    summary: 'Flows of the organization, by name.',
    permission: 'WORKFLOW_READ',
    scope: 'any',
    publicPart: true,
    query: Type.Object(PageQuery),
    answer: { kind: 'json', status: 200, schema: pageOf(FlowSummary) },
    errors: [],
  },
  getFlow: {
    summary: 'A flow with the source of one version.',
    permission: 'WORKFLOW_READ',
    scope: 'any',
    query: Type.Object({
      versionNumber: Type.Optional(Type.String({ maxLength: 20, description: 'Default: the newest version.' })),
    }),
    answer: { kind: 'json', status: 200, schema: FlowDefinition },
    errors: ['PROCESS_NOT_FOUND', 'VERSION_NOT_FOUND'],
  },
  listVersions: {
    summary: 'Versions of a flow, newest first.',
    permission: 'WORKFLOW_READ',
    scope: 'any',
    answer: { kind: 'json', status: 200, schema: FlowVersions },
    errors: ['PROCESS_NOT_FOUND'],
  },
  validateFlow: {
    summary: 'Checks a flow file; nothing is kept.',
    permission: 'WORKFLOW_READ',
    scope: 'any',
    body: { kind: 'flow', schema: FlowFile },
    answer: { kind: 'json', status: 200, schema: Verdict },
    errors: [],
  },
  publishFlow: {
    summary: 'Publishes a flow file as a new version and activates it.',
    permission: 'WORKFLOW_PUBLISH',
    scope: 'any',
    query: Type.Object({
      environment: Type.Optional(
        Type.Enum(['DEVELOPMENT', 'PRODUCTION'], { description: 'Where it becomes active; default: both.' }),
      ),
      ...OrganizationChoice,
    }),
    body: { kind: 'flow', schema: FlowFile },
    answer: { kind: 'json', status: 200, schema: Published },
    errors: [],
  },
  activateFlow: {
    summary: 'Chooses the active version of an environment.',
    permission: 'WORKFLOW_PUBLISH',
    scope: 'any',
    body: { kind: 'json', schema: ActivateBody },
    answer: { kind: 'json', status: 200, schema: Activated },
    errors: ['PROCESS_NOT_FOUND', 'VERSION_NOT_FOUND'],
  },
  unpublishFlow: {
    summary: 'Withdraws a flow: nothing starts it any more; running instances go on.',
    permission: 'WORKFLOW_PUBLISH',
    scope: 'any',
    body: { kind: 'json', schema: UnpublishBody, optional: true },
    answer: { kind: 'json', status: 200, schema: Activated },
    errors: ['PROCESS_NOT_FOUND'],
  },
  triggerFlow: {
    summary: 'Tries a trigger by hand: reads, filters and starts as if an event, a message or the time had come.',
    permission: 'WORKFLOW_EXECUTE',
    scope: 'any',
    body: { kind: 'json', schema: TriggerBody },
    answer: { kind: 'json', status: 200, schema: Triggered },
    errors: ['PROCESS_NOT_FOUND', 'VERSION_NOT_FOUND', 'NOT_PUBLISHED', 'CONFLICT'],
  },
} as const satisfies Record<string, RouteSpec>;

import Type from 'typebox';
import { OrganizationChoice, pageOf } from '../schemas/common.ts';
import { FileQuery, FileReference } from '../schemas/daemon.ts';
import {
  Cancelled,
  EventAnswer,
  EventBody,
  Instance,
  InstanceQuery,
  InstanceSummary,
  LifecycleData,
  LogEntry,
  PastQuery,
  Resumed,
  RetryBody,
  StartBody,
  Started,
  StartQuery,
  Task,
  TaskBody,
  TaskQuery,
} from '../schemas/instance.ts';
import { Explanation } from '../schemas/why.ts';
import type { RouteSpec } from './route.ts';

const START_ERRORS = ['PROCESS_NOT_FOUND', 'VERSION_NOT_FOUND', 'NOT_PUBLISHED', 'CONFLICT'] as const;

export const instanceRoutes = {
  execProcess: {
    summary: "Starts an execution of one of the organization's flows; answers before it finishes.",
    permission: 'WORKFLOW_EXECUTE',
    scope: 'organization',
    scopeHint:
      'POST /process/exec takes keys that belong to an organization; a system-level key uses POST /process/start.',
    query: StartQuery,
    body: { kind: 'json', schema: StartBody },
    answer: { kind: 'json', status: 200, schema: Started },
    errors: START_ERRORS,
  },
  startProcess: {
    summary: "Starts an execution of any organization's flow, with a system-level key.",
    permission: 'WORKFLOW_EXECUTE',
    scope: 'system',
    scopeHint:
      'POST /process/start takes system-level keys; a key that belongs to an organization uses POST /process/exec.',
    query: StartQuery,
    body: { kind: 'json', schema: StartBody },
    answer: { kind: 'json', status: 200, schema: Started },
    errors: START_ERRORS,
  },
  listInstances: {
    summary: 'Executions of all flows, newest first.',
    permission: 'WORKFLOW_READ',
    scope: 'any',
    query: InstanceQuery,
    answer: { kind: 'json', status: 200, schema: pageOf(InstanceSummary) },
    errors: [],
  },
  listFlowInstances: {
    summary: 'Executions of a flow, newest first.',
    permission: 'WORKFLOW_READ',
    scope: 'any',
    query: InstanceQuery,
    answer: { kind: 'json', status: 200, schema: pageOf(InstanceSummary) },
    errors: ['PROCESS_NOT_FOUND'],
  },
  getInstance: {
    summary: 'An execution with its variables and nodes, as it is or as it was.',
    permission: 'WORKFLOW_READ',
    scope: 'any',
    query: PastQuery,
    answer: { kind: 'json', status: 200, schema: Instance },
    errors: ['INSTANCE_NOT_FOUND'],
  },
  explainInstance: {
    summary: 'What an execution waits for, since when, what would release it, and what nearly did; or how it ended.',
    permission: 'WORKFLOW_READ',
    scope: 'any',
    answer: { kind: 'json', status: 200, schema: Explanation },
    errors: ['INSTANCE_NOT_FOUND'],
  },
  cancelInstance: {
    summary: 'Cancels an execution with everything that still runs in it.',
    permission: 'WORKFLOW_EXECUTE',
    scope: 'any',
    answer: { kind: 'json', status: 200, schema: Cancelled },
    errors: ['INSTANCE_NOT_FOUND', 'INSTANCE_FINISHED', 'CONFLICT'],
  },
  retryInstance: {
    summary: 'Goes on from where a finished execution failed, or from a node that it reached, as a new execution.',
    permission: 'WORKFLOW_EXECUTE',
    scope: 'any',
    body: { kind: 'json', schema: RetryBody, optional: true },
    answer: { kind: 'json', status: 200, schema: Started },
    errors: ['INSTANCE_NOT_FOUND', 'NODE_NOT_FOUND', 'CONFLICT'],
  },
  streamLog: {
    summary:
      'The log, history first and then live. `Last-Event-ID` resumes; `event: end` with `{stateCd}` closes; 204 after that.',
    permission: 'WORKFLOW_READ',
    scope: 'any',
    answer: { kind: 'stream', status: 200, schema: LogEntry },
    errors: ['INSTANCE_NOT_FOUND'],
  },
  streamEvents: {
    summary: 'Lifecycle events of the organization as they happen. `Last-Event-ID` resumes.',
    permission: 'WORKFLOW_READ',
    scope: 'any',
    query: Type.Object(OrganizationChoice),
    answer: { kind: 'stream', status: 200, schema: LifecycleData },
    errors: [],
  },
  submitTask: {
    summary: 'Submits input for a waiting User Task or Input Node, or cancels it.',
    permission: 'WORKFLOW_EXECUTE',
    scope: 'any',
    body: { kind: 'json', schema: TaskBody },
    answer: { kind: 'json', status: 200, schema: Resumed },
    errors: ['INSTANCE_NOT_FOUND', 'NODE_NOT_FOUND', 'TASK_NOT_WAITING', 'INSTANCE_FINISHED'],
  },
  listTasks: {
    summary: 'Waiting Input Nodes and User Tasks with their forms, oldest first.',
    permission: 'WORKFLOW_READ',
    scope: 'any',
    query: TaskQuery,
    answer: { kind: 'json', status: 200, schema: pageOf(Task) },
    errors: [],
  },
  sendEvent: {
    summary: 'Delivers a message to one waiting subscription, or a signal to all.',
    permission: 'WORKFLOW_EXECUTE',
    scope: 'any',
    body: { kind: 'json', schema: EventBody },
    answer: { kind: 'json', status: 200, schema: EventAnswer },
    errors: ['NO_MATCHING_SUBSCRIPTION'],
  },
  uploadFile: {
    summary: 'Keeps the body as a file; its id is what an input of type `file` takes.',
    permission: 'WORKFLOW_EXECUTE',
    scope: 'any',
    query: Type.Object({ ...FileQuery.properties, ...OrganizationChoice }),
    body: { kind: 'bytes' },
    answer: { kind: 'json', status: 201, schema: FileReference },
    errors: [],
  },
  downloadFile: {
    summary: 'The content of an uploaded file.',
    permission: 'WORKFLOW_READ',
    scope: 'any',
    answer: { kind: 'bytes', status: 200 },
    errors: ['NOT_FOUND'],
  },
} as const satisfies Record<string, RouteSpec>;

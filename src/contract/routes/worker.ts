import { CompleteBody, FailBody, Kept, PollAnswer, PollBody } from '../schemas/worker.ts';
import type { RouteSpec } from './route.ts';

export const workerRoutes = {
  pollTask: {
    summary: 'Gives an external worker the oldest domainTask that it can do; waits for one at most `maxWait` seconds.',
    permission: 'WORKFLOW_EXECUTE',
    scope: 'any',
    body: { kind: 'json', schema: PollBody },
    answer: { kind: 'json', status: 200, schema: PollAnswer, orNone: true },
    errors: [],
  },
  keepTask: {
    summary: 'The worker still works on the task. CONFLICT: it is not its task any more, and it should stop.',
    permission: 'WORKFLOW_EXECUTE',
    scope: 'any',
    answer: { kind: 'json', status: 200, schema: Kept },
    errors: ['NOT_FOUND', 'CONFLICT'],
  },
  completeTask: {
    summary: "The task is done; its result becomes the node's. CONFLICT: another worker has it, or it was withdrawn.",
    permission: 'WORKFLOW_EXECUTE',
    scope: 'any',
    body: { kind: 'json', schema: CompleteBody },
    answer: { kind: 'none', status: 204 },
    errors: ['NOT_FOUND', 'CONFLICT', 'STORAGE_UNAVAILABLE'],
  },
  failTask: {
    summary: 'The task failed; the node fails with this code, or is tried again.',
    permission: 'WORKFLOW_EXECUTE',
    scope: 'any',
    body: { kind: 'json', schema: FailBody },
    answer: { kind: 'none', status: 204 },
    errors: ['NOT_FOUND', 'CONFLICT', 'STORAGE_UNAVAILABLE'],
  },
} as const satisfies Record<string, RouteSpec>;

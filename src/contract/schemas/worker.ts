import Type from 'typebox';
import { AnyJson, Closed, OrganizationChoice } from './common.ts';

const Handler = Type.String({ minLength: 1, maxLength: 200 });

export const PollBody = Closed({
  handlers: Type.Array(Handler, { minItems: 1, maxItems: 500, description: 'What this worker can do.' }),
  maxWait: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 30, default: 30, description: 'Seconds to wait for a task.' }),
  ),
  environment: Type.Optional(
    Type.Enum(['DEVELOPMENT', 'PRODUCTION'], { description: 'Only tasks of runs in this environment.' }),
  ),
  ...OrganizationChoice,
});

export const WorkerTask = Type.Object({
  taskId: Type.String({ description: 'Of this hand-out: what its heartbeats and its outcome name.' }),
  handler: Type.String(),
  input: AnyJson,
  idempotencyKey: Type.String({ description: 'The same whenever this task is handed out.' }),
  processInstanceId: Type.String(),
  processId: Type.String(),
  nodeId: Type.String(),
  environment: Type.Enum(['DEVELOPMENT', 'PRODUCTION']),
  organizationId: Type.String(),
  attempt: Type.Integer({ description: 'Counted from 1.' }),
  leaseSeconds: Type.Integer({ description: 'Without a heartbeat for so long it is offered to others again.' }),
});
export const PollAnswer = Type.Object({ task: WorkerTask });
export const Kept = Type.Object({ leaseSeconds: Type.Integer() });

export const CompleteBody = Closed({ result: Type.Optional(AnyJson) });
export const FailBody = Closed({
  code: Type.Optional(Type.String({ pattern: '^\\S{1,128}$', description: 'Default: HANDLER_FAILED.' })),
  message: Type.String({ maxLength: 2000 }),
  retryable: Type.Optional(
    Type.Boolean({ description: "false: the node's retry policy does not apply.", default: true }),
  ),
});

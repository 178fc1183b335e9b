import Type from 'typebox';
import type { Json } from '../json.ts';
import { AnyJson, AnyObject, Closed, Environment, Id, OrganizationChoice, PageQuery, Timestamp } from './common.ts';

const VersionNumber = Type.String({
  maxLength: 20,
  description: 'Version to run; default: the active one of the environment.',
});

export const StartQuery = Type.Object({
  environment: Type.Optional(Environment),
  versionNumber: Type.Optional(VersionNumber),
});
export const StartBody = Closed({
  processId: Id('Flow UUID.'),
  correlationKey: Type.Optional(Type.String({ maxLength: 500, description: "The caller's own reference." })),
  data: Type.Optional(AnyObject('Input variables: each key becomes {key} in node properties.')),
});
export const Started = Type.Object({
  processInstanceId: Type.String(),
  processId: Type.String(),
  status: Type.Literal('started'),
  startTime: Timestamp,
});

export const StateCd = Type.Unsafe<0 | 1 | 2 | 3>({
  type: 'integer',
  enum: [0, 1, 2, 3],
  description: '0 Running, 1 Completed, 2 Failed, 3 Cancelled.',
});

export const InstanceError = Type.Object({ code: Type.String(), message: Type.String(), nodeId: Type.String() });

export const InstanceSummary = Type.Object({
  processInstanceId: Type.String(),
  processId: Type.String(),
  processName: Type.String(),
  processVersion: Type.String(),
  stateCd: StateCd,
  startTime: Timestamp,
  endTime: Type.Optional(Timestamp),
  correlationKey: Type.Optional(Type.String()),
  environment: Environment,
  organizationId: Type.String(),
  parentInstanceId: Type.Optional(Type.String()),
  retryOf: Type.Optional(Type.String()),
  trigger: AnyObject('What started it, with its `type`.'),
  error: Type.Optional(InstanceError),
});

export const NodeInstance = Type.Object({
  nodeId: Type.String(),
  nodeName: Type.String(),
  nodeType: Type.String(),
  statusCd: Type.Unsafe<0 | 1 | 2 | 3 | 4 | 5>({
    type: 'integer',
    enum: [0, 1, 2, 3, 4, 5],
    description: '0 Running, 1 Waiting, 2 Completed, 3 Failed, 4 Cancelled, 5 TimedOut.',
  }),
  startTime: Timestamp,
  endTime: Type.Optional(Timestamp),
  attempt: Type.Integer(),
});

export const Instance = Type.Object({
  ...InstanceSummary.properties,
  data: AnyObject("All variables: the flow's output."),
  children: Type.Array(Type.String(), { description: 'Instances that its subProcess nodes started.' }),
  nodes: Type.Array(NodeInstance, { description: 'In the order they began.' }),
});

export const PastQuery = Type.Object({
  at: Type.Optional(
    Type.Integer({ minimum: 1, description: 'As it was once its log had so many entries, until the next one came.' }),
  ),
});

export const InstanceQuery = Type.Object({
  state: Type.Optional(Type.Integer({ minimum: 0, maximum: 3, description: 'A stateCd.' })),
  environment: Type.Optional(Type.Enum(['DEVELOPMENT', 'PRODUCTION'])),
  correlationKey: Type.Optional(Type.String({ maxLength: 500 })),
  ...PageQuery,
});

export const RetryBody = Closed({
  from: Type.Optional(
    Type.String({ maxLength: 200, description: 'Node to go on from; default: the one that failed.' }),
  ),
  data: Type.Optional(AnyObject("Variables laid over the old instance's.")),
});

export const Cancelled = Type.Object({ processInstanceId: Type.String(), status: Type.Literal('cancelled') });

export const TaskBody = Closed({
  processInstanceId: Id('The paused execution.'),
  nodeId: Type.String({ maxLength: 200, description: 'The waiting node.' }),
  action: Type.Enum(['COMPLETE', 'CANCEL']),
  data: Type.Optional(AnyObject('Form fields or decision values.')),
});
export const Resumed = Type.Object({ processInstanceId: Type.String(), status: Type.Literal('resumed') });

export const TaskQuery = Type.Object({
  processInstanceId: Type.Optional(Id('Tasks of one execution.')),
  processId: Type.Optional(Id('Tasks of one flow.')),
  ...PageQuery,
});
export const Task = Type.Object({
  processInstanceId: Type.String(),
  processId: Type.String(),
  processName: Type.String(),
  nodeId: Type.String(),
  nodeName: Type.String(),
  nodeType: Type.Enum(['inputNode', 'userTask']),
  environment: Environment,
  correlationKey: Type.Optional(Type.String()),
  since: Timestamp,
  timeoutAt: Type.Optional(Timestamp),
  dueAt: Type.Optional(Timestamp),
  assignee: Type.Optional(Type.String()),
  candidates: Type.Optional(Type.Array(Type.String())),
  form: AnyObject('The form with its references resolved.'),
});

export const EventBody = Closed({
  eventType: Type.String({ minLength: 1, maxLength: 500, description: 'Name of the message or signal.' }),
  correlationKey: Type.Optional(
    Type.String({ maxLength: 500, description: 'Needed by a message; a signal has none.' }),
  ),
  data: Type.Optional(AnyObject('Becomes variables of the instance that takes the event.')),
  messageId: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'Makes the event idempotent.' })),
  timeToLive: Type.Optional(
    Type.String({ maxLength: 100, description: 'ISO 8601 duration: how long the event waits for its subscription.' }),
  ),
  ...OrganizationChoice,
});
export const EventAnswer = Type.Object({
  status: Type.Enum(['correlated', 'buffered']),
  processInstanceIds: Type.Array(Type.String()),
});

export const LogEntry = Type.Object({
  nodeId: Type.String(),
  nodeName: Type.String(),
  nodeType: Type.String(),
  message: Type.String(),
  level: Type.Enum(['INFO', 'WARN', 'ERROR']),
  timestamp: Timestamp,
  variables: Type.Optional(AnyObject('Variable state at that point.')),
});
export const HistoryQuery = Type.Object(PageQuery);
export const HistoryStep = Type.Object({
  step: Type.Integer({ description: 'Counted from 1, as the entries of the log: what `at` of the execution takes.' }),
  ...Type.Omit(LogEntry, ['variables']).properties,
  changes: Type.Array(
    Type.Object({
      name: Type.String({ description: 'The variable, with dots where it reaches inside.' }),
      value: Type.Optional(AnyJson),
      before: Type.Optional(Type.Unsafe<Json>({ description: 'Absent where it was not there.' })),
      iteration: Type.Optional(Type.Integer({ description: "Index of the loop's iteration that has it for its own." })),
      large: Type.Optional(
        Type.Literal(true, { description: 'A value over 16 KiB is left out; the execution `at` this step has it.' }),
      ),
    }),
    { description: 'What it set; the first step has what the execution started with.' },
  ),
});
export const LogEnd = Type.Object({ stateCd: Type.Integer({ minimum: 1, maximum: 3 }) });
/** What a lifecycle event carries; its `event` name is `type`. */
export const LifecycleData = Type.Object({
  type: Type.Enum([
    'NODE_STARTED',
    'NODE_COMPLETED',
    'NODE_CANCELLED',
    'NODE_TIMEDOUT',
    'NODE_FAILED',
    'INSTANCE_STARTED',
    'INSTANCE_ENDED',
  ]),
  processInstanceId: Type.String(),
  processId: Type.String(),
  processVersion: Type.String(),
  environment: Environment,
  timestamp: Timestamp,
  nodeId: Type.Optional(Type.String()),
  nodeName: Type.Optional(Type.String()),
  nodeType: Type.Optional(Type.String()),
  stateCd: Type.Optional(Type.Integer({ minimum: 1, maximum: 3, description: 'On INSTANCE_ENDED.' })),
});

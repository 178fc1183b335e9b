import Type from 'typebox';
import { AnyObject, Timestamp } from './common.ts';
import { InstanceError, StateCd } from './instance.ts';

const NearMiss = Type.Object({
  kind: Type.Enum(
    [
      'OTHER_KEY',
      'OTHER_NAME',
      'TOO_EARLY',
      'KEPT_WITH_OTHER_KEY',
      'ANOTHER_WAITS_FIRST',
      'SENDER_NOT_PUBLISHED',
      'ANSWER_REFUSED',
      'NO_WORKER',
      'OTHER_HANDLER',
      'OTHER_ENVIRONMENT',
    ],
    { description: 'What it is, for programs.' },
  ),
  sentence: Type.String(),
  at: Type.Optional(Timestamp),
});

const Release = Type.Object({
  sentence: Type.String(),
  at: Type.Optional(Type.String({ format: 'date-time', description: 'When it happens by itself.' })),
});

export const Wait = Type.Object({
  nodeId: Type.String(),
  nodeName: Type.String(),
  nodeType: Type.String(),
  iteration: Type.Optional(Type.Integer({ description: "Index of the loop's iteration that it is in." })),
  kind: Type.Enum(['TASK', 'MESSAGE', 'SIGNAL', 'TIMER', 'RETRY', 'WORK', 'WORKER', 'CHILD', 'JOIN', 'LOOP', 'TURN'], {
    description: 'What it waits for. TURN: it goes on by itself.',
  }),
  since: Timestamp,
  sentence: Type.String({ description: 'What it waits for, in words.' }),
  releases: Type.Array(Release, { description: 'What would move it on; what it waits for comes first.' }),
  nearMisses: Type.Array(NearMiss, {
    description: 'What nearly moved it, the newest only, and mostly since the daemon began.',
  }),
  dueAt: Type.Optional(Type.String({ format: 'date-time', description: 'Of a timer or a retry.' })),
  event: Type.Optional(Type.Object({ eventType: Type.String(), correlationKey: Type.Optional(Type.String()) })),
  form: Type.Optional(AnyObject('Of a task, with its references resolved.')),
  attempt: Type.Optional(Type.Integer({ description: 'Of the work under way, or the one that comes.' })),
  attempts: Type.Optional(Type.Integer({ description: 'How many there are at most.' })),
  error: Type.Optional(InstanceError),
  childInstanceId: Type.Optional(Type.String()),
  handler: Type.Optional(Type.String()),
  missing: Type.Optional(Type.Array(Type.String(), { description: 'Nodes from which a join still awaits a token.' })),
});

const Explained = {
  processInstanceId: Type.String(),
  processName: Type.String(),
  stateCd: StateCd,
  sentence: Type.String({ description: 'The whole in one sentence.' }),
  startTime: Timestamp,
  endTime: Type.Optional(Timestamp),
  error: Type.Optional(InstanceError),
  waits: Type.Array(Wait, { description: 'One for each token, in the order in which their nodes began; at most 100.' }),
  total: Type.Integer({ description: 'How many tokens wait.' }),
  releases: Type.Array(Release, { description: 'What can be done about one that ended.' }),
  queuedStarts: Type.Array(Timestamp, { description: 'Scheduled starts of its flow that wait for its end.' }),
};

export const Explanation = Type.Object({
  ...Explained,
  children: Type.Array(Type.Object(Explained), {
    description: 'The instances that it waits for, and those that they wait for; at most 20.',
  }),
});

import Type from 'typebox';
import { AnyJson, AnyObject, Closed, Environment, Nullable, Timestamp } from './common.ts';

const ActiveVersion = Type.Object(
  { DEVELOPMENT: Nullable(Type.String()), PRODUCTION: Nullable(Type.String()) },
  { description: 'The active version of each environment; null: not published there.' },
);

export const FlowSummary = Type.Object({
  processId: Type.String(),
  name: Type.String(),
  description: Nullable(Type.String()),
  public: Type.Boolean(),
  organizationId: Type.String(),
  activeVersion: ActiveVersion,
  triggers: Type.Array(AnyObject('A trigger of the newest version, with its `type`.')),
  updatedAt: Timestamp,
});

export const FlowDefinition = Type.Object({
  ...FlowSummary.properties,
  version: Type.String({ description: 'The version that `source` is of: the one asked for, or else the newest.' }),
  schedules: Type.Array(
    Type.Object({
      cron: Type.String(),
      timezone: Type.String(),
      environment: Nullable(Type.Enum(['DEVELOPMENT', 'PRODUCTION'], { description: 'Where it runs; null: nowhere.' })),
      next: Type.Array(Timestamp, { description: 'The next five times.' }),
    }),
    { description: 'The schedule triggers of this version; it runs by them where it is active.' },
  ),
  source: Type.String({ description: 'The flow file as it was published.' }),
  versions: Type.Array(Type.String({ description: 'Oldest first.' })),
});

export const FlowVersion = Type.Object({
  version: Type.String(),
  publishedAt: Timestamp,
  activeIn: Type.Array(Environment),
  sha256: Type.String({ description: 'Of the source, in hexadecimal.' }),
  size: Type.Integer({ description: 'Bytes of the source.' }),
});
export const FlowVersions = Type.Object({ processId: Type.String(), items: Type.Array(FlowVersion) });

export const Problem = Type.Object({
  severity: Type.Enum(['error', 'warning']),
  code: Type.String(),
  path: Type.String({ description: 'Where in the document, e.g. `nodes.review.inputType`.' }),
  line: Type.Integer({ description: 'From 1.' }),
  column: Type.Integer({ description: 'From 1.' }),
  message: Type.String(),
  hint: Type.Optional(Type.String()),
});
export const Verdict = Type.Object({ valid: Type.Boolean(), problems: Type.Array(Problem) });

export const Published = Type.Object({
  processId: Type.String(),
  version: Type.String(),
  activeIn: Type.Array(Environment),
  unchanged: Type.Boolean({ description: 'The active version already has this content; no version was made.' }),
  problems: Type.Array(Problem, { description: 'Warnings.' }),
});

export const ActivateBody = Closed({
  version: Type.String({ maxLength: 20 }),
  environment: Type.Optional(Type.Enum(['DEVELOPMENT', 'PRODUCTION'], { description: 'Default: both.' })),
});
export const UnpublishBody = Closed({
  environment: Type.Optional(Type.Enum(['DEVELOPMENT', 'PRODUCTION'], { description: 'Default: both.' })),
});
export const Activated = Type.Object({ processId: Type.String(), activeVersion: ActiveVersion });

export const TriggerBody = Closed({
  type: Type.Enum(['webhook', 'schedule', 'email']),
  environment: Type.Optional(
    Type.Enum(['DEVELOPMENT', 'PRODUCTION'], { description: 'Default: PRODUCTION where it is published there.' }),
  ),
  versionNumber: Type.Optional(Type.String({ maxLength: 20, description: 'Default: the active version.' })),
  link: Type.Optional(
    Type.String({ maxLength: 200, description: 'Of several triggers the one with this webhook, connection or cron.' }),
  ),
  provider: Type.Optional(
    Type.Enum(['GITHUB', 'STRIPE', 'GITLAB', 'SLACK', 'SHOPIFY', 'STANDARD', 'CUSTOM'], {
      description: 'Who sends the event, where the webhook is not registered yet.',
    }),
  ),
  payload: Type.Optional(Type.String({ description: 'Body of the event, or the whole message (.eml), in base64.' })),
  headers: Type.Optional(
    Type.Record(Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$" }), Type.String({ maxLength: 8192 }), {
      maxProperties: 100,
      description: 'Of the event.',
    }),
  ),
});
export const Triggered = Type.Object({
  processInstanceId: Nullable(Type.String({ description: 'Null: nothing was started.' })),
  reason: Nullable(Type.String({ description: 'Why nothing was started.' })),
  version: Type.String(),
  environment: Environment,
});

/** A flow file in JSON; in YAML it is text. */
export const FlowFile = Type.Unsafe<string>({
  ...AnyJson,
  type: 'object',
  description: 'A flow file, in YAML or JSON.',
});

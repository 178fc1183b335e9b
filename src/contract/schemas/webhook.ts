import Type from 'typebox';
import { Closed, Environment, Nullable, OrganizationChoice, PageQuery, Timestamp } from './common.ts';

const WebhookProvider = Type.Enum(['GITHUB', 'STRIPE', 'GITLAB', 'SLACK', 'SHOPIFY', 'STANDARD', 'CUSTOM']);
const Mode = Type.Enum(['SHARED', 'PER_ENVIRONMENT'], {
  description: 'SHARED: one address, whose runs are PRODUCTION. PER_ENVIRONMENT: one for each environment.',
});
const Auth = Type.Enum(['HMAC', 'NONE'], {
  description: 'HMAC: deliveries are signed. NONE: whoever knows the address.',
});
const Algorithm = Type.Enum(['sha1', 'sha256', 'sha512']);
const Encoding = Type.Enum(['hex', 'base64']);
const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' });
const Secret = Type.String({ minLength: 1, maxLength: 512 });
const HeaderName = Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$" });
const Prefix = Type.String({ maxLength: 100 });
const PathInto = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'Dotted, into the payload (`data.type`); or `header:NAME`.',
});
const Choice = Type.Optional(Type.Enum(['DEVELOPMENT', 'PRODUCTION']));

/** What matters to CUSTOM alone. */
const Details = {
  algorithm: Algorithm,
  signatureHeader: Nullable(HeaderName),
  signaturePrefix: Nullable(Prefix),
  encoding: Encoding,
  eventTypePath: Nullable(PathInto),
  eventIdPath: Nullable(PathInto),
};
const OptionalDetails = {
  algorithm: Type.Optional(Algorithm),
  signatureHeader: Type.Optional(Nullable(HeaderName)),
  signaturePrefix: Type.Optional(Nullable(Prefix)),
  encoding: Type.Optional(Encoding),
  eventTypePath: Type.Optional(Nullable(PathInto)),
  eventIdPath: Type.Optional(Nullable(PathInto)),
};

export const Webhook = Type.Object({
  id: Type.String(),
  organizationId: Type.String(),
  name: Type.String(),
  provider: WebhookProvider,
  mode: Mode,
  auth: Auth,
  ...Details,
  endpoints: Type.Array(
    Type.Object({
      environment: Nullable(Environment),
      token: Type.String(),
      path: Type.String({ description: 'What the sender calls, under the public address of the daemon.' }),
      secret: Type.Optional(Type.String({ description: 'Shown only when it was just made or given.' })),
      previousSecretUntil: Nullable(Type.String({ description: 'Until when the secret before still holds.' })),
    }),
  ),
  flows: Type.Array(
    Type.Object({
      processId: Type.String(),
      name: Type.String(),
      environment: Environment,
      version: Type.String(),
      eventType: Nullable(Type.String({ description: 'Null: every event.' })),
    }),
    { description: 'The published flows that are linked to it.' },
  ),
  createdAt: Timestamp,
  updatedAt: Timestamp,
});

export const CreateWebhookBody = Closed({
  name: Name,
  provider: WebhookProvider,
  mode: Type.Optional(Mode),
  auth: Type.Optional(Auth),
  ...OptionalDetails,
  secret: Type.Optional(Secret),
  secrets: Type.Optional(Closed({ DEVELOPMENT: Type.Optional(Secret), PRODUCTION: Type.Optional(Secret) })),
  ...OrganizationChoice,
});
export const UpdateWebhookBody = Closed({ name: Type.Optional(Name), ...OptionalDetails });
export const RotateWebhookBody = Closed({
  environment: Choice,
  secret: Type.Optional(Secret),
  overlap: Type.Optional(
    Type.String({ maxLength: 40, description: 'ISO 8601 duration that the old secret still holds; default PT24H.' }),
  ),
  token: Type.Optional(Type.Boolean({ description: 'Changes the address too; the old one is unknown at once.' })),
});

const Verdict = Type.Enum(['STARTED', 'NO_MATCH', 'DUPLICATE', 'BAD_SIGNATURE', 'STALE']);
export const DeliverySummary = Type.Object({
  deliveryId: Type.String(),
  webhookId: Type.String(),
  receivedAt: Timestamp,
  environment: Nullable(Environment),
  eventType: Nullable(Type.String()),
  eventId: Nullable(Type.String()),
  traceId: Type.String(),
  verdict: Verdict,
  reason: Nullable(Type.String()),
  processInstanceIds: Type.Array(Type.String()),
  replayOf: Nullable(Type.String({ description: 'The delivery that this one sends again.' })),
  size: Type.Integer({ description: 'Bytes of the body.' }),
});
export const Delivery = Type.Object({
  ...DeliverySummary.properties,
  headers: Type.Record(Type.String(), Type.String(), { description: 'Credentials as ***.' }),
  body: Nullable(Type.String({ description: 'Null when it is no longer kept, or left out of a long page.' })),
  bodyEncoding: Type.Enum(['utf8', 'base64'], { description: 'base64 where the body is not UTF-8.' }),
});
export const DeliveryQuery = Type.Object({ ...PageQuery, verdict: Type.Optional(Verdict) });
export const DeliveryStreamQuery = Type.Object({
  webhookId: Type.Optional(Type.String({ maxLength: 64, description: 'Only of this webhook.' })),
  ...OrganizationChoice,
});
export const ReplayBody = Closed({
  environment: Choice,
  processId: Type.Optional(Type.String({ maxLength: 64, description: 'Only this flow.' })),
  versionNumber: Type.Optional(Type.String({ maxLength: 20, description: 'Default: the active version.' })),
  resign: Type.Optional(Type.Boolean({ description: 'Signs it anew and checks that, as if it came from outside.' })),
});

export const SignBody = Closed({
  body: Type.String({ description: 'The bytes to sign, in base64.' }),
  environment: Choice,
  eventId: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  age: Type.Optional(Type.Integer({ minimum: 0, maximum: 31_536_000, description: 'Seconds that it is old already.' })),
  forged: Type.Optional(Type.Boolean({ description: 'With a secret that nobody has.' })),
});
export const SignedRequest = Type.Object({
  path: Type.String(),
  headers: Type.Record(Type.String(), Type.String()),
});
export const Received = Type.Object({
  received: Type.Optional(Type.Boolean()),
  challenge: Type.Optional(Type.String({ description: "Slack's, given back once when the address is entered." })),
});

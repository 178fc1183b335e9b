import Type from 'typebox';
import { PERMISSIONS, ROLE_NAMES } from '../permissions.ts';
import { AnyJson, Closed, Environment, Nullable, OrganizationChoice, PageQuery, Timestamp } from './common.ts';

const Roles = Type.Array(Type.Enum([...ROLE_NAMES]), { minItems: 1, maxItems: 5 });
const RateLimit = Nullable(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Null: unlimited.' }));
const ExpiresAt = Nullable(Type.String({ maxLength: 40, description: 'ISO 8601 with a time zone; null: never.' }));
const Name = Type.String({ minLength: 1, maxLength: 200 });

export const Key = Type.Object({
  keyId: Type.String(),
  name: Type.String(),
  organizationId: Nullable(Type.String({ description: 'Null: a system-level key.' })),
  roles: Roles,
  status: Type.Enum(['ACTIVE', 'SUSPENDED', 'REVOKED']),
  rateLimitPerMinute: RateLimit,
  rateLimitPerHour: RateLimit,
  expiresAt: ExpiresAt,
  createdAt: Timestamp,
  lastUsedAt: Nullable(Timestamp),
});
export const NewKey = Type.Object({
  ...Key.properties,
  secret: Type.String({ description: 'Shown this once only.' }),
  key: Type.String({ description: 'The whole `apk_{keyId}_{secret}`, shown this once only.' }),
});
export const CreateKeyBody = Closed({
  name: Name,
  roles: Roles,
  organizationId: Type.Optional(Nullable(Type.String({ maxLength: 64, description: 'Null: a system-level key.' }))),
  rateLimitPerMinute: Type.Optional(RateLimit),
  rateLimitPerHour: Type.Optional(RateLimit),
  expiresAt: Type.Optional(ExpiresAt),
});
export const UpdateKeyBody = Closed({
  name: Type.Optional(Name),
  status: Type.Optional(Type.Enum(['ACTIVE', 'SUSPENDED', 'REVOKED'], { description: 'REVOKED is for good.' })),
  roles: Type.Optional(Roles),
  rateLimitPerMinute: Type.Optional(RateLimit),
  rateLimitPerHour: Type.Optional(RateLimit),
  expiresAt: Type.Optional(ExpiresAt),
});

export const EnvironmentValue = Type.Object({
  id: Type.String(),
  name: Type.String(),
  value: AnyJson,
  environment: Environment,
  secret: Type.Boolean(),
  organizationId: Type.String(),
  updatedAt: Timestamp,
});
export const SetEnvironmentBody = Closed({
  name: Type.String({
    pattern: '^[A-Za-z_][A-Za-z0-9_]{0,127}$',
    description: 'Letters, digits and underscores; flows read it as {env.NAME}.',
  }),
  value: AnyJson,
  environment: Type.Optional(Environment),
  secret: Type.Optional(Type.Boolean()),
  ...OrganizationChoice,
});
export const UpdateEnvironmentBody = Closed({ value: AnyJson, secret: Type.Optional(Type.Boolean()) });
export const EnvironmentQuery = Type.Object({
  environment: Type.Optional(Type.Enum(['DEVELOPMENT', 'PRODUCTION'])),
  ...OrganizationChoice,
});

export const Organization = Type.Object({
  organizationId: Type.String(),
  name: Type.String(),
  createdAt: Timestamp,
});
export const CreateOrganizationBody = Closed({
  organizationId: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9][a-z0-9-]{0,62}$',
      description: 'Lower-case letters, digits and hyphens; made from the name when left out.',
    }),
  ),
  name: Name,
});
export const UpdateOrganizationBody = Closed({ name: Name });

export const AuditEntry = Type.Object({
  id: Type.String({ description: 'Grows with time.' }),
  at: Timestamp,
  organizationId: Nullable(Type.String()),
  /** null: a request without a valid credential. */
  actor: Nullable(
    Type.Object({
      keyId: Type.Optional(Type.String()),
      userId: Type.Optional(Type.String({ description: 'Instead of a key: who signed in.' })),
      name: Type.String(),
    }),
  ),
  action: Type.String({ description: 'The operationId of the endpoint.' }),
  target: Type.Record(Type.String(), Type.String(), { description: 'Ids of what it was done to, or of what it made.' }),
  status: Type.Integer({ description: 'The HTTP status of the answer.' }),
  error: Type.Optional(Type.String({ description: 'The error code, where the request was refused.' })),
  address: Type.String({ description: 'Where the request came from.' }),
});
export const AuditQuery = Type.Object({
  keyId: Type.Optional(Type.String({ maxLength: 64, description: 'What this key did.' })),
  ...OrganizationChoice,
  ...PageQuery,
});

export const Whoami = Type.Object({
  keyId: Nullable(Type.String({ description: 'Null: a person who signed in.' })),
  userId: Nullable(Type.String({ description: 'The id of the person at the identity provider; null: an API key.' })),
  name: Type.String(),
  organizationId: Nullable(Type.String()),
  roles: Roles,
  permissions: Type.Array(Type.Enum([...PERMISSIONS])),
});

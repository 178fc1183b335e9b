import Type, { type TSchema } from 'typebox';
import { ERRORS, type ErrorCode } from '../errors.ts';
import type { Json, JsonObject } from '../json.ts';

export const Environment = Type.Enum(['DEVELOPMENT', 'PRODUCTION'], { description: 'Default: PRODUCTION.' });
export const Timestamp = Type.String({ format: 'date-time', description: 'ISO 8601, UTC.' });
export const AnyJson = Type.Unsafe<Json>({ description: 'Any JSON value.' });
export const AnyObject = (description: string) => Type.Unsafe<JsonObject>({ type: 'object', description });
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** A body in which an unknown field is an error: a misspelt option must not be taken silently. */
export const Closed = <T extends Record<string, TSchema>>(properties: T, description?: string) =>
  Type.Object(properties, { additionalProperties: false, ...(description === undefined ? {} : { description }) });

/** The ids that callers send are looked up, so a malformed one is simply unknown (404), not a validation error. */
export const Id = (description: string) => Type.String({ maxLength: 200, description });

export const pageOf = <T extends TSchema>(item: T) =>
  Type.Object({ items: Type.Array(item), nextCursor: Nullable(Type.String({ description: 'Pass it as `cursor`.' })) });

export const PageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 50 })),
  cursor: Type.Optional(Type.String({ maxLength: 500, description: 'The `nextCursor` of the page before.' })),
};

/** System-level keys name the organization; for a key bound to one it may be left out, or be that one. */
export const OrganizationChoice = {
  organizationId: Type.Optional(
    Type.String({ maxLength: 64, description: 'For system-level keys: the organization that is meant.' }),
  ),
};

export const ErrorAnswer = Type.Object({
  error: Type.Enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
  message: Type.String(),
  timestamp: Timestamp,
  details: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: Type.String() }))),
  retryAfter: Type.Optional(Type.Integer({ description: 'Seconds.' })),
});

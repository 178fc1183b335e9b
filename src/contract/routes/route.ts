import type { TSchema } from 'typebox';
import type { ErrorCode } from '../errors.ts';
import type { KeyScope, Permission } from '../permissions.ts';

/** What a request carries: JSON by schema, a flow file (YAML or JSON text), or bytes of any content type. */
export type BodySpec =
  | { readonly kind: 'json'; readonly schema: TSchema; readonly optional?: true }
  | { readonly kind: 'flow'; readonly schema: TSchema }
  | { readonly kind: 'bytes' };

/** What a success answers. `stream` is Server-Sent Events whose data is JSON by the schema. */
export type AnswerSpec =
  /** `orNone`: 204 without a body is a success too. */
  | { readonly kind: 'json'; readonly status: 200 | 201; readonly schema: TSchema; readonly orNone?: true }
  | { readonly kind: 'stream'; readonly status: 200; readonly schema: TSchema }
  | { readonly kind: 'text'; readonly status: 200; readonly contentType: string }
  | { readonly kind: 'bytes'; readonly status: 200 }
  | { readonly kind: 'redirect'; readonly status: 302 }
  | { readonly kind: 'none'; readonly status: 204 };

export interface RouteSpec {
  readonly summary: string;
  /** `none`: open to everybody; `key`: any valid key. */
  readonly permission: Permission | 'key' | 'none';
  readonly scope: KeyScope;
  /** What a key of the wrong scope is told. */
  readonly scopeHint?: string;
  /** People who signed in may call it without the permission, and are shown what is public alone. */
  readonly publicPart?: true;
  readonly query?: TSchema;
  readonly body?: BodySpec;
  readonly answer: AnswerSpec;
  /** Codes of its own, besides those that every route may answer. */
  readonly errors: readonly ErrorCode[];
}

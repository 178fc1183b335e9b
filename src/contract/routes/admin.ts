import Type from 'typebox';
import {
  AuditEntry,
  AuditQuery,
  CreateKeyBody,
  CreateOrganizationBody,
  EnvironmentQuery,
  EnvironmentValue,
  Key,
  NewKey,
  Organization,
  SetEnvironmentBody,
  UpdateEnvironmentBody,
  UpdateKeyBody,
  UpdateOrganizationBody,
} from '../schemas/admin.ts';
import { OrganizationChoice, PageQuery, pageOf } from '../schemas/common.ts';
import type { RouteSpec } from './route.ts';

const SYSTEM_ONLY = 'Organizations are ruled by system-level keys: use one (`wfx token --system` prints the first).';

const keyRoutes = {
  listKeys: {
    summary: 'API keys, without their secrets.',
    permission: 'API_KEY_MANAGE',
    scope: 'any',
    query: Type.Object({ ...PageQuery, ...OrganizationChoice }),
    answer: { kind: 'json', status: 200, schema: pageOf(Key) },
    errors: [],
  },
  createKey: {
    summary: 'Makes an API key; its secret is shown this once only.',
    permission: 'API_KEY_MANAGE',
    scope: 'any',
    body: { kind: 'json', schema: CreateKeyBody },
    answer: { kind: 'json', status: 201, schema: NewKey },
    errors: [],
  },
  getKey: {
    summary: 'An API key, without its secret.',
    permission: 'API_KEY_MANAGE',
    scope: 'any',
    answer: { kind: 'json', status: 200, schema: Key },
    errors: ['NOT_FOUND'],
  },
  updateKey: {
    summary: 'Changes name, status, roles, limits or expiry.',
    permission: 'API_KEY_MANAGE',
    scope: 'any',
    body: { kind: 'json', schema: UpdateKeyBody },
    answer: { kind: 'json', status: 200, schema: Key },
    errors: ['NOT_FOUND', 'CONFLICT'],
  },
  deleteKey: {
    summary: 'Removes an API key; it is invalid at once.',
    permission: 'API_KEY_MANAGE',
    scope: 'any',
    answer: { kind: 'none', status: 204 },
    errors: ['NOT_FOUND', 'CONFLICT'],
  },
  rotateKey: {
    summary: 'Gives the key a new secret; the old one is invalid at once.',
    permission: 'API_KEY_MANAGE',
    scope: 'any',
    answer: { kind: 'json', status: 200, schema: NewKey },
    errors: ['NOT_FOUND', 'CONFLICT'],
  },
} as const satisfies Record<string, RouteSpec>;

const environmentRoutes = {
  listEnvironment: {
    summary: 'Environment values, by name.',
    permission: 'ENVIRONMENT_MANAGE',
    scope: 'any',
    query: Type.Object({ ...EnvironmentQuery.properties, ...PageQuery }),
    answer: { kind: 'json', status: 200, schema: pageOf(EnvironmentValue) },
    errors: [],
  },
  setEnvironment: {
    summary: 'Sets an environment value, new or in place of the old one.',
    permission: 'ENVIRONMENT_MANAGE',
    scope: 'any',
    body: { kind: 'json', schema: SetEnvironmentBody },
    answer: { kind: 'json', status: 200, schema: EnvironmentValue },
    errors: [],
  },
  getEnvironment: {
    summary: 'An environment value.',
    permission: 'ENVIRONMENT_MANAGE',
    scope: 'any',
    answer: { kind: 'json', status: 200, schema: EnvironmentValue },
    errors: ['NOT_FOUND'],
  },
  updateEnvironment: {
    summary: 'Changes an environment value.',
    permission: 'ENVIRONMENT_MANAGE',
    scope: 'any',
    body: { kind: 'json', schema: UpdateEnvironmentBody },
    answer: { kind: 'json', status: 200, schema: EnvironmentValue },
    errors: ['NOT_FOUND'],
  },
  deleteEnvironment: {
    summary: 'Removes an environment value.',
    permission: 'ENVIRONMENT_MANAGE',
    scope: 'any',
    answer: { kind: 'none', status: 204 },
    errors: ['NOT_FOUND'],
  },
} as const satisfies Record<string, RouteSpec>;

const organizationRoutes = {
  listOrganizations: {
    summary: 'Organizations, by id.',
    permission: 'ORGANIZATION_MANAGE',
    scope: 'system',
    scopeHint: SYSTEM_ONLY,
    query: Type.Object(PageQuery),
    answer: { kind: 'json', status: 200, schema: pageOf(Organization) },
    errors: [],
  },
  createOrganization: {
    summary: 'Makes an organization.',
    permission: 'ORGANIZATION_MANAGE',
    scope: 'system',
    scopeHint: SYSTEM_ONLY,
    body: { kind: 'json', schema: CreateOrganizationBody },
    answer: { kind: 'json', status: 201, schema: Organization },
    errors: ['CONFLICT'],
  },
  getOrganization: {
    summary: 'An organization.',
    permission: 'ORGANIZATION_MANAGE',
    scope: 'system',
    scopeHint: SYSTEM_ONLY,
    answer: { kind: 'json', status: 200, schema: Organization },
    errors: ['NOT_FOUND'],
  },
  updateOrganization: {
    summary: 'Renames an organization.',
    permission: 'ORGANIZATION_MANAGE',
    scope: 'system',
    scopeHint: SYSTEM_ONLY,
    body: { kind: 'json', schema: UpdateOrganizationBody },
    answer: { kind: 'json', status: 200, schema: Organization },
    errors: ['NOT_FOUND'],
  },
  deleteOrganization: {
    summary: 'Removes an organization that has no keys and no flows any more.',
    permission: 'ORGANIZATION_MANAGE',
    scope: 'system',
    scopeHint: SYSTEM_ONLY,
    answer: { kind: 'none', status: 204 },
    errors: ['NOT_FOUND', 'CONFLICT'],
  },
} as const satisfies Record<string, RouteSpec>;

const auditRoutes = {
  listAudit: {
    summary: 'Who did what, newest first: requests that changed something, and those that were turned away.',
    permission: 'API_KEY_MANAGE',
    scope: 'any',
    query: AuditQuery,
    answer: { kind: 'json', status: 200, schema: pageOf(AuditEntry) },
    errors: [],
  },
} as const satisfies Record<string, RouteSpec>;

export const adminRoutes = { ...auditRoutes, ...keyRoutes, ...environmentRoutes, ...organizationRoutes };

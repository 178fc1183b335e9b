import Type from 'typebox';
import { OrganizationChoice, PageQuery, pageOf } from '../schemas/common.ts';
import {
  CreateEmailConnectionBody,
  EmailConnection,
  EmailConnectionTest,
  UpdateEmailConnectionBody,
} from '../schemas/email-connection.ts';
import type { RouteSpec } from './route.ts';

export const emailConnectionRoutes = {
  listEmailConnections: {
    summary: 'Email connections, by name.',
    permission: 'CONNECTION_MANAGE',
    scope: 'any',
    query: Type.Object({ ...PageQuery, ...OrganizationChoice }),
    answer: { kind: 'json', status: 200, schema: pageOf(EmailConnection) },
    errors: [],
  },
  createEmailConnection: {
    summary: 'Connects an inbox (IMAP): messages that come from now on start the flows that name it.',
    permission: 'CONNECTION_MANAGE',
    scope: 'any',
    body: { kind: 'json', schema: CreateEmailConnectionBody },
    answer: { kind: 'json', status: 201, schema: EmailConnection },
    errors: ['CONFLICT'],
  },
  getEmailConnection: {
    summary: 'An email connection with its state and the flows that it starts.',
    permission: 'CONNECTION_MANAGE',
    scope: 'any',
    answer: { kind: 'json', status: 200, schema: EmailConnection },
    errors: ['NOT_FOUND'],
  },
  updateEmailConnection: {
    summary: 'Changes an email connection; another inbox than before is read from its end on.',
    permission: 'CONNECTION_MANAGE',
    scope: 'any',
    body: { kind: 'json', schema: UpdateEmailConnectionBody },
    answer: { kind: 'json', status: 200, schema: EmailConnection },
    errors: ['NOT_FOUND', 'CONFLICT'],
  },
  deleteEmailConnection: {
    summary: 'Removes an email connection; its inbox is left as it is.',
    permission: 'CONNECTION_MANAGE',
    scope: 'any',
    answer: { kind: 'none', status: 204 },
    errors: ['NOT_FOUND'],
  },
  testEmailConnection: {
    summary: 'Signs in and opens the folder; says in one sentence what is wrong.',
    permission: 'CONNECTION_MANAGE',
    scope: 'any',
    answer: { kind: 'json', status: 200, schema: EmailConnectionTest },
    errors: ['NOT_FOUND', 'OVERLOADED'],
  },
} as const satisfies Record<string, RouteSpec>;

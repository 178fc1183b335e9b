import Type from 'typebox';
import { Closed, Environment, Nullable, OrganizationChoice, Timestamp } from './common.ts';

const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' });
const Host = Type.String({ pattern: '^[A-Za-z0-9._:-]{1,253}$', description: 'A name or an address.' });
const Port = Type.Integer({ minimum: 1, maximum: 65_535, description: 'Default: 993, without `tls` 143.' });
const Tls = Type.Boolean({
  description: 'From the start (default). false: by STARTTLS, which only a server on the same machine may lack.',
});
const OneLine = (description: string) => Type.String({ pattern: '^[^\\0\\r\\n]{1,512}$', description });
const User = OneLine('Whose inbox it is.');
const Password = OneLine('Kept sealed, never shown.');
const Mailbox = OneLine('The folder; default: INBOX.');

export const EmailConnection = Type.Object({
  id: Type.String(),
  organizationId: Type.String(),
  name: Type.String(),
  host: Type.String(),
  port: Type.Integer(),
  tls: Type.Boolean(),
  user: Type.String(),
  mailbox: Type.String(),
  status: Type.Object({
    state: Type.Enum(['CONNECTING', 'CONNECTED', 'RETRYING']),
    since: Timestamp,
    problem: Nullable(Type.String({ description: 'Why it is not connected, in one sentence.' })),
    retryAt: Nullable(Type.String({ description: 'When it is tried again, ISO 8601.' })),
  }),
  flows: Type.Array(
    Type.Object({
      processId: Type.String(),
      name: Type.String(),
      environment: Environment,
      version: Type.String(),
      subjectContains: Nullable(Type.String({ description: 'Null: every subject.' })),
      senderMatches: Nullable(Type.String({ description: 'Null: every sender.' })),
    }),
    { description: 'The published flows that it starts.' },
  ),
  createdAt: Timestamp,
  updatedAt: Timestamp,
});

export const CreateEmailConnectionBody = Closed({
  name: Name,
  host: Host,
  port: Type.Optional(Port),
  tls: Type.Optional(Tls),
  user: User,
  password: Password,
  mailbox: Type.Optional(Mailbox),
  ...OrganizationChoice,
});
export const UpdateEmailConnectionBody = Closed({
  name: Type.Optional(Name),
  host: Type.Optional(Host),
  port: Type.Optional(Port),
  tls: Type.Optional(Tls),
  user: Type.Optional(User),
  password: Type.Optional(Password),
  mailbox: Type.Optional(Mailbox),
});

export const EmailConnectionTest = Type.Object({
  ok: Type.Boolean(),
  problem: Nullable(Type.String({ description: 'What is wrong and what to do, in one sentence.' })),
  messages: Nullable(Type.Integer({ description: 'How many the folder holds.' })),
});

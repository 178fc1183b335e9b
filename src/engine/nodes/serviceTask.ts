import type { Json, JsonObject } from '../json.ts';
import { defineNode, type Resolver } from '../node.ts';
import { resolvedRequest } from '../request.ts';
import type { KeysOf } from './keys.ts';

type Keys = KeysOf<'serviceTask'>;

export const serviceTask = defineNode<Keys>({
  enter: (turn) => turn.work(),
  work: {
    kind: (node) => node.keys.service,
    input({ keys }, resolver) {
      if (keys.service === 'http') return resolvedRequest(keys.request, resolver);
      if (keys.service === 'command') return command(keys, resolver);
      return email(keys.message, resolver);
    },
  },
});

function command(keys: Extract<Keys, { service: 'command' }>, resolver: Resolver): JsonObject {
  const input: Record<string, Json> = { command: keys.command.map((word) => resolver.text(word)) };
  if (keys.cwd !== undefined) input['cwd'] = resolver.text(keys.cwd);
  if (keys.environment !== undefined) input['environment'] = resolver.texts(keys.environment);
  if (keys.stdin !== undefined) input['stdin'] = resolver.text(keys.stdin);
  return input;
}

function email(message: NonNullable<Keys['message']>, resolver: Resolver): JsonObject {
  const input: Record<string, Json> = { subject: resolver.text(message.subject) };
  for (const list of ['to', 'cc', 'bcc'] as const) {
    const templates = message[list];
    if (templates !== undefined) input[list] = resolver.list(templates);
  }
  for (const part of ['from', 'text', 'html'] as const) {
    const template = message[part];
    if (template !== undefined) input[part] = resolver.text(template);
  }
  if (message.attachments !== undefined) input['attachments'] = resolver.value(message.attachments);
  if (message.connection !== undefined) input['connection'] = message.connection;
  return input;
}

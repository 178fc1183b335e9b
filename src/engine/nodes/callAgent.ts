import type { Json, JsonObject } from '../json.ts';
import type { Tool } from '../keys/work.ts';
import { defineNode, type Resolver } from '../node.ts';
import { resolvedRequest } from '../request.ts';
import type { KeysOf } from './keys.ts';

export const callAgent = defineNode<KeysOf<'callAgent'>>({
  enter: (turn) => turn.work(),
  work: {
    kind: () => 'agent',
    input({ keys }, resolver) {
      const input: Record<string, Json> = { goal: resolver.text(keys.goal), maxSteps: keys.maxSteps };
      for (const key of ['agent', 'provider', 'model', 'system'] as const) {
        const template = keys[key];
        if (template !== undefined) input[key] = resolver.text(template);
      }
      input['tools'] = (keys.tools ?? []).map((tool) => described(tool, resolver));
      return input;
    },
    tool({ keys }, index, resolver) {
      const tool = keys.tools?.[index];
      if (tool === undefined || 'flow' in tool) return {};
      if ('http' in tool) return resolvedRequest(tool.http, resolver);
      const { url, command } = tool.mcp;
      return {
        ...(url !== undefined && { url: resolver.text(url) }),
        ...(command !== undefined && { command: resolver.list(command) }),
      };
    },
  },
});

/** What an agent is told of a tool; what a call of it does is resolved when it is called. */
function described(tool: Tool, resolver: Resolver): JsonObject {
  const about: Record<string, Json> = {};
  if (tool.name !== undefined) about['name'] = tool.name;
  if ('mcp' in tool) return { ...about, kind: 'mcp' };
  if (tool.description !== undefined) about['description'] = resolver.text(tool.description);
  if ('flow' in tool) return { ...about, kind: 'flow', processId: resolver.text(tool.flow).trim().toLowerCase() };
  return { ...about, kind: 'http', ...(tool.parameters !== undefined && { parameters: tool.parameters }) };
}

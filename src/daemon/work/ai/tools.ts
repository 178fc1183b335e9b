import type { ToolSet } from 'ai';
import { isObject, type Json, type JsonObject } from '../../../engine/json.ts';
import { type AddressPolicy, createAddressPolicy } from '../addresses.ts';
import { type Executor, type ExecutorContext, WorkError } from '../executor.ts';
import type { AgentFlows } from '../ports.ts';
import { checkBy } from './json-schema.ts';
import { type McpServer, openMcp } from './mcp.ts';

/** Something that an agent may call. Errors of `run` are told to the agent, which goes on. */
export interface AgentTool {
  readonly name: string;
  readonly description: string | undefined;
  /** JSON Schema of its arguments. */
  readonly parameters: JsonObject;
  /** `key` is the same whenever the same call is made again after a crash. */
  run(args: JsonObject, key: string): Promise<Json>;
}

export interface Toolbox {
  readonly tools: ReadonlyMap<string, AgentTool>;
  /** As the SDK takes them: without a way to run them, since each run is a step of its own. */
  readonly shown: ToolSet;
  close(): Promise<void>;
}

export interface ToolSources {
  readonly http: Executor;
  readonly flows: AgentFlows | undefined;
}

/** The tools that a node names, its MCP servers connected. AGENT_TOOL_INVALID where two have the same name. */
export async function openTools(
  described: readonly Json[],
  sources: ToolSources,
  context: ExecutorContext,
): Promise<Toolbox> {
  const servers: McpServer[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.close().catch(() => undefined)));
  };
  const addresses = createAddressPolicy(context.settings.httpDeny ?? []);
  try {
    const tools = new Map<string, AgentTool>();
    for (const [index, about] of described.entries()) {
      const found = await toolsOf(about as JsonObject, index, { ...sources, addresses, servers }, context);
      for (const tool of found) add(tools, tool, context);
    }
    return { tools, shown: await shownTools(tools), close };
  } catch (error) {
    await close();
    throw error;
  }
}

function add(tools: Map<string, AgentTool>, tool: AgentTool, { nodeId }: ExecutorContext): void {
  if (tools.has(tool.name))
    throw new WorkError(
      'AGENT_TOOL_INVALID',
      `node '${nodeId}': two of its tools are called '${tool.name}'; give one a \`name\``,
      true,
    );
  tools.set(tool.name, tool);
}

async function shownTools(tools: ReadonlyMap<string, AgentTool>): Promise<ToolSet> {
  const { jsonSchema, tool } = await import('ai');
  const shown: ToolSet = {};
  for (const { name, description, parameters } of tools.values())
    shown[name] = tool({
      ...(description !== undefined && { description }),
      inputSchema: jsonSchema(parameters as object),
    }) as ToolSet[string];
  return shown;
}

interface Sources extends ToolSources {
  readonly addresses: AddressPolicy;
  readonly servers: McpServer[];
}

async function toolsOf(
  about: JsonObject,
  index: number,
  sources: Sources,
  context: ExecutorContext,
): Promise<readonly AgentTool[]> {
  if (about['kind'] === 'flow') return [flowTool(about, sources.flows, context)];
  if (about['kind'] === 'http') return [await httpTool(about, index, sources.http, context)];
  const server = await openMcp(
    context.tool(index, {}),
    about['name'] as string | undefined,
    sources.addresses,
    context,
  );
  sources.servers.push(server);
  return server.tools;
}

const ANYTHING: JsonObject = { type: 'object', properties: {}, additionalProperties: true };

/** The agent's arguments are variables in the request, which is resolved when it is made. */
async function httpTool(
  about: JsonObject,
  index: number,
  http: Executor,
  context: ExecutorContext,
): Promise<AgentTool> {
  const parameters = isObject(about['parameters']) ? about['parameters'] : ANYTHING;
  const check = await checkBy(parameters).catch((error: Error) => {
    const name = about['name'] as string;
    throw new WorkError(
      'AGENT_TOOL_INVALID',
      `node '${context.nodeId}': the \`parameters\` of '${name}' are no JSON Schema: ${error.message}`,
      true,
    );
  });
  return {
    name: about['name'] as string,
    description: about['description'] as string | undefined,
    parameters,
    async run(args, key) {
      const problem = check(args);
      if (problem !== undefined) throw new WorkError('ARGUMENTS_INVALID', problem);
      return http(context.tool(index, args), { ...context, idempotencyKey: key });
    },
  };
}

function flowTool(about: JsonObject, flows: AgentFlows | undefined, context: ExecutorContext): AgentTool {
  const { organizationId, environment, instanceId, nodeId, signal } = context;
  const place = { organizationId, environment, processId: about['processId'] as string };
  const flow = flows?.describe(place);
  if (flows === undefined || flow === undefined)
    throw new WorkError(
      'NOT_PUBLISHED',
      `node '${nodeId}': its tool, the flow ${place.processId}, is not published in ${environment}`,
    );
  return {
    name: (about['name'] as string | undefined) ?? nameFrom(flow.name),
    description: (about['description'] as string | undefined) ?? flow.description ?? flow.name,
    parameters: parametersFrom(flow.variables),
    async run(data, key) {
      // Another attempt is another call: what its predecessor began was cancelled with it.
      const idempotencyKey = `${key}.${context.attempt}`;
      const {
        stateCd,
        data: variables,
        error,
      } = await flows.run({ ...place, data, idempotencyKey, instanceId, nodeId }, signal);
      if (stateCd === 1) return variables;
      throw new WorkError(error?.code ?? 'CANCELLED', error?.message ?? 'the flow was cancelled');
    },
  };
}

const nameFrom = (name: string): string => {
  const plain = name
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 60)
    .toLowerCase();
  return /^[a-z_]/.test(plain) ? plain : `flow_${plain}`;
};

/** What a flow takes: its variables, of the types that their defaults have, and whatever else. */
function parametersFrom(variables: JsonObject): JsonObject {
  const properties: Record<string, Json> = {};
  for (const [name, value] of Object.entries(variables)) properties[name] = typeOf(value as Json);
  return { type: 'object', properties, additionalProperties: true };
}

function typeOf(value: Json): JsonObject {
  if (value === null) return {};
  const type = Array.isArray(value) ? 'array' : typeof value;
  return typeof value === 'object' ? { type } : { type, default: value };
}

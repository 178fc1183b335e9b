import type { Retry } from '../flow.ts';
import { isObject, type Json } from '../json.ts';
import { parseTemplate, type Template } from '../template.ts';
import { type At, type Kind, mismatch, shortened } from './kind.ts';
import {
  type CompiledKeys,
  optional,
  readKeys,
  record,
  recordSchema,
  refuseOthers,
  required,
  withDefault,
} from './record.ts';
import { integer, number, plain } from './scalar.ts';
import { argv, isConstant, json, text, textMap, texts, value } from './template.ts';
import { durationConstant, processId } from './time.ts';

const retryRecord = record('retry', {
  attempts: required(integer(1, 100), 'How often it is tried at most, the first attempt included.'),
  backoff: withDefault(
    durationConstant,
    1000,
    'The wait before the second attempt, an ISO 8601 duration; default PT1S.',
  ),
  factor: withDefault(number(1, 100), 2, 'By how much each further wait is longer; default 2.'),
  maxBackoff: withDefault(durationConstant, 300_000, 'The longest wait, an ISO 8601 duration; default PT5M.'),
});

/** How work that failed is tried again. */
export const retry: Kind<Retry> = {
  schema: retryRecord.schema,
  read(value, at) {
    if (typeof value === 'number') return mismatch('a map', value, at, `write { attempts: ${at.written} }`);
    const read = retryRecord.read(value, at);
    if (read === undefined) return undefined;
    const { attempts, backoff, factor, maxBackoff } = read;
    return { attempts, backoffMs: backoff, factor, maxBackoffMs: maxBackoff };
  },
};

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

/** An HTTP method in upper case, or a reference that gives one. */
const method: Kind<Template> = {
  schema: {
    anyOf: [{ enum: [...METHODS, ...METHODS.map((name) => name.toLowerCase())] }, { type: 'string', pattern: '\\{' }],
  },
  read(value, at) {
    if (typeof value !== 'string') return mismatch('an HTTP method, a text', value, at);
    const compiled = parseTemplate(value);
    if (!isConstant(compiled)) return compiled;
    const name = value.toUpperCase();
    return METHODS.includes(name) ? parseTemplate(name) : mismatch(`one of ${METHODS.join(', ')}`, value, at);
  },
};

/** An absolute http or https address, as far as it can be known before the flow runs. */
const url: Kind<Template> = {
  schema: { type: 'string', minLength: 1 },
  read(value, at) {
    const compiled = text.read(value, at);
    if (compiled === undefined || typeof value !== 'string') return undefined;
    if (/^(https?:\/\/|\{)/iu.test(value)) return compiled;
    const hint = /^[\w.-]+(:\d+)?(\/|$)/u.test(value) ? `write https://${value}` : undefined;
    const message = `\`${at.name}\` must begin with http:// or https://, but is ${shortened(value)}`;
    return at.error('BAD_URL', message, hint === undefined ? {} : { hint });
  },
};

const requestKeys = {
  method: withDefault(method, parseTemplate('GET'), 'The HTTP method; default GET.'),
  url: required(url, 'The address, beginning with http:// or https://.'),
  headers: optional(textMap, 'Headers by name.'),
  query: optional(textMap, 'Query parameters by name; they are encoded.'),
  body: optional(value, 'The body: a text goes as it is, anything else as JSON.'),
};
export type Request = CompiledKeys<typeof requestKeys>;
export const request: Kind<Request> = record('a request', requestKeys);

const messageKeys = {
  to: required(texts, 'The recipients: addresses, or a reference to a list of them.'),
  cc: optional(texts, 'Who gets a copy.'),
  bcc: optional(texts, 'Who gets a copy unseen by the others.'),
  from: optional(text, 'The sender; default: that of the connection.'),
  subject: required(text, 'The subject line.'),
  text: optional(text, 'The body as plain text.'),
  html: optional(text, 'The body as HTML.'),
  attachments: optional(value, 'File references, one or a list.'),
  connection: optional(plain, 'The email connection that sends it; default: the only one.'),
};
export type Message = CompiledKeys<typeof messageKeys>;
export const message: Kind<Message> = record('a message', messageKeys);

const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/u;

/** What a model calls a tool: letters, digits, `_` and `-`. */
const toolName: Kind<string> = {
  schema: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_-]{0,63}$' },
  read(value, at) {
    if (typeof value === 'string' && NAME.test(value)) return value;
    return mismatch('the name of a tool, a text of letters, digits, _ and -', value, at);
  },
};

const flowTool = {
  flow: required(processId, 'The processId of the flow that the agent may call.'),
  name: optional(toolName, "What the agent calls it; default: made from the flow's name."),
  description: optional(text, 'What it does, for the agent to know when to use it.'),
};
const httpTool = {
  http: required(request, "The request that is made; the agent's arguments are variables in it."),
  name: required(toolName, 'What the agent calls it.'),
  description: optional(text, 'What it does, for the agent to know when to use it.'),
  parameters: optional(json, 'A JSON Schema of the arguments that the agent must give.'),
};
const mcpServer = {
  url: optional(url, 'The address of the MCP server.'),
  command: optional(argv, 'The command that runs it.'),
};
const mcpRecord = record('an MCP server', mcpServer);
const mcp: Kind<CompiledKeys<typeof mcpServer>> = {
  schema: mcpRecord.schema,
  read(value, at) {
    const server = mcpRecord.read(value, at);
    if (server !== undefined && (server.url === undefined) === (server.command === undefined)) {
      return at.error('ONE_OF', 'an MCP server is given by either `url` or `command`');
    }
    return server;
  },
};
const mcpTool = {
  mcp: required(mcp, 'An MCP server; the agent gets all of its tools.'),
  name: optional(toolName, 'Put before the names of its tools.'),
};

export type FlowTool = CompiledKeys<typeof flowTool>;
export type HttpTool = CompiledKeys<typeof httpTool>;
export type McpTool = CompiledKeys<typeof mcpTool>;
export type Tool = FlowTool | HttpTool | McpTool;
const TOOLS = { flow: flowTool, http: httpTool, mcp: mcpTool } as const;

/** Something that an agent may use: one of `{flow}`, `{http}`, `{mcp}`. */
export const tool: Kind<Tool> = {
  schema: { anyOf: Object.values(TOOLS).map((keys) => recordSchema(keys)) },
  read(value, at) {
    if (!isObject(value)) return mismatch('a tool: {flow}, {http} or {mcp}', value, at);
    return toolOf(value, at);
  },
};

function toolOf(value: Readonly<Record<string, Json>>, at: At): Tool | undefined {
  const kinds = (['flow', 'http', 'mcp'] as const).filter((name) => Object.hasOwn(value, name));
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) {
    return at.error('ONE_OF', 'a tool has exactly one of `flow`, `http` and `mcp`', { onKey: true });
  }
  refuseOthers(Object.keys(TOOLS[kind]), value, at, `a tool with \`${kind}\``);
  return readKeys(TOOLS[kind], value, at) as Tool | undefined;
}

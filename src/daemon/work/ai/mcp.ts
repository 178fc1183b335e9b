import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { isObject, type Json, type JsonObject } from '../../../engine/json.ts';
import { VERSION } from '../../../version.ts';
import type { AddressPolicy } from '../addresses.ts';
import { type ExecutorContext, WorkError } from '../executor.ts';
import type { AgentTool } from './tools.ts';

/** An MCP server that is connected, for as long as one agent works. */
export interface McpServer {
  readonly tools: readonly AgentTool[];
  close(): Promise<void>;
}

/** Tools of one server beyond these are left out. */
const MAX_TOOLS = 200;
/** Those that repeat the request as it is. */
const REDIRECTS = new Set([307, 308]);
const MAX_REDIRECTS = 5;
/** Safety net for tools that never answer; flows set `timeout`. */
const LONGEST_MS = 10 * 60_000;

/**
 * Connects to the server that `{url}` (streamable HTTP) or `{command}` (stdio) names, and reads its tools; `prefix` goes before
 * their names. Errors: MCP_UNREACHABLE, COMMANDS_DISABLED, HTTP_ADDRESS_REFUSED.
 */
export async function openMcp(
  server: JsonObject,
  prefix: string | undefined,
  addresses: AddressPolicy,
  context: ExecutorContext,
): Promise<McpServer> {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const name = typeof server['url'] === 'string' ? shown(server['url']) : (server['command'] as string[]).join(' ');
  const transport = await transportOf(server, addresses, context);
  const client = new Client({ name: 'wfx', version: VERSION });
  const { signal } = context;
  try {
    await client.connect(transport, { signal });
    const tools = await listed(async (cursor) => client.listTools(cursor === undefined ? {} : { cursor }, { signal }));
    return {
      tools: tools.map(({ name: own, description, inputSchema }) => ({
        name: prefix === undefined ? own : `${prefix}_${own}`,
        description,
        parameters: inputSchema as unknown as JsonObject,
        async run(args) {
          const limits = { signal, timeout: LONGEST_MS };
          return resultOf(await client.callTool({ name: own, arguments: { ...args } }, undefined, limits));
        },
      })),
      close: () => client.close(),
    };
  } catch (error) {
    await client.close().catch(() => undefined);
    signal.throwIfAborted();
    if (error instanceof WorkError) throw error;
    const reason = ((error as Error).cause as Error | undefined)?.message ?? (error as Error).message;
    throw new WorkError('MCP_UNREACHABLE', `the MCP server '${name}' can't be used: ${reason}`);
  }
}

async function transportOf(server: JsonObject, addresses: AddressPolicy, context: ExecutorContext): Promise<Transport> {
  const { url, command } = server;
  if (typeof url === 'string') {
    const address = urlOf(url, context);
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    return new StreamableHTTPClientTransport(address, { fetch: fetcher(addresses) }) as Transport;
  }
  if (!context.settings.allowCommands)
    throw new WorkError(
      'COMMANDS_DISABLED',
      `node '${context.nodeId}': this daemon runs no commands, and so no MCP servers by command; allow it with 'wfx daemon start --allow-commands'`,
      true,
    );
  const [program = '', ...args] = command as readonly string[];
  const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
  return new StdioClientTransport({ command: program, args, stderr: 'ignore' });
}

function urlOf(url: string, { nodeId }: ExecutorContext): URL {
  if (URL.canParse(url) && /^https?:/i.test(url)) return new URL(url);
  throw new WorkError('MCP_UNREACHABLE', `node '${nodeId}': '${shown(url)}' is no address of an MCP server`, true);
}

/** Refused addresses are refused here too, by number and by name. */
async function checkAddress(host: string, addresses: AddressPolicy): Promise<void> {
  addresses.check(host);
  await new Promise<void>((resolve, reject) => {
    addresses.lookup(host.replace(/^\[|\]$/g, ''), { all: true }, (error) => {
      if (error instanceof WorkError) reject(error);
      else resolve();
    });
  });
}

/** As `fetch`; where a redirect leads is checked like the server itself, which may not hand the call on to any address. */
const fetcher =
  (addresses: AddressPolicy) =>
  async (url: string | URL, init?: RequestInit): Promise<Response> => {
    let at = new URL(url);
    for (let redirects = 0; ; redirects += 1) {
      await checkAddress(at.hostname, addresses);
      const response = await fetch(at, { ...init, redirect: 'manual' });
      const location = response.headers.get('location');
      if (!REDIRECTS.has(response.status) || location === null || redirects === MAX_REDIRECTS) return response;
      await response.body?.cancel();
      at = new URL(location, at);
    }
  };

/** Without what may be a credential. */
const shown = (url: string): string =>
  URL.canParse(url) ? new URL(url).origin + new URL(url).pathname : url.slice(0, 100);

interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: unknown;
}

async function listed(
  page: (
    cursor: string | undefined,
  ) => Promise<{ readonly tools: readonly ListedTool[]; readonly nextCursor?: string | undefined }>,
): Promise<readonly ListedTool[]> {
  const tools: ListedTool[] = [];
  let cursor: string | undefined;
  do {
    const answer = await page(cursor);
    tools.push(...answer.tools);
    cursor = answer.nextCursor;
  } while (cursor !== undefined && tools.length < MAX_TOOLS);
  return tools.slice(0, MAX_TOOLS);
}

/** Texts as they are; of anything else that a model can't read, what it is. */
function resultOf(result: Readonly<Record<string, unknown>>): Json {
  const content = (Array.isArray(result['content']) ? result['content'] : []).filter(isObject);
  const texts = content.map((part) => {
    if (part['type'] === 'text') return String(part['text']);
    const resource = isObject(part['resource']) ? part['resource'] : {};
    return typeof resource['text'] === 'string'
      ? resource['text']
      : `[${part['type']}: ${part['mimeType'] ?? 'not shown'}]`;
  });
  const text = texts.join('\n');
  if (result['isError'] === true) throw new WorkError('MCP_TOOL_FAILED', text || 'the tool failed without a message');
  return text === '' && isObject(result['structuredContent']) ? result['structuredContent'] : text;
}

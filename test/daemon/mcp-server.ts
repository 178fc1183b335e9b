import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { Test } from 'tap';

const NUMBERS = { type: 'object' as const, properties: { a: { type: 'number' }, b: { type: 'number' } } };

/** A server with the tools `add`, which says where it runs, and `fail`, on two pages. */
export function calculator(where: string): Server {
  const server = new Server({ name: 'calculator', version: '1' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) =>
    params?.cursor === undefined
      ? { tools: [{ name: 'add', description: 'Adds.', inputSchema: NUMBERS }], nextCursor: '2' }
      : { tools: [{ name: 'fail', description: 'Fails.', inputSchema: { type: 'object' as const } }] },
  );
  server.setRequestHandler(CallToolRequestSchema, ({ params: { name, arguments: args } }) => {
    const { a, b } = args as { a: number; b: number };
    const text = name === 'add' ? `${a + b} by ${where}` : 'no luck';
    return { content: [{ type: 'text', text }], isError: name === 'fail' };
  });
  return server;
}

/** Where other paths of the server over HTTP lead. */
const REDIRECTS: Readonly<Record<string, string>> = { '/moved': '/mcp', '/away': 'http://169.254.169.254/mcp' };

/** The same over streamable HTTP, without sessions. */
export async function calculatorOverHttp(t: Test): Promise<string> {
  const http = createServer(async (request, response) => {
    const location = REDIRECTS[request.url ?? ''];
    if (location !== undefined) return void response.writeHead(307, { location }).end();
    const transport = new StreamableHTTPServerTransport({});
    const server = calculator('http');
    response.on('close', () => void server.close());
    await server.connect(transport as Transport);
    await transport.handleRequest(request, response);
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  t.teardown(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
}

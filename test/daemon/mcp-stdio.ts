// An MCP server over stdio, started as a command.
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { calculator } from './mcp-server.ts';

await calculator('stdio').connect(new StdioServerTransport());

import { mkdtempSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fastify } from 'fastify';
import { openJournal } from '../src/daemon/journal/index.ts';
import type { Json } from '../src/engine/json.ts';

/** The control: the same fastify, the same group commit, one appended record for each request, and no engine. */
const dir = mkdtempSync(join(tmpdir(), 'wfx-control-'));
const { journal, recovery } = await openJournal({ dir, log: { info() {}, warn() {} } });
for await (const _ of recovery.checkpoint);
for await (const _ of recovery.frames);

const server = fastify();
server.post('/', async (request) => {
  const at = Date.now();
  await journal.append({
    at,
    instances: [],
    facts: [{ collection: 'control', key: 'x', value: request.body as Json }],
  });
  return { processInstanceId: 'x', processId: 'x', status: 'started', startTime: new Date(at).toISOString() };
});
await server.listen({ port: 0, host: '127.0.0.1' });
process.send?.({ port: (server.server.address() as AddressInfo).port });

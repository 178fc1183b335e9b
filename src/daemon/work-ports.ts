import { agentFlows } from './agent-flows.ts';
import type { Runtime } from './runtime/door.ts';
import type { Stores } from './store/index.ts';
import type { UploadStore } from './store/uploads.ts';
import type { FileStore, WorkPorts } from './work/ports.ts';

interface Rooms {
  readonly stores: () => Stores;
  readonly runtime: () => Runtime;
  readonly domain: WorkPorts['domain'];
}

/** What outside work needs of the other rooms, which are opened after it: each is asked for when it is used. */
export const workPorts = ({ stores, runtime, domain }: Rooms): WorkPorts => ({
  memory: () => stores().memory,
  files: () => filesOf(stores().uploads),
  flows: () => agentFlows(runtime(), stores().definitions),
  domain,
});

const filesOf = (uploads: UploadStore): FileStore => ({
  async open(organizationId, fileId) {
    const record = uploads.find(fileId, organizationId);
    return record && { ...record, content: await uploads.content(record) };
  },
  async save(organizationId, about, content) {
    const { fileId, name, contentType, size } = await uploads.save(content, { organizationId, ...about }, Date.now());
    return { id: fileId, name, contentType, size };
  },
});

import { join } from 'node:path';
import type { Facts } from '../runtime/door.ts';
import { AuditLog } from './audit.ts';
import { DefinitionStore } from './definitions.ts';
import { EmailConnectionStore } from './email-connections.ts';
import { EnvironmentStore } from './environment.ts';
import { FlowFiles } from './flow-files.ts';
import { KeyStore } from './keys.ts';
import { MemoryStore } from './memory.ts';
import { OrganizationStore } from './organizations.ts';
import type { SecretBox } from './secret-box.ts';
import { UploadStore } from './uploads.ts';
import { Collections } from './views.ts';
import { WebhookStore } from './webhooks.ts';

/** Everything that is durable and not an instance. */
export interface Stores {
  readonly collections: Collections;
  readonly definitions: DefinitionStore;
  readonly keys: KeyStore;
  readonly organizations: OrganizationStore;
  readonly environment: EnvironmentStore;
  readonly uploads: UploadStore;
  readonly memory: MemoryStore;
  readonly webhooks: WebhookStore;
  readonly emailConnections: EmailConnectionStore;
  readonly audit: AuditLog;
  /** Writes what is still in memory: audit entries, key usage and the JSON views. */
  close(): Promise<void>;
}

export interface StoreOptions {
  readonly facts: Facts;
  /** Opens and seals secret environment values. */
  readonly box: SecretBox;
  readonly dataDir: string;
  /** Bytes of the largest upload. */
  readonly maxFileBytes: number;
  readonly log: { warn(fields: object, message: string): void };
}

/** Views of the facts, each collection with its own rules; files lie in the data folder. */
export function createStores({ facts, box, dataDir, maxFileBytes, log }: StoreOptions): Stores {
  const collections = new Collections(facts, dataDir, log);
  const keys = new KeyStore(collections);
  const audit = new AuditLog(join(dataDir, 'audit'), log);
  return {
    collections,
    definitions: new DefinitionStore(collections, new FlowFiles(join(dataDir, 'flows'))),
    keys,
    organizations: new OrganizationStore(collections),
    environment: new EnvironmentStore(collections, box),
    uploads: new UploadStore(collections, join(dataDir, 'files'), maxFileBytes),
    memory: new MemoryStore(collections),
    webhooks: new WebhookStore(collections, box),
    emailConnections: new EmailConnectionStore(collections, box),
    audit,
    async close() {
      await audit.close();
      await keys.close().catch(() => undefined);
      await collections.close();
    },
  };
}

import { join } from 'node:path';
import type { Runtime } from '../runtime/door.ts';
import type { Stores } from '../store/index.ts';
import { ActiveTriggers } from './active.ts';
import { ContentLog } from './content-log.ts';
import { DeliveryStore } from './deliveries.ts';
import { WebhookReceiver } from './webhook.ts';

/** What starts flows beside the API. */
export interface Triggers {
  readonly active: ActiveTriggers;
  readonly deliveries: DeliveryStore;
  readonly receiver: WebhookReceiver;
  close(): Promise<void>;
}

export interface TriggerOptions {
  readonly runtime: Runtime;
  readonly stores: Stores;
  readonly dataDir: string;
  readonly log: { warn(fields: object, message: string): void };
}

export async function openTriggers({ runtime, stores, dataDir, log }: TriggerOptions): Promise<Triggers> {
  const { collections, definitions, webhooks } = stores;
  const active = new ActiveTriggers(collections, definitions, log);
  const contents = await ContentLog.open(join(dataDir, 'deliveries'));
  const deliveries = new DeliveryStore(runtime.facts, contents, () => webhooks.list(undefined).map(({ id }) => id));
  await deliveries.sweep(Date.now(), true);
  return {
    active,
    deliveries,
    receiver: new WebhookReceiver({ runtime, webhooks, definitions, deliveries, active }),
    close: () => deliveries.close(),
  };
}

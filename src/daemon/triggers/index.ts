import { join } from 'node:path';
import type { Runtime } from '../runtime/door.ts';
import type { Stores } from '../store/index.ts';
import { ActiveTriggers } from './active.ts';
import type { Clock } from './clock.ts';
import { ContentLog } from './content-log.ts';
import { DeliveryStore } from './deliveries.ts';
import { Schedules } from './schedule.ts';
import type { ScheduleLog } from './schedule-runs.ts';
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
  readonly log: ScheduleLog;
  readonly clock?: Clock;
}

export async function openTriggers(options: TriggerOptions): Promise<Triggers> {
  const { runtime, stores, dataDir, log } = options;
  const { collections, definitions, webhooks } = stores;
  const active = new ActiveTriggers(collections, definitions, log);
  const contents = await ContentLog.open(join(dataDir, 'deliveries'));
  const deliveries = new DeliveryStore(runtime.facts, contents, () => webhooks.list(undefined).map(({ id }) => id));
  await deliveries.sweep(Date.now(), true);
  const schedules = new Schedules({ ...options, definitions, active });
  return {
    active,
    deliveries,
    receiver: new WebhookReceiver({ runtime, webhooks, definitions, deliveries, active }),
    async close() {
      schedules.close();
      await deliveries.close();
    },
  };
}

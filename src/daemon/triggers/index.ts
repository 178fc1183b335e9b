import { join } from 'node:path';
import type { Runtime } from '../runtime/door.ts';
import type { Stores } from '../store/index.ts';
import { ActiveTriggers } from './active.ts';
import { type Clock, SYSTEM_CLOCK } from './clock.ts';
import { ContentLog } from './content-log.ts';
import { DeliveryStore } from './deliveries.ts';
import { EmailTriggers } from './email/index.ts';
import { Schedules } from './schedule.ts';
import type { ScheduleLog } from './schedule-runs.ts';
import { WebhookReceiver } from './webhook.ts';

/** What starts flows beside the API. */
export interface Triggers {
  readonly active: ActiveTriggers;
  readonly deliveries: DeliveryStore;
  readonly receiver: WebhookReceiver;
  readonly emails: EmailTriggers;
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
  const { collections, definitions, webhooks, emailConnections: connections, uploads } = stores;
  const active = new ActiveTriggers(collections, definitions, log);
  const contents = await ContentLog.open(join(dataDir, 'deliveries'));
  const deliveries = new DeliveryStore(runtime.facts, contents, () => webhooks.list(undefined).map(({ id }) => id));
  await deliveries.sweep(Date.now(), true);
  const schedules = new Schedules({ ...options, definitions, active });
  const { clock = SYSTEM_CLOCK } = options;
  const emails = new EmailTriggers({ runtime, connections, uploads, active, clock, log });
  return {
    active,
    emails,
    deliveries,
    receiver: new WebhookReceiver({ runtime, webhooks, definitions, deliveries, active }),
    async close() {
      schedules.close();
      await emails.close();
      await deliveries.close();
    },
  };
}

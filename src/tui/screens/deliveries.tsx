import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '../../client/index.ts';
import type { Delivery, DeliverySummary, Webhook } from '../../contract/types.ts';
import type { App } from '../app.ts';
import type { Binding } from '../keys.ts';
import { ListScreen } from '../parts/list.tsx';
import type { Column } from '../parts/table.tsx';
import type { Page } from '../rows.ts';
import { moment } from '../times.ts';
import { verdictTone } from '../tones.ts';
import { DeliveryScreen } from './delivery.tsx';

/** What a webhook was sent, newest first, as it comes. */
export class DeliveriesScreen extends ListScreen<DeliverySummary> {
  readonly name = '';
  readonly title: string;
  protected readonly empty = 'Nothing was delivered yet. Try it: wfx webhook trigger --help';
  protected readonly columns: readonly Column<DeliverySummary>[] = [
    { title: 'RECEIVED', width: 11, text: ({ receivedAt }) => moment(Date.parse(receivedAt)) },
    { title: 'VERDICT', width: 13, text: ({ verdict }) => verdict, tone: ({ verdict }) => verdictTone(verdict) },
    { title: 'EVENT', width: 18, text: ({ eventType }) => eventType || '-' },
    { title: 'WHY', width: 0, text: whyOf, tone: () => 'dim' },
    {
      title: 'ENV',
      width: 4,
      from: 100,
      text: ({ environment }) => (environment ?? '').slice(0, 4),
      tone: () => 'dim',
    },
    { title: 'BYTES', width: 7, align: 'right', from: 70, text: ({ size }) => String(size) },
    { title: 'EVENT ID', width: 24, from: 120, text: ({ eventId }) => eventId || '-', tone: () => 'dim' },
  ];
  readonly #webhook: Webhook;
  #stop = new AbortController();

  constructor(app: App, webhook: Webhook) {
    super(app);
    this.#webhook = webhook;
    this.title = webhook.name;
  }

  override open(): void {
    super.open();
    this.#stop = new AbortController();
    void this.#follow(this.#stop.signal);
  }

  override close(): void {
    this.#stop.abort();
  }

  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const _ of this.app.client.deliveries(this.#webhook.id, { signal })) await this.rows.head();
      } catch (error) {
        if (signal.aborted || error instanceof ApiError) return;
      }
      await delay(1000, undefined, { signal }).catch(() => undefined);
    }
  }

  protected async page(cursor: string | undefined): Promise<Page<DeliverySummary>> {
    const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
    const { items, nextCursor } = await this.app.client.call('listDeliveries', {
      params: { webhookId: this.#webhook.id },
      query,
    });
    // Bodies are asked for when one is opened.
    return {
      items: items.map(({ headers: _headers, body: _body, bodyEncoding: _encoding, ...rest }: Delivery) => rest),
      nextCursor,
    };
  }
  protected idOf({ deliveryId }: DeliverySummary): string {
    return deliveryId;
  }
  protected words(delivery: DeliverySummary): string {
    return [delivery.verdict, delivery.eventType, delivery.eventId, delivery.reason, delivery.deliveryId].join(' ');
  }

  protected actions(): readonly Binding[] {
    return [
      {
        keys: ['enter'],
        does: 'open',
        run: () => this.current && this.app.open(new DeliveryScreen(this.app, this.current)),
      },
      { keys: ['p'], does: 'replay', changes: true, run: () => this.#replay() },
    ];
  }

  #replay(): void {
    const deliveries = this.chosen;
    if (deliveries.length === 0) return;
    const what = deliveries.length === 1 ? 'this delivery' : `${deliveries.length} deliveries`;
    this.app.confirm(`Send ${what} again? The flows that match are started again.`, 'replay', () => {
      this.unmark();
      void this.app
        .each(deliveries, 'Replayed', ({ webhookId, deliveryId }) =>
          this.app.client.call('replayDelivery', { params: { webhookId, deliveryId } }),
        )
        .then(() => this.rows.head());
    });
  }
}

function whyOf({ reason, processInstanceIds, replayOf }: DeliverySummary): string {
  const started =
    processInstanceIds.length === 0
      ? ''
      : `${processInstanceIds.length} run${processInstanceIds.length === 1 ? '' : 's'}`;
  return [started, reason ?? '', replayOf === null ? '' : '(a replay)'].filter((part) => part !== '').join(' ');
}

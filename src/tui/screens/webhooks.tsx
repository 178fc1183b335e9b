import type { Webhook } from '../../contract/types.ts';
import type { Binding } from '../keys.ts';
import { ListScreen } from '../parts/list.tsx';
import type { Column } from '../parts/table.tsx';
import type { Page } from '../rows.ts';
import { moment } from '../times.ts';
import { DeliveriesScreen } from './deliveries.tsx';

/** Webhook registrations, by name. */
export class WebhooksScreen extends ListScreen<Webhook> {
  readonly name = 'webhooks';
  readonly title = 'webhooks';
  protected readonly empty = 'No webhooks. Make one: wfx webhook create --help';
  protected readonly columns: readonly Column<Webhook>[] = [
    { title: 'NAME', width: 0, text: ({ name }) => name },
    { title: 'PROVIDER', width: 9, text: ({ provider }) => provider, tone: () => 'info' },
    {
      title: 'SIGNED',
      width: 6,
      text: ({ auth }) => (auth === 'NONE' ? 'no' : 'yes'),
      tone: ({ auth }) => (auth === 'NONE' ? 'warn' : 'ok'),
    },
    {
      title: 'ADDRESSES',
      width: 9,
      from: 90,
      text: ({ mode }) => (mode === 'SHARED' ? 'one' : 'dev, prod'),
      tone: () => 'dim',
    },
    { title: 'STARTS', width: 0, text: startsOf },
    { title: 'MADE', width: 11, from: 80, text: ({ createdAt }) => moment(Date.parse(createdAt)), tone: () => 'dim' },
  ];

  protected page(cursor: string | undefined): Promise<Page<Webhook>> {
    return this.app.client.call('listWebhooks', { query: { limit: 200, ...(cursor !== undefined && { cursor }) } });
  }
  protected idOf({ id }: Webhook): string {
    return id;
  }
  protected words(webhook: Webhook): string {
    return `${webhook.name} ${webhook.provider} ${webhook.id} ${startsOf(webhook)}`;
  }

  protected actions(): readonly Binding[] {
    return [
      {
        keys: ['enter'],
        does: 'deliveries',
        run: () => this.current && this.app.open(new DeliveriesScreen(this.app, this.current)),
      },
    ];
  }
}

const startsOf = ({ flows }: Webhook): string =>
  [...new Set(flows.map(({ name, eventType }) => (eventType === null ? name : `${name} on ${eventType}`)))].join(', ');

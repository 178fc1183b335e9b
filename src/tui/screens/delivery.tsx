import type { ReactNode } from 'react';
import { plain } from '../../client/index.ts';
import type { Delivery, DeliverySummary } from '../../contract/types.ts';
import { shownTime } from '../../terminal/shown.ts';
import type { App } from '../app.ts';
import type { Binding, Key } from '../keys.ts';
import { cell, lineOf, type Span } from '../line.ts';
import type { Screen, Size } from '../panel.ts';
import { Lines } from '../parts/lines.tsx';
import { ListPane, TextPane } from '../parts/list-pane.ts';
import { Panes } from '../parts/panes.ts';
import { verdictTone } from '../tones.ts';
import { openRun } from './run.tsx';

/** One delivery: what came, what was made of it, and the runs that it started. */
export class DeliveryScreen implements Screen {
  readonly name = '';
  readonly title: string;
  readonly #app: App;
  readonly #summary: DeliverySummary;
  readonly #panes: Panes;
  #delivery: Delivery | undefined;

  constructor(app: App, summary: DeliverySummary) {
    this.#app = app;
    this.#summary = summary;
    this.title = summary.eventType || 'delivery';
    const paint = () => app.settings.paint;
    const body = new TextPane('body', paint, () =>
      this.#delivery === undefined ? 'Loading …' : bodyText(this.#delivery),
    );
    const headers = new ListPane({
      name: 'headers',
      paint,
      rows: () => Object.entries(this.#delivery?.headers ?? {}),
      spans: ([name, value]): readonly Span[] => [
        { text: ` ${cell(name, 28)} `, tone: 'accent' },
        { text: plain(value, 500) },
      ],
      empty: 'No headers.',
    });
    const runs = new ListPane({
      name: 'runs',
      paint,
      rows: () => summary.processInstanceIds,
      spans: (id): readonly Span[] => [{ text: ` ${id}` }],
      empty: 'It started no run.',
      bindings: (id) =>
        id === undefined ? [] : [{ keys: ['enter'], does: 'open run', run: () => openRun(app, id, 'run') }],
    });
    this.#panes = new Panes([body], [headers, runs]);
  }

  open(): void {
    void this.#app.act(async () => {
      const { webhookId, deliveryId } = this.#summary;
      this.#delivery = await this.#app.client.call('getDelivery', { params: { webhookId, deliveryId } });
      return undefined;
    });
  }

  type(key: Key): boolean {
    return this.#panes.type(key);
  }

  bindings(): readonly Binding[] {
    return [...this.#panes.bindings(), { keys: ['p'], does: 'replay', changes: true, run: () => this.#replay() }];
  }

  #replay(): void {
    const { webhookId, deliveryId } = this.#summary;
    this.#app.confirm('Send this delivery again? The flows that match are started again.', 'replay', () => {
      void this.#app.act(async () => {
        const { verdict, processInstanceIds } = await this.#app.client.call('replayDelivery', {
          params: { webhookId, deliveryId },
        });
        return `Replayed it: ${verdict}, ${processInstanceIds.length} started.`;
      });
    });
  }

  view({ width, height }: Size): ReactNode {
    const { paint } = this.#app.settings;
    const { verdict, reason, receivedAt, environment, eventId, size, traceId } = this.#summary;
    const label = (text: string): Span => ({ text: `  ${text} `, tone: 'dim' });
    const head: readonly (readonly Span[])[] = [
      [{ text: ` ${verdict}`, tone: verdictTone(verdict) }, { text: `  ${plain(reason ?? '', 300)}` }],
      [
        label('received'),
        { text: shownTime(receivedAt) },
        ...(environment === null ? [] : [label('in'), { text: environment }]),
        label('bytes'),
        { text: String(size) },
      ],
      [label('event'), { text: plain(eventId ?? '-', 100) }, label('trace'), { text: plain(traceId, 100) }],
    ];
    const panes = this.#panes.lines(paint, { width, height: height - head.length });
    return <Lines lines={[...head.map((spans) => lineOf(paint, spans, width)), ...panes]} />;
  }
}

/** The body, indented where it is JSON. */
function bodyText({ body, bodyEncoding }: Delivery): string {
  if (body === null) return 'The body is no longer kept.';
  if (bodyEncoding === 'base64') return `Not text; in base64:\n${body}`;
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

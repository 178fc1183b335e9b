import type { ReactNode } from 'react';
import type { App } from '../app.ts';
import type { Binding } from '../keys.ts';
import { cell, lineOf, type Span } from '../line.ts';
import { labelOf, parseMetrics, Samples } from '../metrics.ts';
import type { Screen, Size } from '../panel.ts';
import { Lines } from '../parts/lines.tsx';
import { sparkline } from '../parts/sparkline.ts';
import { brief } from '../times.ts';

const EVERY_MS = 1000;

interface Gauge {
  readonly title: string;
  readonly name: string;
  /** Per second, of a counter. */
  readonly rate?: boolean;
  readonly shown?: (value: number) => string;
}
const bytesText = (bytes: number): string =>
  bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(0)} kB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
const whole = (value: number): string => Math.round(value).toLocaleString('en');
const perSecond = (value: number): string => `${value < 10 ? value.toFixed(1) : whole(value)}/s`;

const GROUPS: readonly (readonly [string, readonly Gauge[]])[] = [
  [
    'Throughput',
    [
      { title: 'node transitions', name: 'wfx_node_transitions_total', rate: true },
      { title: 'commands', name: 'wfx_commands_total', rate: true },
      { title: 'HTTP answers', name: 'wfx_http_requests_total', rate: true },
    ],
  ],
  [
    'Waiting',
    [
      { title: 'live instances', name: 'wfx_instances_live' },
      { title: 'commands queued', name: 'wfx_commands_queued' },
      { title: 'outside work', name: 'wfx_work' },
      { title: 'timers', name: 'wfx_timers' },
      { title: 'subscriptions', name: 'wfx_subscriptions' },
    ],
  ],
  [
    'Journal',
    [
      { title: 'group commits', name: 'wfx_journal_syncs_total', rate: true },
      { title: 'not durable yet', name: 'wfx_journal_pending' },
      { title: 'on disk', name: 'wfx_journal_bytes', shown: bytesText },
    ],
  ],
  [
    'Process',
    [
      { title: 'memory', name: 'process_resident_memory_bytes', shown: bytesText },
      { title: 'heap', name: 'nodejs_heap_used_bytes', shown: bytesText },
      { title: 'CPU', name: 'process_cpu_seconds_total', rate: true, shown: (value) => `${Math.round(value * 100)} %` },
      { title: 'open streams', name: 'wfx_http_streams' },
    ],
  ],
];

const samples = new WeakMap<App, Samples>();

/** How the daemon is, measured every second while somebody looks. */
export class HealthScreen implements Screen {
  readonly name = 'health';
  readonly title = 'health';
  readonly #app: App;
  readonly #samples: Samples;
  #timer: NodeJS.Timeout | undefined;
  #version = '';

  constructor(app: App) {
    this.#app = app;
    this.#samples = samples.get(app) ?? new Samples();
    samples.set(app, this.#samples);
  }

  open(): void {
    void this.#measure();
    this.#timer = setInterval(() => void this.#measure(), EVERY_MS);
  }
  close(): void {
    clearInterval(this.#timer);
  }

  async #measure(): Promise<void> {
    try {
      const text = await this.#app.client.call('metrics');
      this.#version = labelOf(text, 'wfx_info', 'version') ?? '';
      this.#samples.add(Date.now(), parseMetrics(text));
      this.#app.changed();
    } catch (error) {
      this.#app.fail(error);
    }
  }

  bindings(): readonly Binding[] {
    return [];
  }

  view({ width, height }: Size): ReactNode {
    const { paint } = this.#app.settings;
    const up = this.#samples.last?.get('process_uptime_seconds');
    const head: Span[] = [
      { text: ` wfx ${this.#version} `, tone: 'title' },
      { text: up === undefined ? 'measuring …' : `up ${brief(up * 1000)}, ${this.#app.place}`, tone: 'dim' },
    ];
    const apart = height >= 20;
    const lines = GROUPS.flatMap(([title, gauges]) => [
      ...(apart ? [[{ text: ` ${title}`, tone: 'accent' } satisfies Span]] : []),
      ...gauges.map((gauge) => this.#line(gauge, width)),
    ]);
    return <Lines lines={[head, ...lines].map((spans) => lineOf(paint, spans, width))} />;
  }

  #line({ title, name, rate = false, shown }: Gauge, width: number): readonly Span[] {
    const values = rate ? this.#samples.rates(name) : this.#samples.values(name);
    const value = values.at(-1);
    const text = value === undefined ? '-' : (shown ?? (rate ? perSecond : whole))(value);
    return [
      { text: `   ${cell(title, 18)}`, tone: 'dim' },
      { text: `${cell(text, 11, 'right')}  ` },
      { text: sparkline(values, Math.max(10, width - 36)), tone: 'info' },
    ];
  }
}

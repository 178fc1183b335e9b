import type { ReactNode } from 'react';
import { plain, plainLines } from '../../client/index.ts';
import type { FlowDefinition, FlowVersion } from '../../contract/types.ts';
import type { JsonObject } from '../../engine/json.ts';
import { shownTime } from '../../terminal/shown.ts';
import { activateForm, startForm } from '../actions.ts';
import type { App } from '../app.ts';
import type { Binding, Key } from '../keys.ts';
import { cell, lineOf, type Span } from '../line.ts';
import type { Screen, Size } from '../panel.ts';
import { GraphPane } from '../parts/graph-pane.ts';
import { Lines } from '../parts/lines.tsx';
import { ListPane, TextPane } from '../parts/list-pane.ts';
import { Panes } from '../parts/panes.ts';
import { openRun } from './run.tsx';
import { RunsScreen } from './runs.tsx';

interface Named {
  readonly processId: string;
  readonly name: string;
}

/** Asks for what a run starts with: the variables that the flow declares. Opens the run. */
export function openStart(app: App, processId: string): void {
  void app.act(async () => {
    const flow = await app.client.call('getFlow', { params: { processId } });
    const version = flow.activeVersion.PRODUCTION ?? flow.activeVersion.DEVELOPMENT;
    if (version === null)
      throw new Error(`${flow.name} has no active version: publish it, or activate one of its versions.`);
    const source =
      version === flow.version
        ? flow.source
        : (await app.client.call('getFlow', { params: { processId }, query: { versionNumber: version } })).source;
    app.show(startForm(app, flow, await variablesOf(source), (id) => openRun(app, id, flow.name)));
    return undefined;
  });
}

/** The variables that a flow file declares. Compiling is loaded when it is needed. */
async function variablesOf(source: string): Promise<JsonObject> {
  const { compile } = await import('../../engine/parse.ts');
  return compile(source).flow?.variables ?? {};
}

/** A flow: its versions, what starts it and when, and its source. */
export class FlowScreen implements Screen {
  readonly name = '';
  readonly title: string;
  readonly #app: App;
  readonly #id: string;
  readonly #panes: Panes;
  readonly #versions: ListPane<FlowVersion>;
  readonly #source: TextPane;
  readonly #graph: GraphPane;
  #flow: FlowDefinition | undefined;
  #items: readonly FlowVersion[] = [];
  /** The version whose source is shown; undefined: the newest. */
  #shown: string | undefined;

  constructor(app: App, { processId, name }: Named) {
    this.#app = app;
    this.#id = processId;
    this.title = name;
    const paint = () => app.settings.paint;
    this.#versions = new ListPane({
      name: 'versions',
      paint,
      rows: () => this.#items,
      spans: versionSpans,
      empty: 'No versions.',
      bindings: () => [
        { keys: ['enter'], does: 'source', run: () => this.#showVersion() },
        { keys: ['a'], does: 'activate', changes: true, run: () => this.#activate() },
      ],
    });
    this.#source = new TextPane('source', paint, () => this.#flow?.source ?? '');
    const triggers = new TextPane('triggers', paint, () => (this.#flow === undefined ? '' : triggerText(this.#flow)));
    this.#graph = new GraphPane(paint, () => undefined);
    this.#panes = new Panes([this.#versions], [this.#graph, this.#source, triggers]);
  }

  open(): void {
    void this.#load();
  }
  refresh(): void {
    void this.#load();
  }

  async #load(): Promise<void> {
    const params = { processId: this.#id };
    const query = this.#shown === undefined ? {} : { versionNumber: this.#shown };
    try {
      const [flow, versions] = await Promise.all([
        this.#app.client.call('getFlow', { params, query }),
        this.#app.client.call('listVersions', { params }),
      ]);
      this.#flow = flow;
      this.#items = versions.items;
      await this.#graph.draw(flow.source);
      this.#app.changed();
    } catch (error) {
      this.#app.fail(error);
    }
  }

  #showVersion(): void {
    this.#shown = this.#versions.chosen?.version;
    this.#panes.focus(this.#source);
    void this.#load();
  }

  #activate(): void {
    const version = this.#versions.chosen;
    if (version === undefined || this.#flow === undefined) return;
    this.#app.show(activateForm(this.#app, this.#flow, version.version, () => this.refresh()));
  }

  type(key: Key): boolean {
    return this.#panes.type(key);
  }

  bindings(): readonly Binding[] {
    return [
      ...this.#panes.bindings(),
      { keys: ['s'], does: 'start', changes: true, run: () => openStart(this.#app, this.#id) },
      {
        keys: ['r'],
        does: 'runs',
        run: () => this.#app.open(new RunsScreen(this.#app, { processId: this.#id, name: this.title })),
      },
    ];
  }

  view({ width, height }: Size): ReactNode {
    const { paint } = this.#app.settings;
    const head = summary(this.#flow).map((spans) => lineOf(paint, spans, width));
    const panes = this.#panes.lines(paint, { width, height: height - head.length });
    return <Lines lines={[...head, ...panes]} />;
  }
}

function summary(flow: FlowDefinition | undefined): readonly (readonly Span[])[] {
  if (flow === undefined) return [[{ text: ' Loading …', tone: 'dim' }]];
  const { PRODUCTION, DEVELOPMENT } = flow.activeVersion;
  const active = (name: string, version: string | null): readonly Span[] => [
    { text: `  ${name} `, tone: 'dim' },
    { text: version ?? 'not active', tone: version === null ? 'warn' : 'ok' },
  ];
  return [
    [
      { text: ` ${plain(flow.name)}`, tone: 'title' },
      { text: `  ${plain(flow.description ?? '', 300)}`, tone: 'dim' },
    ],
    [
      { text: ` ${flow.processId}`, tone: 'dim' },
      ...active('production', PRODUCTION),
      ...active('development', DEVELOPMENT),
      { text: '  shown ', tone: 'dim' },
      { text: flow.version },
    ],
  ];
}

const versionSpans = ({ version, publishedAt, activeIn, size }: FlowVersion): readonly Span[] => [
  { text: ` ${cell(version, 4, 'right')}  `, tone: 'title' },
  { text: `${shownTime(publishedAt)}  ` },
  { text: `${cell(`${size} B`, 9, 'right')}  `, tone: 'dim' },
  { text: activeIn.join(' '), tone: 'ok' },
];

/** What starts a flow, and when next. */
function triggerText({ triggers, schedules }: FlowDefinition): string {
  const lines = triggers.map((trigger) => {
    const { type, ...rest } = trigger;
    const told = Object.entries(rest).map(
      ([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
    return `${String(type)}  ${told.join(', ')}`;
  });
  for (const { cron, timezone, environment, next } of schedules) {
    lines.push(
      '',
      `${cron} ${timezone}: ${environment === null ? 'runs nowhere, no version is active' : `runs in ${environment}`}`,
    );
    if (environment !== null) lines.push(...next.map((at) => `  ${shownTime(at)}`));
  }
  return plainLines(lines.length === 0 ? 'Nothing but people and the API starts it.' : lines.join('\n'));
}

import type { ReactNode } from 'react';
import { plain } from '../../client/index.ts';
import type { Explanation, Instance, LogEntry } from '../../contract/types.ts';
import { clockTime, shownTime, shownValue } from '../../terminal/shown.ts';
import { retryForm } from '../actions.ts';
import type { App } from '../app.ts';
import type { Binding, Key } from '../keys.ts';
import { lineOf, type Span, wrapped } from '../line.ts';
import type { Screen, Size } from '../panel.ts';
import { GraphPane, type NodeState } from '../parts/graph-pane.ts';
import { Lines } from '../parts/lines.tsx';
import { Panes } from '../parts/panes.ts';
import { Family } from '../run/family.ts';
import { Log } from '../run/log.ts';
import { Past } from '../run/past.ts';
import { Timeline } from '../run/timeline.ts';
import { Variables } from '../run/variables.ts';
import { WatchedRun } from '../run/watched.ts';
import { Why } from '../run/why.ts';
import { brief } from '../times.ts';
import { stateText, stateTone } from '../tones.ts';

export function openRun(app: App, id: string, flow: string): void {
  app.open(new RunScreen(app, id, flow));
}

/** One run: what it did, what it knows, what it said, and where it came from; as it is, or step by step as it was. */
class RunScreen implements Screen {
  readonly name = '';
  readonly #flow: string;
  readonly #app: App;
  readonly #run: WatchedRun;
  readonly #past: Past;
  readonly #panes: Panes;
  readonly #timeline: Timeline;
  readonly #graph: GraphPane;
  readonly #why: Why;
  #drawn = '';
  #entries: { readonly of: number; readonly step: number; readonly entries: readonly LogEntry[] } | undefined;

  constructor(app: App, id: string, flow: string) {
    this.#app = app;
    this.#flow = flow;
    this.#run = new WatchedRun(app, id);
    this.#past = new Past(app, id);
    const paint = () => app.settings.paint;
    this.#timeline = new Timeline(
      paint,
      () => this.#shown?.nodes ?? [],
      () => this.#entry?.timestamp,
    );
    this.#graph = new GraphPane(
      paint,
      () => statesOf(this.#shown?.nodes ?? []),
      () => this.#entry?.nodeId ?? lastOf(this.#shown),
    );
    const variables = new Variables(paint, () => ({ now: this.#shown?.data, before: this.#past.before?.data }));
    const log = new Log(paint, () => this.#log());
    const family = new Family(
      paint,
      () => this.#run.instance,
      (other) => openRun(app, other, flow),
    );
    this.#why = new Why(paint, () => this.#explained());
    this.#panes = new Panes([this.#timeline, this.#graph], [log, variables, family, this.#why]);
  }

  /** A child may be of another flow than the run that it was reached from. */
  get title(): string {
    return `${this.#run.instance?.processName ?? this.#flow} …${this.#run.id.slice(-6)}`;
  }

  /** The run as it is shown: now, or in the past. */
  get #shown(): Instance | undefined {
    return this.#past.instance ?? this.#run.instance;
  }

  /** The entry of the log that is looked at in the past. */
  get #entry(): LogEntry | undefined {
    return this.#past.step === undefined ? undefined : this.#run.entries[this.#past.step - 1 - this.#run.dropped];
  }

  #log(): readonly LogEntry[] {
    const { step } = this.#past;
    const { entries, dropped } = this.#run;
    if (step === undefined) return entries;
    if (this.#entries?.step !== step || this.#entries.of !== entries.length)
      this.#entries = { of: entries.length, step, entries: entries.slice(0, Math.max(0, step - dropped)) };
    return this.#entries.entries;
  }

  /** Asked for when it is looked at for the first time. */
  #explained(): Explanation | undefined {
    this.#run.explain();
    return this.#run.explanation;
  }

  open(): void {
    this.#run.open();
  }
  close(): void {
    this.#run.close();
  }
  refresh(): void {
    this.#run.resume();
  }

  type(key: Key): boolean {
    return this.#panes.type(key);
  }

  bindings(): readonly Binding[] {
    return [
      ...this.#panes.bindings(),
      { keys: ['y'], does: 'why', run: () => this.#panes.focus(this.#why) },
      ...this.#actions(),
      ...this.#steps(),
    ];
  }

  #actions(): readonly Binding[] {
    const { instance } = this.#run;
    if (instance === undefined) return [];
    if (instance.stateCd === 0) return [{ keys: ['c'], does: 'cancel', changes: true, run: () => this.#cancel() }];
    return [{ keys: ['R'], does: 'retry', changes: true, run: () => this.#retry() }];
  }

  #steps(): readonly Binding[] {
    const past = this.#past.step !== undefined;
    return [
      { keys: ['['], does: 'step back', run: () => this.#step(-1) },
      ...(past ? [{ keys: [']'], does: 'step on', run: () => this.#step(1) }] : []),
      { keys: ['{'], does: 'to the beginning', quiet: true, run: () => this.#goTo(1 + this.#run.dropped) },
      ...(past ? [{ keys: ['}', 'escape'], does: 'to now', run: () => this.#goTo(undefined) }] : []),
    ];
  }

  #step(by: number): void {
    const last = this.#run.dropped + this.#run.entries.length;
    const from = this.#past.step ?? last + 1;
    const to = Math.max(1 + this.#run.dropped, from + by);
    this.#goTo(to > last ? undefined : to);
  }

  #goTo(step: number | undefined): void {
    if (this.#run.entries.length === 0) return;
    this.#past.go(step);
    this.#graph.follow();
    this.#timeline.follow();
  }

  /** From the node that is chosen in the timeline or the graph, or the one that failed. */
  #retry(): void {
    const { instance } = this.#run;
    if (instance === undefined) return;
    const { focused } = this.#panes;
    const chosen =
      focused === this.#timeline
        ? this.#timeline.chosen?.nodeId
        : focused === this.#graph
          ? this.#graph.chosen
          : undefined;
    const from = instance.nodes.some(({ nodeId }) => nodeId === chosen) ? chosen : undefined;
    this.#app.show(retryForm(this.#app, instance, from, (id) => openRun(this.#app, id, instance.processName)));
  }

  #cancel(): void {
    this.#app.confirm('Cancel this run, with everything that still runs in it?', 'cancel it', () => {
      void this.#app.act(async () => {
        await this.#app.client.call('cancelInstance', { params: { processInstanceId: this.#run.id } });
        return 'Cancelled.';
      });
    });
  }

  /** The graph of the version that runs, once that is known. */
  #draw({ processId, processVersion }: Instance): void {
    if (this.#drawn === processVersion) return;
    this.#drawn = processVersion;
    void this.#app.act(async () => {
      const { source } = await this.#app.client.call('getFlow', {
        params: { processId },
        query: { versionNumber: processVersion },
      });
      await this.#graph.draw(source);
      return undefined;
    });
  }

  view({ width, height }: Size): ReactNode {
    const { paint } = this.#app.settings;
    const shown = this.#shown;
    if (shown !== undefined) this.#draw(shown);
    const spans: readonly (readonly Span[])[] =
      shown === undefined ? [[{ text: ' Loading …', tone: 'dim' }]] : summary(shown, this.#entry?.timestamp, width);
    const head = [...spans.map((line) => lineOf(paint, line, width)), ...this.#pastLine(width)];
    const panes = this.#panes.lines(paint, { width, height: height - head.length });
    return <Lines lines={[...head, ...panes]} />;
  }

  #pastLine(width: number): readonly string[] {
    const entry = this.#entry;
    if (this.#past.step === undefined || entry === undefined) return [];
    const total = this.#run.dropped + this.#run.entries.length;
    const told = `step ${this.#past.step} of ${total}  ${clockTime(entry.timestamp)}  ${plain(entry.nodeName, 60)}: ${plain(entry.message, 300)}`;
    return [lineOf(this.#app.settings.paint, [{ text: ` ◀ ${told}`, tone: 'changed' }], width)];
  }
}

const lastOf = (instance: Instance | undefined): string | undefined =>
  instance?.error?.nodeId ?? instance?.nodes.at(-1)?.nodeId;

/** How each node stands, by its last time, and how often it ran. */
function statesOf(nodes: Instance['nodes']): ReadonlyMap<string, NodeState> {
  const states = new Map<string, NodeState>();
  for (const { nodeId, statusCd } of nodes)
    states.set(nodeId, { statusCd, times: (states.get(nodeId)?.times ?? 0) + 1 });
  return states;
}

const MOST_ERROR = 3;

/** What a run is, in two lines, and under them why it failed. */
function summary(run: Instance, moment: string | undefined, width: number): readonly (readonly Span[])[] {
  const end = run.endTime ?? moment ?? new Date().toISOString();
  const took = brief(Date.parse(end) - Date.parse(run.startTime));
  const label = (text: string): Span => ({ text: `  ${text} `, tone: 'dim' });
  const value = (text: string): Span => ({ text: plain(text, 200) });
  const first: Span[] = [
    { text: ` ${stateText(run.stateCd)} `, tone: stateTone(run.stateCd) },
    label(run.stateCd === 0 ? 'for' : 'took'),
    value(took),
    label('since'),
    value(shownTime(run.startTime)),
    ...(run.correlationKey === undefined ? [] : [label('key'), value(run.correlationKey)]),
  ];
  const second: Span[] = [
    { text: ` ${run.processInstanceId}`, tone: 'dim' },
    label('version'),
    value(run.processVersion),
    label('in'),
    value(run.environment),
    label('by'),
    value(shownValue(run.trigger['type'] ?? 'api')),
  ];
  if (run.error === undefined) return [first, second];
  const { code, message, nodeId } = run.error;
  const lines = wrapped(plain(`${code} at ${nodeId}: ${message}`, 1000), width - 2);
  const shown = lines.length <= MOST_ERROR ? lines : [...lines.slice(0, MOST_ERROR - 1), `${lines[MOST_ERROR - 1]} …`];
  return [first, second, ...shown.map((text): Span[] => [{ text: ` ${text}`, tone: 'bad' }])];
}

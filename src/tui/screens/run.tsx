import type { ReactNode } from 'react';
import { plain } from '../../client/index.ts';
import type { Instance } from '../../contract/types.ts';
import { shownTime, shownValue } from '../../terminal/shown.ts';
import { retryForm } from '../actions.ts';
import type { App } from '../app.ts';
import type { Binding, Key } from '../keys.ts';
import { lineOf, type Span } from '../line.ts';
import type { Screen, Size } from '../panel.ts';
import { Lines } from '../parts/lines.tsx';
import { Panes } from '../parts/panes.ts';
import { Family } from '../run/family.ts';
import { Log } from '../run/log.ts';
import { Timeline } from '../run/timeline.ts';
import { Variables } from '../run/variables.ts';
import { WatchedRun } from '../run/watched.ts';
import { brief } from '../times.ts';
import { stateText, stateTone } from '../tones.ts';

export function openRun(app: App, id: string, flow: string): void {
  app.open(new RunScreen(app, id, flow));
}

/** One run: what it did, what it knows, what it said, and where it came from. */
class RunScreen implements Screen {
  readonly name = '';
  readonly title: string;
  readonly #app: App;
  readonly #run: WatchedRun;
  readonly #panes: Panes;
  readonly #timeline: Timeline;

  constructor(app: App, id: string, flow: string) {
    this.#app = app;
    this.title = `${flow} …${id.slice(-6)}`;
    this.#run = new WatchedRun(app, id);
    const paint = () => app.settings.paint;
    this.#timeline = new Timeline(paint, () => this.#run.instance?.nodes ?? []);
    const variables = new Variables(paint, () => ({ now: this.#run.instance?.data, before: undefined }));
    const log = new Log(paint, () => this.#run.entries);
    const family = new Family(
      paint,
      () => this.#run.instance,
      (other) => openRun(app, other, flow),
    );
    this.#panes = new Panes([this.#timeline], [log, variables, family]);
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
    return [...this.#panes.bindings(), ...this.#actions()];
  }

  #actions(): readonly Binding[] {
    const { instance } = this.#run;
    if (instance === undefined) return [];
    if (instance.stateCd === 0) return [{ keys: ['c'], does: 'cancel', changes: true, run: () => this.#cancel() }];
    return [{ keys: ['R'], does: 'retry', changes: true, run: () => this.#retry() }];
  }

  /** From the node that is chosen in the timeline, or the one that failed. */
  #retry(): void {
    const { instance } = this.#run;
    if (instance === undefined) return;
    const from = this.#panes.focused === this.#timeline ? this.#timeline.chosen?.nodeId : undefined;
    this.#app.show(retryForm(this.#app, instance, from, (id) => openRun(this.#app, id, instance.processName)));
  }

  #cancel(): void {
    this.#app.confirm('Cancel this run, with everything that still runs in it?', 'cancel', () => {
      void this.#app.act(async () => {
        await this.#app.client.call('cancelInstance', { params: { processInstanceId: this.#run.id } });
        return 'Cancelled.';
      });
    });
  }

  view({ width, height }: Size): ReactNode {
    const { paint } = this.#app.settings;
    const { instance } = this.#run;
    const head =
      instance === undefined
        ? [lineOf(paint, [{ text: ' Loading …', tone: 'dim' }], width)]
        : summary(instance).map((spans) => lineOf(paint, spans, width));
    const panes = this.#panes.lines(paint, { width, height: height - head.length });
    return <Lines lines={[...head, ...panes]} />;
  }
}

/** What a run is, in two lines, and in a third why it failed. */
function summary(run: Instance): readonly (readonly Span[])[] {
  const took = brief((run.endTime === undefined ? Date.now() : Date.parse(run.endTime)) - Date.parse(run.startTime));
  const label = (text: string): Span => ({ text: `  ${text} `, tone: 'dim' });
  const value = (text: string): Span => ({ text: plain(text, 200) });
  const first: Span[] = [
    { text: ` ${stateText(run.stateCd)} `, tone: stateTone(run.stateCd) },
    label('took'),
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
  return [first, second, [{ text: plain(` ${code} at ${nodeId}: ${message}`, 500), tone: 'bad' }]];
}

import type { InstanceSummary, LifecycleEvent } from '../../contract/types.ts';
import type { App } from '../app.ts';
import type { Binding, Key } from '../keys.ts';
import { lineOf, type Span } from '../line.ts';
import { ListScreen } from '../parts/list.tsx';
import type { Column } from '../parts/table.tsx';
import type { Page } from '../rows.ts';
import { FILTER_HINT, parseRunFilter, type RunFilter } from '../run-filter.ts';
import { ago, brief, moment } from '../times.ts';
import { stateText, stateTone } from '../tones.ts';
import { openRun } from './run.tsx';

/** A run as the table needs it: 100,000 of them have to fit into memory. */
export interface RunRow {
  readonly id: string;
  readonly processId: string;
  readonly flow: string;
  readonly version: string;
  readonly environment: string;
  readonly stateCd: number;
  readonly start: number;
  /** 0 while it runs. */
  readonly end: number;
  readonly key: string;
  readonly trigger: string;
  readonly error: string;
}

const PAGE = 200;
/** Events are gathered for so long before the newest runs are asked for. */
const GATHER_MS = 150;

/** The same texts again and again (names, ids of flows) are kept once. */
class Texts {
  readonly #texts = new Map<string, string>();
  one(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size < 10_000) this.#texts.set(text, text);
    return text;
  }
}

/** The part of a filter that says which rows are fetched; the rest chooses among them. */
const fetchedBy = ({ state, environment, correlationKey, ageMs }: RunFilter): string =>
  JSON.stringify([state, environment, correlationKey, ageMs]);

/** Runs, newest first, as they come and go. */
export class RunsScreen extends ListScreen<RunRow> {
  readonly name = 'runs';
  readonly title: string;
  protected readonly empty = 'No runs yet. Start one from :flows, or with wfx run FILE.';
  protected readonly columns: readonly Column<RunRow>[] = [
    { title: 'STATE', width: 11, text: (row) => stateText(row.stateCd), tone: (row) => stateTone(row.stateCd) },
    { title: 'FLOW', width: 0, text: (row) => row.flow },
    { title: 'KEY', width: 12, wide: 24, from: 90, text: (row) => row.key },
    { title: 'STARTED', width: 11, text: (row) => moment(row.start) },
    { title: 'TOOK', width: 7, align: 'right', text: (row) => brief((row.end || Date.now()) - row.start) },
    { title: 'VER', width: 4, from: 84, align: 'right', text: (row) => row.version },
    { title: 'ENV', width: 4, from: 76, text: (row) => row.environment.slice(0, 4), tone: () => 'dim' },
    { title: 'BY', width: 9, from: 110, text: (row) => row.trigger, tone: () => 'dim' },
    { title: 'ERROR', width: 0, from: 120, text: (row) => row.error, tone: () => 'bad' },
    { title: 'ID', width: 13, text: (row) => `…${row.id.slice(-12)}`, tone: () => 'dim' },
  ];
  readonly #texts = new Texts();
  readonly #flow: { readonly processId: string; readonly name: string } | undefined;
  #filter: RunFilter = { words: [] };
  #asked = '';
  #stopListening: () => void = () => undefined;
  #gathering: NodeJS.Timeout | undefined;

  constructor(app: App, flow?: { readonly processId: string; readonly name: string }) {
    super(app);
    this.#flow = flow;
    this.title = flow === undefined ? 'runs' : `runs of ${flow.name}`;
  }

  override open(): void {
    super.open();
    this.#stopListening = this.app.live.listen((event) => this.#onEvent(event));
  }

  override close(): void {
    this.#stopListening();
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
  }

  override refresh(): void {
    void this.#head();
  }

  protected async page(cursor: string | undefined): Promise<Page<RunRow>> {
    const { state, environment, correlationKey, ageMs } = this.#filter;
    const query = {
      limit: PAGE,
      ...(cursor !== undefined && { cursor }),
      ...(state !== undefined && { state }),
      ...(environment !== undefined && { environment }),
      ...(correlationKey !== undefined && { correlationKey }),
    };
    const processId = this.#flow?.processId;
    const { items, nextCursor } =
      processId === undefined
        ? await this.app.client.call('listInstances', { query })
        : await this.app.client.call('listFlowInstances', { params: { processId }, query });
    const rows = items.map((item) => this.#rowOf(item));
    const tooOld = ageMs !== undefined && (rows.at(-1)?.start ?? Number.POSITIVE_INFINITY) < Date.now() - ageMs;
    return { items: rows, nextCursor: tooOld ? null : nextCursor };
  }

  #rowOf(run: InstanceSummary): RunRow {
    return {
      id: run.processInstanceId,
      processId: this.#texts.one(run.processId),
      flow: this.#texts.one(run.processName),
      version: this.#texts.one(run.processVersion),
      environment: this.#texts.one(run.environment),
      stateCd: run.stateCd,
      start: Date.parse(run.startTime),
      end: run.endTime === undefined ? 0 : Date.parse(run.endTime),
      key: run.correlationKey ?? '',
      trigger: this.#texts.one(String(run.trigger['type'] ?? '')),
      error: run.error === undefined ? '' : this.#texts.one(`${run.error.code}: ${run.error.message}`),
    };
  }

  protected idOf(row: RunRow): string {
    return row.id;
  }

  protected words(row: RunRow): string {
    return `${row.flow} ${row.key} ${row.id} ${row.error} ${row.trigger} ${row.environment}`;
  }

  #onEvent({ type, data }: LifecycleEvent): void {
    if (this.#flow !== undefined && data.processId !== this.#flow.processId) return;
    if (type === 'INSTANCE_ENDED') {
      const row = this.rows.find(data.processInstanceId);
      if (row !== undefined)
        this.rows.put({ ...row, stateCd: data.stateCd ?? row.stateCd, end: Date.parse(data.timestamp) });
      if (row === undefined || data.stateCd === 2) this.#gather();
    }
    if (type === 'INSTANCE_STARTED') this.#gather();
  }

  #gather(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      void this.#head();
    }, GATHER_MS);
  }

  async #head(): Promise<void> {
    try {
      if (!(await this.rows.head())) {
        this.rows.restart();
        await this.rows.need(PAGE);
      }
    } catch (error) {
      this.app.fail(error);
    }
  }

  override get filter() {
    return { ...super.filter, text: this.#asked, hint: FILTER_HINT };
  }

  protected override setFilter(text: string): void {
    const filter = parseRunFilter(text);
    if (typeof filter === 'string') return this.app.say(filter, 'bad');
    const other = fetchedBy(filter) !== fetchedBy(this.#filter);
    this.#asked = text;
    this.#filter = filter;
    this.unmark();
    if (other) this.rows.restart();
    this.rows.keep((row) => this.#passes(row));
    void this.rows.need(PAGE / 2);
  }

  #passes(row: RunRow): boolean {
    const { state, environment, flow, ageMs, words, correlationKey } = this.#filter;
    if (state !== undefined && row.stateCd !== state) return false;
    if (environment !== undefined && row.environment !== environment) return false;
    if (correlationKey !== undefined && row.key !== correlationKey) return false;
    if (ageMs !== undefined && row.start < Date.now() - ageMs) return false;
    if (flow !== undefined && !row.flow.toLowerCase().includes(flow) && !row.processId.startsWith(flow)) return false;
    const all = words.length === 0 ? '' : this.words(row).toLowerCase();
    return words.every((word) => all.includes(word));
  }

  protected override above(width: number): readonly string[] {
    const spans = this.app.settings.views.flatMap(({ name, filter }, i): readonly Span[] => [
      { text: ` ${i + 1} `, tone: 'accent' },
      { text: `${name} `, tone: filter === this.#asked ? 'title' : 'dim' },
    ]);
    return [lineOf(this.app.settings.paint, spans, width)];
  }

  override type(key: Key): boolean {
    const view = /^[1-9]$/.test(key.name) ? this.app.settings.views[Number(key.name) - 1] : undefined;
    if (view === undefined) return super.type(key);
    this.setFilter(view.filter);
    return true;
  }

  protected actions(): readonly Binding[] {
    return [
      {
        keys: ['enter'],
        does: 'open',
        run: () => this.current && openRun(this.app, this.current.id, this.current.flow),
      },
      { keys: ['c'], does: 'cancel', changes: true, quiet: this.#canCancel.length === 0, run: () => this.#cancel() },
      { keys: ['R'], does: 'retry', changes: true, quiet: this.#canRetry.length === 0, run: () => this.#retry() },
    ];
  }

  protected override others(): readonly Binding[] {
    return [{ keys: ['1', '…', '9'], does: 'choose a view', quiet: true, run: () => undefined }];
  }

  get #canRetry(): readonly RunRow[] {
    return this.chosen.filter(({ stateCd }) => stateCd === 2);
  }

  get #canCancel(): readonly RunRow[] {
    return this.chosen.filter(({ stateCd }) => stateCd === 0);
  }

  /** Those that failed go on where they did. */
  #retry(): void {
    const runs = this.#canRetry;
    const [first] = runs;
    if (first === undefined)
      return this.app.say(
        'Only failed runs are retried here. To go on from a node of another, open it and press R.',
        'warn',
      );
    const what = runs.length === 1 ? `the run of ${first.flow}` : `${runs.length} runs`;
    this.app.confirm(
      `Retry ${what} from where ${runs.length === 1 ? 'it failed, as a new run' : 'each failed, as new runs'}?`,
      'retry',
      () => {
        this.unmark();
        void this.app.each(runs, 'Retried', ({ id }) =>
          this.app.client.call('retryInstance', { params: { processInstanceId: id } }),
        );
      },
    );
  }

  #cancel(): void {
    const runs = this.#canCancel;
    const [first] = runs;
    if (first === undefined) return this.app.say('Nothing to cancel: only running runs can be cancelled.', 'warn');
    const what = runs.length === 1 ? `the run of ${first.flow} started ${ago(first.start)} ago` : `${runs.length} runs`;
    this.app.confirm(
      `Cancel ${what}, with everything that still runs in ${runs.length === 1 ? 'it' : 'them'}?`,
      `cancel ${runs.length === 1 ? 'it' : 'them'}`,
      () => {
        this.unmark();
        void this.app.each(runs, 'Cancelled', ({ id }) =>
          this.app.client.call('cancelInstance', { params: { processInstanceId: id } }),
        );
      },
    );
  }
}

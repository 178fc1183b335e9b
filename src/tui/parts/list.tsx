import type { ReactNode } from 'react';
import type { App } from '../app.ts';
import type { Binding, Key } from '../keys.ts';
import type { Screen, Size } from '../panel.ts';
import { MOST_ROWS, type Page, Rows } from '../rows.ts';
import { sentenceOf } from '../sentence.ts';
import { stepOf, Window } from '../window.ts';
import { Lines } from './lines.tsx';
import { type Column, Table } from './table.tsx';

/** Rows are fetched before the last one comes in sight. */
const AHEAD = 50;

/** A screen that is a table: it can be moved in, filtered, marked, and fetches what comes in sight. */
export abstract class ListScreen<Row extends object> implements Screen {
  abstract readonly name: string;
  abstract readonly title: string;
  protected abstract readonly columns: readonly Column<Row>[];
  protected abstract readonly empty: string;
  protected readonly app: App;
  protected readonly rows: Rows<Row>;
  protected readonly window = new Window();
  readonly #marks = new Set<string>();
  /** The row that the cursor was put on. */
  #chosen: string | undefined;
  /** Why the last page could not be fetched. */
  #problem: string | undefined;
  #text = '';
  #opened = false;

  constructor(app: App) {
    this.app = app;
    this.rows = new Rows<Row>({
      page: async (cursor) => {
        const page = await this.page(cursor);
        this.#problem = undefined;
        return page;
      },
      idOf: (row) => this.idOf(row),
      changed: () => app.changed(),
      failed: (error) => {
        this.#problem = sentenceOf(error);
        if (this.rows.fetched > 0) app.fail(error);
        app.changed();
      },
    });
  }

  protected abstract page(cursor: string | undefined): Promise<Page<Row>>;
  protected abstract idOf(row: Row): string;
  /** What a filter looks in. */
  protected abstract words(row: Row): string;
  /** Keys that do something to the chosen rows. */
  protected abstract actions(): readonly Binding[];
  /** Keys that need no row. */
  protected others(): readonly Binding[] {
    return [];
  }
  /** Lines above the table. */
  protected above(_width: number): readonly string[] {
    return [];
  }

  open(): void {
    if (this.#opened) void this.refresh();
    else void this.rows.need(AHEAD * 2);
    this.#opened = true;
  }

  close(): void {}

  refresh(): void {
    void this.rows.refetch();
  }

  get note(): string {
    const { shown, fetched, complete, loading } = this.rows;
    if (fetched === 0 && this.#problem !== undefined) return '';
    const more = complete ? (fetched >= MOST_ROWS ? ' (the newest)' : '') : '+';
    const marked = this.#marked.length;
    const marks = marked === 0 ? '' : `, ${marked} marked`;
    const of = shown.length === fetched ? '' : ` of ${fetched}`;
    return `${shown.length}${of}${more}${marks}${this.filter.text === '' ? '' : ` /${this.filter.text}`}${loading ? ' …' : ''}`;
  }

  get filter(): NonNullable<Screen['filter']> {
    return { text: this.#text, hint: 'words to look for', set: (text) => this.setFilter(text) };
  }

  protected setFilter(text: string): void {
    this.#text = text;
    this.unmark();
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.rows.keep((row) => {
      const all = this.words(row).toLowerCase();
      return words.every((word) => all.includes(word));
    });
    void this.rows.need(AHEAD * 2);
  }

  /** The row that the cursor is on. */
  protected get current(): Row | undefined {
    return this.rows.shown[this.window.at];
  }

  get #marked(): readonly Row[] {
    return this.#marks.size === 0 ? [] : this.rows.shown.filter((row) => this.#marks.has(this.idOf(row)));
  }

  /** The marked rows, or else the one that the cursor is on. */
  protected get chosen(): readonly Row[] {
    const marked = this.#marked;
    if (marked.length > 0) return marked;
    return this.current === undefined ? [] : [this.current];
  }

  protected unmark(): void {
    this.#marks.clear();
  }

  type(key: Key): boolean {
    const { shown } = this.rows;
    const step = stepOf(key.name, this.window, shown.length);
    if (step === undefined) return false;
    this.window.move(step, shown.length);
    this.#choose();
    if (key.name === 'G' || key.name === 'end') void this.#toEnd();
    else if (this.window.at + AHEAD > shown.length && !this.rows.complete)
      void this.rows.need(this.window.at + 2 * AHEAD);
    return true;
  }

  async #toEnd(): Promise<void> {
    const before = this.window.at;
    await this.rows.needAll();
    if (this.window.at !== before) return;
    this.window.at = Math.max(0, this.rows.shown.length - 1);
    this.#choose();
    this.app.changed();
  }

  #choose(): void {
    this.#chosen = this.current === undefined ? undefined : this.idOf(this.current);
  }

  bindings(): readonly Binding[] {
    if (this.current === undefined) return this.others();
    return [
      ...this.actions(),
      ...this.others(),
      { keys: [' '], does: 'mark', quiet: true, run: () => this.#mark() },
      { keys: ['*'], does: 'mark all, or none', quiet: true, run: () => this.#markAll() },
    ];
  }

  #mark(): void {
    if (this.current === undefined) return;
    const id = this.idOf(this.current);
    if (!this.#marks.delete(id)) this.#marks.add(id);
    this.window.move(1, this.rows.shown.length);
    this.#choose();
  }

  #markAll(): void {
    if (this.#marked.length > 0) return this.#marks.clear();
    for (const row of this.rows.shown) this.#marks.add(this.idOf(row));
  }

  /** The cursor stays on its row when others come or go before it, except at the top, where it shows what is newest. */
  #followRow(): void {
    const { shown } = this.rows;
    const { current } = this;
    if (this.window.at === 0 || this.#chosen === undefined) return;
    if (current !== undefined && this.idOf(current) === this.#chosen) return;
    const at = shown.findIndex((row) => this.idOf(row) === this.#chosen);
    if (at < 0) return this.#choose();
    this.window.top += at - this.window.at;
    this.window.at = at;
  }

  view({ width, height }: Size): ReactNode {
    const above = this.above(width);
    this.#followRow();
    const empty = this.rows.loading || !this.#opened ? 'Loading …' : this.emptyText;
    return (
      <>
        {above.length === 0 ? null : <Lines lines={above} />}
        <Table
          columns={this.columns}
          rows={this.rows.shown}
          window={this.window}
          marked={(row) => this.#marks.has(this.idOf(row))}
          width={width}
          height={height - above.length}
          paint={this.app.settings.paint}
          empty={empty}
        />
      </>
    );
  }

  protected get emptyText(): string {
    if (this.#problem !== undefined) return this.#problem;
    if (this.filter.text === '') return this.empty;
    const searched = this.rows.complete ? '' : ` among the newest ${this.rows.fetched}; ↓ searches on`;
    return `Nothing passes the filter${searched}. Esc clears it.`;
  }
}

import type { ReactElement } from 'react';
import { plain } from '../../client/index.ts';
import { cell, lineOf, type Span } from '../line.ts';
import type { Paint, Tone } from '../theme.ts';
import type { Window } from '../window.ts';
import { Lines, toHeight } from './lines.tsx';

export interface Column<Row> {
  readonly title: string;
  /** Columns of the terminal; 0 takes what the others leave. */
  readonly width: number;
  /** Columns of a terminal that has room. */
  readonly wide?: number;
  readonly text: (row: Row) => string;
  readonly tone?: (row: Row) => Tone | undefined;
  readonly align?: 'left' | 'right';
  /** Left out of tables that are narrower. */
  readonly from?: number;
}
export interface TableProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly window: Window;
  readonly marked?: (row: Row) => boolean;
  readonly width: number;
  readonly height: number;
  readonly paint: Paint;
  /** Said where there are no rows. */
  readonly empty: string;
}

/** Rows under titles, of which only those in sight are drawn, with the chosen one and the marked ones shown. */
export function Table<Row>(props: TableProps<Row>): ReactElement | null {
  return <Lines lines={tableLines(props)} />;
}

const GAP = 2;
/** From so many columns on there is room. */
const WIDE_FROM = 170;

export function tableLines<Row>(props: TableProps<Row>): readonly string[] {
  const { rows, window, width, height, paint, empty, marked = () => false } = props;
  const columns = laidOut(props.columns, width);
  const head = lineOf(paint, titles(columns), width);
  window.fit(rows.length, height - 1);
  if (rows.length === 0)
    return toHeight([head, '', lineOf(paint, [{ text: ` ${plain(empty)}`, tone: 'dim' }], width)], height);
  const shown = rows.slice(window.top, window.top + window.height).map((row, i) => {
    const chosen = window.top + i === window.at;
    return lineOf(paint, spansOf(columns, row, marked(row)), width, chosen ? 'selected' : undefined);
  });
  return toHeight([head, ...shown], height);
}

interface LaidOut<Row> extends Column<Row> {
  readonly columns: number;
}

function laidOut<Row>(columns: readonly Column<Row>[], width: number): readonly LaidOut<Row>[] {
  const shown = columns
    .filter(({ from = 0 }) => width >= from)
    .map((column) => ({ ...column, width: width < WIDE_FROM ? column.width : (column.wide ?? column.width) }));
  const fixed = shown.reduce((sum, column) => sum + column.width + GAP, 0);
  const growing = shown.filter((column) => column.width === 0).length;
  const each = Math.max(8, Math.floor((width - 1 - fixed + GAP) / Math.max(1, growing)));
  return shown.map((column) => ({ ...column, columns: column.width === 0 ? each : column.width }));
}

function titles<Row>(columns: readonly LaidOut<Row>[]): readonly Span[] {
  const text = columns.map(({ title, columns, align }) => cell(title, columns, align)).join(' '.repeat(GAP));
  return [{ text: ` ${text}`, tone: 'dim' }];
}

function spansOf<Row>(columns: readonly LaidOut<Row>[], row: Row, marked: boolean): readonly Span[] {
  const spans: Span[] = [{ text: marked ? '▌' : ' ', tone: 'marked' }];
  for (const [i, { text, tone, columns: width, align }] of columns.entries()) {
    if (i > 0) spans.push({ text: ' '.repeat(GAP) });
    spans.push({ text: cell(text(row), width, align), tone: tone?.(row) ?? (marked ? 'marked' : undefined) });
  }
  return spans;
}

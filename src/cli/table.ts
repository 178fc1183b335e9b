import { plain } from '../client/index.ts';
import { fitted, padded, widthOf } from '../terminal/width.ts';
import type { Io } from './io.ts';

export interface Column<Row> {
  readonly title: string;
  readonly text: (row: Row) => string;
  readonly style?: (row: Row) => Parameters<Io['paint']>[0] | undefined;
}

/** Rows under titles; on a terminal the last column is cut to fit, elsewhere nothing is. Says `empty` where there are none. */
export function printTable<Row>(io: Io, rows: readonly Row[], columns: readonly Column<Row>[], empty: string): void {
  if (rows.length === 0) {
    io.note(empty);
    return;
  }
  const cells = rows.map((row) => columns.map((column) => plain(column.text(row), 500)));
  const widths = columns.map(({ title }, i) => Math.max(title.length, ...cells.map((row) => widthOf(row[i] ?? ''))));
  io.print(
    io.paint(
      'bold',
      line(
        columns.map(({ title }) => title),
        widths,
        io.columns,
      ),
    ),
  );
  for (const [at, row] of rows.entries()) {
    const styled = (text: string, i: number): string => {
      const style = columns[i]?.style?.(row);
      return style === undefined ? text : io.paint(style, text);
    };
    io.print(line(cells[at] ?? [], widths, io.columns, styled));
  }
}

type Styled = (text: string, column: number) => string;

function line(
  cells: readonly string[],
  widths: readonly number[],
  columns = Number.POSITIVE_INFINITY,
  styled: Styled = (t) => t,
): string {
  const last = cells.length - 1;
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + 2, 0);
  const shown = cells.map((cell, i) => {
    if (i < last) return styled(padded(cell, widths[i] ?? 0), i);
    return styled(fitted(cell, Math.max(10, columns - before)), i);
  });
  return shown.join('  ').trimEnd();
}

/** `name  value` lines, the values under each other; what is undefined is left out. */
export function printFields(io: Io, fields: readonly (readonly [name: string, value: string | undefined])[]): void {
  const shown = fields.filter((field): field is readonly [string, string] => field[1] !== undefined);
  const width = Math.max(...shown.map(([name]) => name.length));
  for (const [name, value] of shown) io.print(`${io.paint('dim', name.padEnd(width))}  ${plain(value)}`);
}

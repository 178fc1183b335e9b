import { plain } from '../client/index.ts';
import type { HistoryStep } from '../contract/types.ts';
import { shownValue } from '../terminal/shown.ts';
import { fitted } from '../terminal/width.ts';
import { logLine } from './log-lines.ts';
import { firstItems } from './pages.ts';
import type { Wfx } from './wfx.ts';

/** Columns of a value that is shown in a step; `wfx instance show --at` shows it whole. */
const VALUE = 200;

/** Prints an instance's history, a step a line, with a line for each variable that it changed. */
export async function printHistory(wfx: Wfx, processInstanceId: string, limit: number): Promise<void> {
  const client = await wfx.client();
  const page = await firstItems<HistoryStep>(limit, (query) =>
    client.call('listHistory', { params: { processInstanceId }, query }),
  );
  const { io } = wfx;
  if (wfx.json) return io.json(page);
  const digits = String(page.items.at(-1)?.step ?? 0).length;
  for (const step of page.items) {
    io.print(`${String(step.step).padStart(digits)}  ${logLine(io.paint, step)}`);
    for (const change of step.changes) io.print(`${' '.repeat(digits + 12)}${shown(wfx, change)}`);
  }
  if (page.nextCursor !== null) io.note(`There are more; --limit shows more than ${limit}.`);
}

function shown({ io }: Wfx, { name, value, before, iteration, large }: HistoryStep['changes'][number]): string {
  const where = iteration === undefined ? '' : ` (iteration ${iteration + 1})`;
  const text = (of: HistoryStep['changes'][number]['value']): string =>
    of === undefined ? '(large)' : fitted(plain(shownValue(of), 1000), VALUE);
  const was = before === undefined ? '' : `${io.paint('dim', text(before))} → `;
  return `${io.paint('cyan', plain(name))}${where}: ${was}${large === true && value === undefined ? '(large)' : text(value)}`;
}

import type { Json, JsonObject } from '../../engine/json.ts';
import type { Binding, Key } from '../keys.ts';
import { inFull, lineOf } from '../line.ts';
import type { Size } from '../panel.ts';
import { toHeight } from '../parts/lines.tsx';
import type { Pane } from '../parts/pane.ts';
import { changedPaths, isCut, type TreeRow, treeLines, treeRows } from '../parts/tree.ts';
import type { Paint } from '../theme.ts';
import { stepOf, Window } from '../window.ts';

/** Variables now, and as they were before the last step; undefined until they are known. */
export interface Values {
  readonly now: JsonObject | undefined;
  readonly before: JsonObject | undefined;
}

const NONE: ReadonlySet<string> = new Set();

/** The variables of a run as a tree. */
export class Variables implements Pane {
  readonly name = 'variables';
  readonly #paint: () => Paint;
  readonly #values: () => Values;
  readonly #window = new Window();
  readonly #open = new Set<string>();
  #rows: { readonly of: Json; readonly open: number; readonly rows: readonly TreeRow[] } | undefined;
  #compared: { readonly now: Json; readonly before: Json; readonly changed: ReadonlySet<string> } | undefined;
  #turns = 0;

  constructor(paint: () => Paint, values: () => Values) {
    this.#paint = paint;
    this.#values = values;
  }

  bindings(): readonly Binding[] {
    return [
      { keys: ['enter', 'right', 'l'], does: 'open', run: () => this.#turn(true) },
      { keys: ['left', 'h'], does: 'close', quiet: true, run: () => this.#turn(false) },
    ];
  }

  type({ name }: Key): boolean {
    const { length } = this.#current();
    const step = stepOf(name, this.#window, length);
    if (step !== undefined) this.#window.move(step, length);
    return step !== undefined;
  }

  #turn(open: boolean): void {
    const row = this.#current()[this.#window.at];
    if (row === undefined) return;
    this.#turns += 1;
    if (open && row.branch && !row.open) this.#open.add(row.path);
    else if (row.open) this.#open.delete(row.path);
    else if (!open) this.#closeParent(row);
  }

  #closeParent({ path }: TreeRow): void {
    const parent = path.slice(0, path.lastIndexOf('/'));
    const at = this.#current().findIndex((row) => row.path === parent);
    if (at < 0) return;
    this.#open.delete(parent);
    this.#window.at = at;
  }

  #current(): readonly TreeRow[] {
    const { now } = this.#values();
    if (now === undefined) return [];
    if (this.#rows?.of !== now || this.#rows.open !== this.#turns)
      this.#rows = { of: now, open: this.#turns, rows: treeRows(now, this.#open) };
    return this.#rows.rows;
  }

  #changed(): ReadonlySet<string> {
    const { now, before } = this.#values();
    if (now === undefined || before === undefined) return NONE;
    if (this.#compared?.now !== now || this.#compared.before !== before)
      this.#compared = { now, before, changed: changedPaths(before, now) };
    return this.#compared.changed;
  }

  lines({ width, height }: Size, focused: boolean): readonly string[] {
    const rows = this.#current();
    const paint = this.#paint();
    if (rows.length === 0) return [lineOf(paint, [{ text: ' No variables.', tone: 'dim' }], width)];
    const chosen = rows[this.#window.at];
    const rest = focused && chosen !== undefined && isCut(chosen, width) ? String(chosen.value) : undefined;
    const below = rest === undefined ? [] : inFull(paint, rest, width, Math.max(2, Math.floor(height / 2) - 1));
    const room = height - below.length;
    const look = { rows, window: this.#window, changed: this.#changed(), width, height: room, focused, paint };
    return below.length === 0 ? treeLines(look) : [...toHeight(treeLines(look), room), ...below];
  }
}

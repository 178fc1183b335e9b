import { plain } from '../../client/index.ts';
import { isObject, type Json } from '../../engine/json.ts';
import { widthOf } from '../../terminal/width.ts';
import { lineOf, type Span } from '../line.ts';
import type { Paint } from '../theme.ts';
import type { Window } from '../window.ts';

/** One line of a JSON tree. */
export interface TreeRow {
  /** Names on the way to it, joined so that no two rows share one. */
  readonly path: string;
  readonly depth: number;
  readonly name: string;
  readonly value: Json;
  readonly branch: boolean;
  readonly open: boolean;
}

/** Children of one branch that are shown. */
const MOST_CHILDREN = 1000;

/** The rows of a tree, with the branches of `open` opened. */
export function treeRows(value: Json, open: ReadonlySet<string>): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  add(rows, '', 0, value, open);
  return rows;
}

function add(rows: TreeRow[], path: string, depth: number, value: Json, open: ReadonlySet<string>): void {
  const children = childrenOf(value);
  for (const [name, child] of children.slice(0, MOST_CHILDREN)) {
    const own = `${path}/${name}`;
    const branch = childrenOf(child).length > 0;
    const isOpen = branch && open.has(own);
    rows.push({ path: own, depth, name, value: child, branch, open: isOpen });
    if (isOpen) add(rows, own, depth + 1, child, open);
  }
  if (children.length > MOST_CHILDREN)
    rows.push({
      path: `${path}/…`,
      depth,
      name: `… ${children.length - MOST_CHILDREN} more`,
      value: '',
      branch: false,
      open: false,
    });
}

function childrenOf(value: Json): readonly (readonly [string, Json])[] {
  if (Array.isArray(value)) return value.map((item: Json, i) => [String(i), item] as const);
  return isObject(value) ? Object.entries(value) : [];
}

/** Paths of what is different between two values, with those of what holds it. */
export function changedPaths(before: Json, after: Json): ReadonlySet<string> {
  const changed = new Set<string>();
  compare(changed, '', before, after);
  return changed;
}

function compare(changed: Set<string>, path: string, before: Json | undefined, after: Json): boolean {
  if (before === after) return false;
  const children = childrenOf(after);
  let differs = children.length === 0 || before === undefined || childrenOf(before).length !== children.length;
  const old = new Map(before === undefined ? [] : childrenOf(before));
  for (const [name, child] of children) if (compare(changed, `${path}/${name}`, old.get(name), child)) differs = true;
  if (children.length === 0 && JSON.stringify(before) === JSON.stringify(after)) return false;
  if (differs) changed.add(path);
  return differs;
}

interface TreeProps {
  readonly rows: readonly TreeRow[];
  readonly window: Window;
  readonly changed: ReadonlySet<string>;
  readonly width: number;
  readonly height: number;
  readonly focused: boolean;
  readonly paint: Paint;
}

/** The rows in sight as lines. */
export function treeLines({ rows, window, changed, width, height, focused, paint }: TreeProps): readonly string[] {
  window.fit(rows.length, height);
  return rows.slice(window.top, window.top + height).map((row, i) => {
    const chosen = focused && window.top + i === window.at;
    return lineOf(paint, treeSpans(row, changed.has(row.path)), width, chosen ? 'selected' : undefined);
  });
}

/** Whether a text is longer than its line, or has several. */
export function isCut(row: TreeRow, width: number): boolean {
  if (typeof row.value !== 'string') return false;
  const shown = treeSpans(row, false).reduce((sum, { text }) => sum + widthOf(text), 0);
  return shown > width || row.value.includes('\n');
}

function treeSpans({ depth, name, value, branch, open }: TreeRow, changed: boolean): readonly Span[] {
  const sign = branch ? (open ? '▾ ' : '▸ ') : '  ';
  return [
    { text: `${changed ? '~' : ' '}${'  '.repeat(depth)}`, tone: 'changed' },
    { text: sign, tone: 'dim' },
    { text: plain(name, 200), tone: changed ? 'changed' : 'accent' },
    { text: ': ', tone: 'dim' },
    valueSpan(value, open),
  ];
}

function valueSpan(value: Json, open: boolean): Span {
  if (typeof value === 'string') return { text: plain(value, 500) };
  if (Array.isArray(value)) return { text: open ? `[${value.length}]` : preview(value), tone: 'dim' };
  if (isObject(value)) return { text: open ? '' : preview(value), tone: 'dim' };
  return { text: String(value), tone: 'info' };
}

const previews = new WeakMap<object, string>();

/** A large value is written out once, not at every redraw. */
function preview(value: object): string {
  const known = previews.get(value);
  if (known !== undefined) return known;
  const text = plain(JSON.stringify(value).slice(0, 300));
  previews.set(value, text);
  return text;
}

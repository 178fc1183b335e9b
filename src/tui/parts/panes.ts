import type { Binding, Key } from '../keys.ts';
import { lineOf, type Span } from '../line.ts';
import type { Size } from '../panel.ts';
import type { Paint } from '../theme.ts';
import { toHeight } from './lines.tsx';
import type { Pane } from './pane.ts';

/** From so many columns on two panes are shown beside each other. */
const TWO_FROM = 130;

/** Several panes that share a screen: one at a time, or where there is room one of each group beside the other. */
export class Panes {
  readonly #groups: readonly [readonly Pane[], readonly Pane[]];
  readonly #shown: [Pane, Pane];
  #focus: 0 | 1 = 0;
  /** Both groups were in sight when they were drawn last. */
  #beside = false;

  constructor(left: readonly [Pane, ...Pane[]], right: readonly [Pane, ...Pane[]]) {
    this.#groups = [left, right];
    this.#shown = [left[0], right[0]];
  }

  get all(): readonly Pane[] {
    return this.#groups.flat();
  }
  get focused(): Pane {
    return this.#shown[this.#focus];
  }

  focus(pane: Pane): void {
    this.#focus = this.#groups[0].includes(pane) ? 0 : 1;
    this.#shown[this.#focus] = pane;
  }

  type(key: Key): boolean {
    const chosen = /^[1-9]$/.test(key.name) ? this.all[Number(key.name) - 1] : undefined;
    if (chosen !== undefined) this.focus(chosen);
    return chosen !== undefined || this.focused.type(key);
  }

  bindings(): readonly Binding[] {
    return [
      ...this.focused.bindings(),
      ...this.#turns(),
      { keys: this.all.map((_, i) => String(i + 1)), does: 'choose a pane', quiet: true, run: () => undefined },
    ];
  }

  #turns(): readonly Binding[] {
    if (this.#beside) return [{ keys: ['tab', 'shift+tab'], does: 'other pane', run: () => this.#turnOver() }];
    return [
      { keys: ['tab'], does: 'next pane', run: () => this.#turn(1) },
      { keys: ['shift+tab'], does: 'pane before', quiet: true, run: () => this.#turn(-1) },
    ];
  }

  #turnOver(): void {
    this.#focus = this.#focus === 0 ? 1 : 0;
  }

  #turn(by: number): void {
    const { all } = this;
    this.focus(all[(all.indexOf(this.focused) + by + all.length) % all.length] as Pane);
  }

  lines(paint: Paint, size: Size): readonly string[] {
    const tabs = lineOf(paint, this.#tabs(), size.width);
    const height = size.height - 1;
    this.#beside = size.width >= TWO_FROM;
    if (!this.#beside) return [tabs, ...toHeight(this.focused.lines({ ...size, height }, true), height)];
    const [left, right] = this.#shown;
    const half = Math.floor((size.width - 1) / 2);
    const ends = [
      padded(left.lines({ width: half, height }, this.#focus === 0), half, height),
      padded(right.lines({ width: size.width - 1 - half, height }, this.#focus === 1), size.width - 1 - half, height),
    ] as const;
    const edge = paint('dim', '│');
    return [tabs, ...ends[0].map((line, i) => `${line}${edge}${ends[1][i] ?? ''}`)];
  }

  #tabs(): readonly Span[] {
    return this.all.flatMap((pane, i): readonly Span[] => {
      const tone = pane === this.focused ? 'title' : this.#shown.includes(pane) ? undefined : 'dim';
      return [
        { text: ` ${i + 1} `, tone: 'accent' },
        { text: `${pane.name} `, tone },
      ];
    });
  }
}

const padded = (lines: readonly string[], width: number, height: number): readonly string[] =>
  toHeight(lines, height).map((line) => (line === ' ' ? ' '.repeat(width) : line));

import type { Binding, Key } from '../keys.ts';
import type { Size } from '../panel.ts';

/** One of several views of the same thing, which share a screen. */
export interface Pane {
  readonly name: string;
  lines(size: Size, focused: boolean): readonly string[];
  type(key: Key): boolean;
  bindings(): readonly Binding[];
}

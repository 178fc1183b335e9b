import type { ReactNode } from 'react';
import type { Binding, Key } from './keys.ts';

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** What has a place on the screen and takes keys: a screen, or a dialog above one. */
export interface Panel {
  readonly title: string;
  /** What its keys do now. */
  bindings(): readonly Binding[];
  /** Gets every key before the bindings do; true when it took it. */
  type?(key: Key): boolean;
  view(size: Size): ReactNode;
  /** It is shown now, and what it shows is kept up to date until `close`. */
  open?(): void;
  close?(): void;
  /** What it shows may be old: the connection was lost. */
  refresh?(): void;
}

/** A panel that fills the screen. */
export interface Screen extends Panel {
  /** What `:` calls it; empty for those that are only reached from another. */
  readonly name: string;
  /** Said beside the title: how many, and of which kind. */
  readonly note?: string;
  /** Takes what was written after `/`; absent where there is nothing to filter. */
  filter?: { readonly text: string; readonly hint: string; set(text: string): void };
}

import type { ReactNode } from 'react';
import type { App } from '../app.ts';
import { type Binding, type Key, shownKey } from '../keys.ts';
import { cell } from '../line.ts';
import type { Panel, Size } from '../panel.ts';
import { inSight, MOVES, scroll, Window } from '../window.ts';
import { boxLines } from './box.ts';
import { Lines } from './lines.tsx';

const KEYS_WIDTH = 22;

/** Every key that does something where it was asked for, from the tables that the keys themselves go by. */
export class Help implements Panel {
  readonly title = 'help';
  readonly #app: App;
  readonly #here: readonly Binding[];
  readonly #everywhere: readonly Binding[];
  readonly #name: string;
  readonly #window = new Window();
  #length = 0;

  constructor(app: App) {
    this.#app = app;
    this.#name = app.panel.title;
    this.#here = app.panelBindings();
    this.#everywhere = app.globalBindings();
  }

  bindings(): readonly Binding[] {
    return [
      ...(this.#length > this.#window.height ? [{ keys: ['↓'], does: 'more', run: () => undefined }] : []),
      { keys: ['escape', 'q', '?', 'enter'], does: 'close', run: () => this.#app.dismiss() },
    ];
  }

  type({ name }: Key): boolean {
    return scroll(name, this.#window, this.#length);
  }

  view(size: Size): ReactNode {
    const { paint } = this.#app.settings;
    const inner = Math.min(70, size.width - 6);
    const section = (title: string, bindings: readonly (readonly [string, string])[]): readonly string[] => [
      paint('title', title),
      ...bindings.map(([keys, does]) => paint('accent', cell(keys, KEYS_WIDTH)) + cell(does, inner - KEYS_WIDTH)),
      '',
    ];
    const named = (bindings: readonly Pick<Binding, 'keys' | 'does'>[]) =>
      bindings.map(({ keys, does }) => [keys.map(shownKey).join(' '), does] as const);
    const all = [
      ...section(this.#name, named(this.#here)),
      ...section('Moving', named(MOVES)),
      ...section('Everywhere', named(this.#everywhere)).slice(0, -1),
    ];
    this.#length = all.length;
    const lines = inSight(all, this.#window, size.height - 2);
    const more = all.length - this.#window.top - lines.length;
    const foot = more > 0 ? `↓ ${more} more` : '';
    return <Lines lines={boxLines(paint, lines, { width: inner + 4, inside: size, title: 'Keys', foot })} />;
  }
}

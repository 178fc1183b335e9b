import type { Instance } from '../../contract/types.ts';
import type { Binding, Key } from '../keys.ts';
import { cell, lineOf } from '../line.ts';
import type { Size } from '../panel.ts';
import type { Pane } from '../parts/pane.ts';
import type { Paint } from '../theme.ts';
import { stepOf, Window } from '../window.ts';

interface Relation {
  readonly what: string;
  readonly id: string;
}

/** The runs that a run came from, and those that it started. */
export class Family implements Pane {
  readonly name = 'family';
  readonly #paint: () => Paint;
  readonly #instance: () => Instance | undefined;
  readonly #open: (id: string) => void;
  readonly #window = new Window();

  constructor(paint: () => Paint, instance: () => Instance | undefined, open: (id: string) => void) {
    this.#paint = paint;
    this.#instance = instance;
    this.#open = open;
  }

  #relations(): readonly Relation[] {
    const { parentInstanceId, retryOf, children = [] } = this.#instance() ?? {};
    return [
      ...(parentInstanceId === undefined ? [] : [{ what: 'parent', id: parentInstanceId }]),
      ...(retryOf === undefined ? [] : [{ what: 'retry of', id: retryOf }]),
      ...children.map((id) => ({ what: 'child', id })),
    ];
  }

  bindings(): readonly Binding[] {
    const relation = this.#relations()[this.#window.at];
    return relation === undefined
      ? []
      : [{ keys: ['enter'], does: `open ${relation.what}`, run: () => this.#open(relation.id) }];
  }

  type({ name }: Key): boolean {
    const { length } = this.#relations();
    const step = stepOf(name, this.#window, length);
    if (step !== undefined) this.#window.move(step, length);
    return step !== undefined;
  }

  lines({ width, height }: Size, focused: boolean): readonly string[] {
    const relations = this.#relations();
    const paint = this.#paint();
    if (relations.length === 0)
      return [lineOf(paint, [{ text: ' No parent, no children, no retry.', tone: 'dim' }], width)];
    this.#window.fit(relations.length, height);
    return relations.slice(this.#window.top, this.#window.top + height).map(({ what, id }, i) => {
      const chosen = focused && this.#window.top + i === this.#window.at;
      return lineOf(
        paint,
        [{ text: ` ${cell(what, 10)}`, tone: 'dim' }, { text: id }],
        width,
        chosen ? 'selected' : undefined,
      );
    });
  }
}

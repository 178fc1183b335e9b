import type { ReactNode } from 'react';
import type { App } from '../app.ts';
import type { Binding } from '../keys.ts';
import { wrapped } from '../line.ts';
import type { Panel, Size } from '../panel.ts';
import { boxLines } from './box.ts';
import { Lines } from './lines.tsx';

interface Question {
  readonly question: string;
  /** What `y` does: `cancel 3 runs`. */
  readonly does: string;
  readonly run: () => void;
  readonly leave: () => void;
}

/** Asks before what can't be taken back. Only `y` does it. */
export class Confirm implements Panel {
  readonly title = 'sure?';
  readonly #app: App;
  readonly #question: Question;

  constructor(app: App, question: Question) {
    this.#app = app;
    this.#question = question;
  }

  bindings(): readonly Binding[] {
    return [
      {
        keys: ['y'],
        does: this.#question.does,
        run: () => {
          this.#app.dismiss();
          this.#question.run();
        },
      },
      { keys: ['n', 'escape', 'enter', 'q'], does: 'leave it', run: () => this.#question.leave() },
    ];
  }

  view(size: Size): ReactNode {
    const { paint } = this.#app.settings;
    const inner = Math.min(64, size.width - 6);
    const { question, does } = this.#question;
    const lines = [
      '',
      ...wrapped(question, inner),
      '',
      `${paint('warn', 'y')} ${does}    ${paint('accent', 'n')} leave it`,
      '',
    ];
    return <Lines lines={boxLines(paint, lines, { width: inner + 4, inside: size })} />;
  }
}

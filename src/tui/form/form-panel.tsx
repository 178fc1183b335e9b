import type { ReactNode } from 'react';
import { ApiError, plain } from '../../client/index.ts';
import type { Json } from '../../engine/json.ts';
import type { App } from '../app.ts';
import type { Binding, Key } from '../keys.ts';
import { lineOf, type Span, wrapped } from '../line.ts';
import type { Panel, Size } from '../panel.ts';
import { Lines, toHeight } from '../parts/lines.tsx';
import { sentenceOf } from '../sentence.ts';
import type { Tone } from '../theme.ts';
import type { Control } from './control.ts';

export type Values = Readonly<Record<string, Json>>;

export interface FormOptions {
  readonly title: string;
  /** Said under the title. */
  readonly lead?: string;
  readonly controls: readonly Control[];
  /** What submitting is called: `complete`. */
  readonly does: string;
  /** Gets the answers that were given. What it throws is shown at the fields that it is about, and the form stays. */
  readonly submit: (values: Values) => Promise<string | undefined>;
  /** Keys beside those that every form has. */
  readonly more?: readonly Binding[];
}

/** Questions under each other, answered with keys, and submitted together. */
export class FormPanel implements Panel {
  readonly title: string;
  readonly #app: App;
  readonly #options: FormOptions;
  #at = 0;
  #errors: ReadonlyMap<string, string> = new Map();
  #problem = '';
  #sending = false;

  constructor(app: App, options: FormOptions) {
    this.#app = app;
    this.#options = options;
    this.title = options.does;
  }

  get #controls(): readonly Control[] {
    return this.#options.controls;
  }

  bindings(): readonly Binding[] {
    return [
      { keys: ['ctrl+s'], does: this.#options.does, run: () => void this.#submit() },
      { keys: ['escape'], does: 'leave', run: () => this.#app.dismiss() },
      { keys: ['tab', 'down'], does: 'next', run: () => this.#move(1) },
      { keys: ['shift+tab', 'up'], does: 'before', run: () => this.#move(-1) },
      { keys: ['enter'], does: this.#atLast ? this.#options.does : 'next', quiet: true, run: () => this.#enter() },
      ...(this.#options.more ?? []),
    ];
  }

  get #atLast(): boolean {
    return this.#at >= this.#controls.length - 1;
  }

  type(key: Key): boolean {
    return this.#controls[this.#at]?.type(key) === true;
  }

  #move(by: number): void {
    const { length } = this.#controls;
    if (length > 0) this.#at = (this.#at + by + length) % length;
  }

  #enter(): void {
    if (this.#atLast) void this.#submit();
    else this.#move(1);
  }

  async #submit(): Promise<void> {
    if (this.#sending) return;
    this.#sending = true;
    this.#errors = new Map();
    this.#problem = '';
    this.#app.changed();
    try {
      const values = await this.#values();
      const said = await this.#options.submit(values);
      this.#app.dismiss();
      if (said !== undefined) this.#app.say(said);
    } catch (error) {
      this.#refused(error);
    } finally {
      this.#sending = false;
      this.#app.changed();
    }
  }

  async #values(): Promise<Values> {
    const values: Record<string, Json> = Object.create(null);
    for (const control of this.#controls) {
      try {
        const value = await control.value();
        if (value !== undefined) values[control.name] = value;
      } catch (error) {
        throw new FieldError(control.name, sentenceOf(error));
      }
    }
    return values;
  }

  /** Puts what is wrong where it is: the daemon names fields as `data.formData.amount`. */
  #refused(error: unknown): void {
    const details =
      error instanceof FieldError
        ? [{ path: error.field, message: error.message }]
        : error instanceof ApiError
          ? error.details
          : [];
    const known = new Set(this.#controls.map(({ name }) => name));
    const placed = details.map(({ path, message }) => ({ name: path.replace(/^data\.(formData\.)?/, ''), message }));
    this.#errors = new Map(
      placed.filter(({ name }) => known.has(name)).map(({ name, message }) => [name, unnamed(name, message)]),
    );
    if (this.#errors.size === 0) this.#problem = sentenceOf(error);
    const first = this.#controls.findIndex(({ name }) => this.#errors.has(name));
    if (first >= 0) this.#at = first;
  }

  view({ width, height }: Size): ReactNode {
    const { paint } = this.#app.settings;
    const inner = Math.min(width - 4, 100);
    const head = this.#head(inner, Math.max(1, Math.floor(height / 3)));
    const body: string[] = [];
    const starts: number[] = [];
    for (const [i, control] of this.#controls.entries()) {
      starts.push(body.length);
      body.push(...this.#block(control, i === this.#at, inner), '');
    }
    if (this.#controls.length === 0)
      for (const line of wrapped(`There is nothing to fill in: ^s does “${this.#options.does}”.`, inner))
        body.push(paint('dim', line));
    const fits = body.length - 1 <= height - head.length;
    // Where not all is in sight, the last line says how much is below.
    const room = Math.max(1, height - head.length - (fits ? 0 : 1));
    const end = (starts[this.#at + 1] ?? body.length) - 1;
    const top = starts.find((start, i) => i === this.#at || end - start <= room) ?? 0;
    const below = starts.filter((start) => start >= top + room).length;
    const lines = [...head, ...body.slice(top, top + room)].map((line) => `  ${line}`);
    const more = below === 0 ? [] : [paint('dim', `  ↓ ${below} more`)];
    return <Lines lines={[...toHeight(lines, height - more.length), ...more]} />;
  }

  #head(width: number, most: number): readonly string[] {
    const { paint } = this.#app.settings;
    const { title, lead } = this.#options;
    const lines = (text: string, tone: Tone): readonly string[] => {
      const all = wrapped(plain(text, 1000), width);
      return (all.length <= most ? all : [...all.slice(0, most - 1), '…']).map((line) => paint(tone, line));
    };
    const state = this.#sending
      ? [paint('info', 'Sending …')]
      : this.#problem === ''
        ? []
        : lines(this.#problem, 'bad');
    return [
      '',
      ...lines(title, 'title'),
      ...(lead === undefined ? [] : [lineOf(paint, [{ text: plain(lead, 500), tone: 'dim' }], width)]),
      ...state,
      '',
    ];
  }

  #block(control: Control, focused: boolean, width: number): readonly string[] {
    const { paint } = this.#app.settings;
    const error = this.#errors.get(control.name);
    const tone = focused ? 'accent' : 'title';
    const label = wrapped(plain(control.label, 500), width - 2);
    const end: Span[] = [
      { text: label.at(-1) ?? '', tone },
      { text: control.required ? ' *' : '', tone: 'warn' },
      { text: focused && control.hint !== '' ? `  ${control.hint}` : '', tone: 'dim' },
    ];
    const wrong =
      error === undefined ? [] : wrapped(plain(error, 500), width - 2).map((line) => paint('bad', `✗ ${line}`));
    return [
      ...label.slice(0, -1).map((line) => paint(tone, line)),
      lineOf(paint, end, width),
      ...control.lines({ paint, width, focused }),
      ...wrong,
    ];
  }
}

/** The field stands above what is wrong with it. */
const unnamed = (name: string, message: string): string =>
  message.startsWith(`${name} `) ? message.slice(name.length + 1) : message;

/** What a field says against its own text, before anything is sent. */
class FieldError extends Error {
  readonly field: string;
  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

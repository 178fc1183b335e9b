import { plain } from '../../client/index.ts';
import type { Option } from '../../engine/form.ts';
import type { Json } from '../../engine/json.ts';
import type { Key } from '../keys.ts';
import { lineOf } from '../line.ts';
import { Window } from '../window.ts';
import type { Control, Look } from './control.ts';

interface ChoiceOptions {
  readonly name: string;
  readonly label: string;
  readonly required?: boolean;
  readonly options: readonly Option[];
  readonly chosen?: readonly Json[];
  /** Any number of them, or just one. */
  readonly many?: boolean;
}

const MOST_OPTIONS = 8;

/** One of several options, or any of them. Typing looks for an option. */
export class ChoiceControl implements Control {
  readonly name: string;
  readonly label: string;
  readonly required: boolean;
  readonly #options: readonly Option[];
  readonly #many: boolean;
  #chosen: ReadonlySet<Json>;
  readonly #window = new Window();
  #sought = '';

  constructor({ name, label, required = false, options, chosen = [], many = false }: ChoiceOptions) {
    this.name = name;
    this.label = label;
    this.required = required;
    this.#options = options;
    this.#many = many;
    this.#chosen = new Set(options.filter(({ value }) => chosen.includes(value)).map(({ value }) => value));
    const first = options.findIndex(({ value }) => this.#chosen.has(value));
    this.#window.at = many ? 0 : Math.max(0, first);
  }

  get hint(): string {
    const sought = this.#sought === '' ? '' : `“${plain(this.#sought, 40)}”  `;
    return `${sought}${this.#many ? '↑↓ move, space ticks' : '↑↓ choose'}, letters find`;
  }

  type({ name, text }: Key): boolean {
    const seeks = !this.#many && this.#sought !== '' && this.#find(this.#sought + text) >= 0;
    if (name === ' ' && !seeks) return this.#tick();
    if (name === 'enter' && !this.#many) this.#choose();
    if (text !== '') return this.#seek(this.#sought + text);
    if (name === 'backspace') return this.#seek(this.#sought.slice(0, -1));
    if (name !== 'up' && name !== 'down') return false;
    this.#sought = '';
    const before = this.#window.at;
    this.#window.move(name === 'up' ? -1 : 1, this.#options.length);
    if (this.#window.at === before) return false;
    if (!this.#many) this.#choose();
    return true;
  }

  #choose(): void {
    const option = this.#options[this.#window.at];
    if (option !== undefined) this.#chosen = new Set([option.value]);
  }

  #tick(): boolean {
    const option = this.#options[this.#window.at];
    if (option === undefined) return true;
    const others = this.#many ? [...this.#chosen].filter((value) => value !== option.value) : [];
    this.#chosen = new Set(this.#chosen.has(option.value) ? others : [...others, option.value]);
    return true;
  }

  /** The first option that begins with a text, or else has it in it; -1 where none does. */
  #find(text: string): number {
    const sought = text.toLowerCase();
    const labels = this.#options.map(({ label }) => label.toLowerCase());
    const begins = labels.findIndex((label) => label.startsWith(sought));
    return begins >= 0 ? begins : labels.findIndex((label) => label.includes(sought));
  }

  #seek(text: string): boolean {
    const at = this.#find(text);
    if (at < 0) return true;
    this.#sought = text;
    this.#window.at = at;
    if (!this.#many) this.#choose();
    return true;
  }

  value(): Json | undefined {
    const chosen = this.#options.map(({ value }) => value).filter((value) => this.#chosen.has(value));
    return this.#many ? chosen : chosen[0];
  }

  lines({ paint, width, focused }: Look): readonly string[] {
    this.#window.fit(this.#options.length, Math.min(MOST_OPTIONS, this.#options.length));
    const { top, height, at } = this.#window;
    const shown = this.#options.slice(top, top + height).map(({ value, label }, i) => {
      const chosen = this.#chosen.has(value);
      const sign = this.#many ? (chosen ? '[x]' : '[ ]') : chosen ? '(•)' : '( )';
      const under = focused && top + i === at ? 'selected' : undefined;
      return lineOf(
        paint,
        [{ text: ` ${sign} `, tone: chosen ? 'ok' : 'dim' }, { text: plain(label, 200) }],
        width,
        under,
      );
    });
    const hidden = this.#options.length - height;
    return hidden <= 0 ? shown : [...shown, paint('dim', ` ${at + 1} of ${this.#options.length}`)];
  }
}

/** A single box, ticked or not. */
export class TickControl implements Control {
  readonly name: string;
  readonly label: string;
  readonly required: boolean;
  readonly hint = 'space ticks';
  #ticked: boolean;

  constructor({ name, label, required, ticked }: { name: string; label: string; required: boolean; ticked: boolean }) {
    this.name = name;
    this.label = label;
    this.required = required;
    this.#ticked = ticked;
  }

  type({ name }: Key): boolean {
    if (name === ' ') this.#ticked = !this.#ticked;
    return name === ' ';
  }

  value(): Json {
    return this.#ticked;
  }

  lines({ paint, width, focused }: Look): readonly string[] {
    const sign = { text: this.#ticked ? ' [x] ' : ' [ ] ', tone: this.#ticked ? 'ok' : 'dim' } as const;
    return [lineOf(paint, [sign, { text: this.#ticked ? 'yes' : 'no' }], width, focused ? 'selected' : undefined)];
  }
}

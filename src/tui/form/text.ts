import type { Json } from '../../engine/json.ts';
import { typedValue } from '../../terminal/typed.ts';
import type { Key } from '../keys.ts';
import { TextField } from '../text-field.ts';
import type { Control, Look } from './control.ts';

interface TextOptions {
  readonly name: string;
  readonly label: string;
  readonly required?: boolean;
  readonly text?: string;
  readonly lines?: boolean;
  readonly hint?: string;
  /** The text as a value. */
  readonly read?: (text: string) => Json | undefined;
}

const MOST_LINES = 8;

/** Text on one line, or on several. */
export class TextControl implements Control {
  readonly name: string;
  readonly label: string;
  readonly required: boolean;
  readonly hint: string;
  readonly #field: TextField;
  readonly #lines: boolean;
  readonly #read: (text: string) => Json | undefined;

  constructor({ name, label, required = false, text = '', lines = false, hint, read = (given) => given }: TextOptions) {
    this.name = name;
    this.label = label;
    this.required = required;
    this.hint = hint ?? (lines ? '⏎ begins a new line' : '');
    this.#field = new TextField(text, { lines });
    this.#lines = lines;
    this.#read = read;
  }

  type(key: Key): boolean {
    return this.#field.type(key);
  }

  value(): Json | undefined {
    return this.#read(this.#field.text);
  }

  lines({ paint, width, focused }: Look): readonly string[] {
    const height = this.#lines ? MOST_LINES : 1;
    return this.#field.view(paint, width - 2, height, focused).map((line) => `${paint('dim', '│')} ${line}`);
  }
}

/** What a number's text means; the daemon says what is wrong with others. */
export const numberOf = (text: string): Json | undefined =>
  text.trim() === '' ? undefined : /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(text) ? Number(text) : text;

/**
 * A variable to edit: undefined while it is as it was. A text stays a text; anything else is read as JSON where it can be.
 */
export function variableControl(name: string, before: Json, label = name): TextControl {
  const nested = typeof before === 'object' && before !== null;
  const text = typeof before === 'string' ? before : JSON.stringify(before, null, nested ? 2 : 0);
  return new TextControl({
    name,
    label,
    text,
    lines: nested || text.includes('\n'),
    hint: nested ? 'JSON' : '',
    read: (given) => {
      if (given === text) return undefined;
      if (typeof before === 'string') return given;
      const value = typedValue(given.trim());
      if (nested && typeof value === 'string') throw new Error(`is no JSON`);
      return value;
    },
  });
}

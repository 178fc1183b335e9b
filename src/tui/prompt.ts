import type { Key } from './keys.ts';
import { TextField } from './text-field.ts';

interface PromptOptions {
  /** What stands before the text: `:` or `/`. */
  readonly sign: string;
  readonly hint: string;
  readonly text: string;
  /** Words that what was written may become. */
  readonly words: (text: string) => readonly string[];
  /** With the text, or undefined when it was given up. */
  readonly done: (text: string | undefined) => void;
}

/** One line at the foot of the screen, with completion. */
export class Prompt {
  readonly #options: PromptOptions;
  readonly field: TextField;

  constructor(options: PromptOptions) {
    this.#options = options;
    this.field = new TextField(options.text);
  }

  get sign(): string {
    return this.#options.sign;
  }
  get hint(): string {
    return this.field.text === '' ? this.#options.hint : this.rest;
  }

  /** What completion would add to the text. */
  get rest(): string {
    const [word] = this.field.text === '' || !this.field.atEnd ? [] : this.#options.words(this.field.text);
    return word?.slice(this.field.text.length) ?? '';
  }

  key(key: Key): void {
    if (key.name === 'escape' || (key.name === 'backspace' && this.field.text === ''))
      return this.#options.done(undefined);
    if (key.name === 'enter') return this.#options.done(this.field.text + this.rest);
    if (key.name === 'tab' || (key.name === 'right' && this.field.atEnd))
      return this.field.set(this.field.text + this.rest);
    this.field.type(key);
  }
}

import type { Key as InkKey } from 'ink';

/** One key as it was pressed. */
export interface Key {
  /** `up`, `enter`, `ctrl+d`, `shift+tab`, or the character itself. */
  readonly name: string;
  /** What it types; empty for keys that type nothing. */
  readonly text: string;
}

/** A key, or several that do the same: the footer, the help and what happens all come from here. */
export interface Binding {
  readonly keys: readonly string[];
  /** What it does, as the footer says it: `cancel`. */
  readonly does: string;
  /** Left out of the footer; the help has all. */
  readonly quiet?: boolean;
  /** Changes something: gone with --read-only. */
  readonly changes?: boolean;
  readonly run: () => void;
}

const NAMED: readonly (readonly [keyof InkKey, string])[] = [
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['leftArrow', 'left'],
  ['rightArrow', 'right'],
  ['pageUp', 'pageup'],
  ['pageDown', 'pagedown'],
  ['home', 'home'],
  ['end', 'end'],
  ['return', 'enter'],
  ['escape', 'escape'],
  ['backspace', 'backspace'],
];

/** The keys in what the terminal sent at once: fast typing and pasting arrive as one piece. */
export function keysIn(input: string, key: InkKey): readonly Key[] {
  const named = NAMED.find(([flag]) => key[flag] === true);
  if (named !== undefined) return [{ name: named[1], text: '' }];
  if (key.tab) return [{ name: key.shift ? 'shift+tab' : 'tab', text: '' }];
  // Most terminals send DEL for the backspace key; Ink calls both of them delete.
  if (key.delete) return [{ name: 'backspace', text: '' }];
  if (key.ctrl) return [{ name: `ctrl+${input}`, text: '' }];
  return [...input].map(character);
}

const CONTROLS: Readonly<Record<string, string>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\u007f': 'backspace',
  '\b': 'backspace',
  '\u001b': 'escape',
};

function character(text: string): Key {
  const control = CONTROLS[text];
  if (control !== undefined) return { name: control, text: '' };
  return text < ' ' ? { name: `ctrl+${String.fromCharCode(text.charCodeAt(0) + 96)}`, text: '' } : { name: text, text };
}

const SHOWN: Readonly<Record<string, string>> = {
  up: '↑',
  down: '↓',
  left: '←',
  right: '→',
  enter: '⏎',
  escape: 'esc',
  ' ': 'space',
  pageup: 'pgup',
  pagedown: 'pgdn',
  backspace: '⌫',
  'shift+tab': '⇧tab',
};

/** A key's name as people know it: `⏎`, `^d`. */
export const shownKey = (name: string): string => SHOWN[name] ?? name.replace(/^ctrl\+/, '^');

/** The binding that a key means. */
export const bindingFor = (bindings: readonly Binding[], { name }: Key): Binding | undefined =>
  bindings.find(({ keys }) => keys.includes(name));

/** Where there is nothing to change, the keys that change are gone. */
export const allowed = (bindings: readonly Binding[], readOnly: boolean): readonly Binding[] =>
  readOnly ? bindings.filter(({ changes }) => changes !== true) : bindings;

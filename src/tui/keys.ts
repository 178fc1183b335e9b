/** One key as it was pressed. */
export interface Key {
  /** `up`, `enter`, `ctrl+d`, `shift+tab`, `paste`, or the character itself. */
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

/** A key belongs to the first that has it: the others are left with the rest of their keys, or gone. */
export function unambiguous(bindings: readonly Binding[]): readonly Binding[] {
  const taken = new Set<string>();
  return bindings.flatMap((binding): readonly Binding[] => {
    const keys = binding.keys.filter((key) => !taken.has(key));
    for (const key of keys) taken.add(key);
    return keys.length === 0 ? [] : [{ ...binding, keys }];
  });
}

/** Where there is nothing to change, the keys that change are gone. */
export const allowed = (bindings: readonly Binding[], readOnly: boolean): readonly Binding[] =>
  readOnly ? bindings.filter(({ changes }) => changes !== true) : bindings;

import { emitKeypressEvents } from 'node:readline';
import type { ReadStream } from 'node:tty';
import type { Key } from './keys.ts';

/** A key as readline reads it from what the terminal sent. */
export interface Keypress {
  readonly name?: string | undefined;
  readonly sequence: string;
  readonly ctrl: boolean;
  readonly meta: boolean;
  readonly shift: boolean;
}

/** So long an escape may still be the beginning of another key. */
const ESCAPE_MS = 40;
/** Of a longer paste the rest is left out. */
const MOST_PASTED = 1_000_000;

/** Gives `take` every key of a terminal, and what is pasted as one key named `paste`. Returns what ends that. */
export function listenToKeys(stdin: NodeJS.ReadableStream, take: (key: Key) => void): () => void {
  let pasted: string | undefined;
  const onKeypress = (_: string | undefined, keypress: Keypress): void => {
    if (keypress.name === 'paste-start') pasted = '';
    else if (keypress.name === 'paste-end') {
      if (pasted !== undefined) take({ name: 'paste', text: pasted });
      pasted = undefined;
    } else if (pasted === undefined) for (const key of keysOf(keypress)) take(key);
    else if (pasted.length < MOST_PASTED) pasted += keypress.sequence;
  };
  // Of an interface the function reads this one property.
  emitKeypressEvents(stdin, { escapeCodeTimeout: ESCAPE_MS } as unknown as Parameters<typeof emitKeypressEvents>[1]);
  stdin.on('keypress', onKeypress);
  stdin.resume();
  return () => {
    stdin.off('keypress', onKeypress);
    stdin.pause();
  };
}

/** Takes every key as it is pressed, before the terminal makes lines of them. */
export function rawKeys(stdin: ReadStream, take: (key: Key) => void): () => void {
  const end = listenToKeys(stdin, take);
  // A shell that was in between may have changed the mode: only a change of what is known here is passed on.
  stdin.setRawMode(false);
  stdin.setRawMode(true);
  return () => {
    end();
    stdin.setRawMode(false);
  };
}

const NAMES: Readonly<Record<string, string>> = { return: 'enter', space: ' ' };
/** Keys that have a name and no text of their own. */
const NAMED = new Set(
  'up down left right home end pageup pagedown enter escape backspace delete tab insert clear undefined'.split(' '),
);

/** What a keypress means: mostly one key; none where it means nothing here. */
export function keysOf({ name, sequence, ctrl, meta, shift }: Keypress): readonly Key[] {
  const named = NAMES[name ?? ''] ?? name ?? '';
  if (named === 'escape') return [...sequence].map(() => ({ name: 'escape', text: '' }));
  if (named === 'backspace') return [{ name: meta ? 'ctrl+w' : 'backspace', text: '' }];
  if (named === 'tab' && shift) return [{ name: 'shift+tab', text: '' }];
  if (NAMED.has(named) || /^f\d+$/.test(named)) return [{ name: ctrl ? `ctrl+${named}` : named, text: '' }];
  if (ctrl) return [{ name: `ctrl+${named}`, text: '' }];
  // Escape and a key right after it come as one, as some terminals hold an escape back for a while.
  if (meta) return [{ name: 'escape', text: '' }, ...typed(sequence.slice(1))];
  return typed(sequence);
}

const typed = (text: string): readonly Key[] => (text < ' ' ? [] : [{ name: text, text }]);

/** Which of many lines are on the screen, and which one is chosen. */
export class Window {
  at = 0;
  top = 0;
  height = 1;

  /** Makes it fit `length` lines in `height`, with the chosen one in sight. */
  fit(length: number, height: number): void {
    this.height = Math.max(1, height);
    this.at = Math.max(0, Math.min(this.at, length - 1));
    if (this.at < this.top) this.top = this.at;
    if (this.at >= this.top + this.height) this.top = this.at - this.height + 1;
    this.top = Math.max(0, Math.min(this.top, length - this.height));
  }

  move(by: number, length: number): void {
    this.at = Math.max(0, Math.min(length - 1, this.at + by));
  }
}

type Step = (window: Window, length: number) => number;
const STEPS: readonly (readonly [keys: readonly string[], does: string, step: Step])[] = [
  [['up', 'k'], 'up', () => -1],
  [['down', 'j'], 'down', () => 1],
  [['pageup', 'ctrl+b'], 'a page up', ({ height }) => -height],
  [['pagedown', 'ctrl+f'], 'a page down', ({ height }) => height],
  [['ctrl+u'], 'half a page up', ({ height }) => -Math.ceil(height / 2)],
  [['ctrl+d'], 'half a page down', ({ height }) => Math.ceil(height / 2)],
  [['home', 'g'], 'to the beginning', ({ at }) => -at],
  [['end', 'G'], 'to the end', ({ at }, length) => length - 1 - at],
];
/** The keys that move the choice, and what each does. */
export const MOVES = STEPS.map(([keys, does]) => ({ keys, does }));

/** How far a key moves the choice; undefined for keys that do not move it. */
export function stepOf(key: string, window: Window, length: number): number | undefined {
  return STEPS.find(([keys]) => keys.includes(key))?.[2](window, length);
}

/** Scrolls text, which has no chosen line: a key moves what is in sight at once. True when the key does. */
export function scroll(key: string, window: Window, length: number): boolean {
  const step = stepOf(key, { ...window, at: window.top } as Window, length);
  if (step !== undefined) window.top = Math.max(0, Math.min(length - window.height, window.top + step));
  return step !== undefined;
}

/** The lines of a text that are in sight, at most `height`. */
export function inSight<T>(lines: readonly T[], window: Window, height: number): readonly T[] {
  window.height = height;
  window.top = Math.max(0, Math.min(window.top, lines.length - height));
  return lines.slice(window.top, window.top + height);
}

import type { Problem } from '../flow.ts';

/** More problems than this are only counted. */
const MAX_PROBLEMS = 500;

type Found = Omit<Problem, 'line' | 'column' | 'hint'> & { readonly hint?: string | undefined };

/** What was found wrong with one file, positions counted from its text. */
export class Problems {
  readonly #text: string;
  readonly #found: Problem[] = [];
  readonly #seen = new Set<string>();
  #lines: number[] | undefined;
  #errors = 0;
  #unsaid = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get hasErrors(): boolean {
    return this.#errors > 0;
  }

  /** Adds a problem at `offset` in UTF-16 units; the same one at the same place only once. */
  add(offset: number, { hint, ...found }: Found): void {
    if (found.severity === 'error') this.#errors += 1;
    if (this.#found.length >= MAX_PROBLEMS) {
      this.#unsaid += 1;
      return;
    }
    const key = `${offset} ${found.code} ${found.message}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.#found.push({ ...found, ...this.position(offset), ...(hint === undefined ? {} : { hint }) });
  }

  /** Line and column of an offset, both counted from 1. */
  position(offset: number): { line: number; column: number } {
    this.#lines ??= lineStarts(this.#text);
    let low = 0;
    let high = this.#lines.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#lines[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.#lines[low] as number) + 1 };
  }

  /** All problems, in the order of the lines. */
  sorted(): readonly Problem[] {
    const sorted = this.#found.toSorted(
      (a, b) => a.line - b.line || a.column - b.column || a.severity.localeCompare(b.severity),
    );
    if (this.#unsaid === 0) return sorted;
    const last = this.position(this.#text.length);
    const severity = this.hasErrors ? 'error' : 'warning';
    const message = `there are ${this.#unsaid} more problems: these were the first ${MAX_PROBLEMS}`;
    return [...sorted, { severity, code: 'TOO_MANY_PROBLEMS', path: '', ...last, message }];
  }
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

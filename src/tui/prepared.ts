import { createContext } from 'react';

/** Private characters, which no text that is shown holds: `plain` text may, so a token is looked up before it counts. */
const MARK = '\uf8ff';
/** Lines that are kept at least: many more than any screen has. */
const KEPT = 4000;

/**
 * Finished lines, handed past Ink. Ink takes text apart cell by cell, which costs 100 ms a frame on a large terminal; so it
 * lays out a short token for each line, and the line itself takes its place when the frame is written.
 */
export class Prepared {
  #tokens = new Map<string, string>();
  #lines = new Map<string, string>();
  #older: ReadonlyMap<string, string> = new Map();
  #count = 0;

  /** The token of a line; the same as long as the line is shown. */
  token(line: string): string {
    const known = this.#tokens.get(line);
    if (known !== undefined) return known;
    if (this.#tokens.size >= KEPT) {
      this.#older = this.#lines;
      this.#tokens = new Map();
      this.#lines = new Map();
    }
    this.#count += 1;
    const token = MARK + this.#count.toString(36);
    this.#tokens.set(line, token);
    this.#lines.set(token, line);
    return token;
  }

  /** The line that a token stands for; any other text as it is. */
  line(text: string): string {
    return this.#lines.get(text) ?? this.#older.get(text) ?? text;
  }
}

/** Where there is none, lines go through Ink as they are. */
export const PreparedLines = createContext<Prepared | undefined>(undefined);

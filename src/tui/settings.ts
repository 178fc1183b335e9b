import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../engine/json.ts';
import { type Paint, painter, THEME_NAMES, type ThemeName, themeFor } from './theme.ts';

/** A filter of runs under a name of the user's own. */
export interface View {
  readonly name: string;
  readonly filter: string;
}

const BUILT_IN: readonly View[] = [
  { name: 'all', filter: '' },
  { name: 'running', filter: 'state:running' },
  { name: 'failed', filter: 'state:failed' },
];
const MOST_VIEWS = 9;

/** What a user keeps in `tui.json`: the theme, and views of runs. */
export class Settings {
  readonly #file: string;
  #own: readonly View[] = [];
  theme: ThemeName;
  paint: Paint;
  /** What is wrong with the file; it is used as far as it can be. */
  problem: string | undefined;

  constructor(home: string, env: Readonly<Record<string, string | undefined>>, theme?: ThemeName) {
    this.#file = join(home, 'tui.json');
    const kept = this.#read();
    this.#own = kept.views;
    const fitting = themeFor(env);
    this.theme = theme ?? (fitting === 'mono' ? fitting : (kept.theme ?? fitting));
    this.paint = painter(this.theme);
  }

  get views(): readonly View[] {
    return [...BUILT_IN, ...this.#own].slice(0, MOST_VIEWS);
  }

  use(theme: ThemeName): void {
    this.theme = theme;
    this.paint = painter(theme);
  }

  /**
   * Keeps a filter under a name, beside what the file holds by now; one of the same name is replaced. Throws where the file
   * can't be read or written: what a user wrote there is never lost.
   */
  save(view: View): void {
    if (BUILT_IN.some(({ name }) => name === view.name))
      throw new Error(`The view ${view.name} is built in: choose another name.`);
    const { theme, views } = this.#read();
    if (this.problem !== undefined) throw new Error(this.problem);
    const others = views.filter(({ name }) => name !== view.name);
    if (BUILT_IN.length + others.length >= MOST_VIEWS)
      throw new Error(`There are ${MOST_VIEWS} views already: remove one from ${this.#file}.`);
    this.#own = [...others, view];
    const draft = `${this.#file}.${process.pid}.tmp`;
    const kept = { ...(theme === undefined ? {} : { theme }), views: this.#own };
    writeFileSync(draft, `${JSON.stringify(kept, null, 2)}\n`, { mode: 0o600 });
    renameSync(draft, this.#file);
  }

  #read(): { readonly theme?: ThemeName; readonly views: readonly View[] } {
    this.problem = undefined;
    if (!existsSync(this.#file)) return { views: [] };
    try {
      const value: unknown = JSON.parse(readFileSync(this.#file, 'utf8'));
      if (!isObject(value)) throw new Error('it holds no object');
      const views = Array.isArray(value['views']) ? (value['views'] as readonly unknown[]).filter(isView) : [];
      const theme = THEME_NAMES.find((name) => name === value['theme']);
      return { views, ...(theme === undefined ? {} : { theme }) };
    } catch (error) {
      this.problem = `${this.#file} can't be read as settings (${(error as Error).message}): mend it or remove it.`;
      return { views: [] };
    }
  }
}

const isView = (value: unknown): value is View & object =>
  isObject(value) && typeof value['name'] === 'string' && typeof value['filter'] === 'string';

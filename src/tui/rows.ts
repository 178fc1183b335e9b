/** A page of a list as the API gives it. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}
export interface RowsOptions<T> {
  readonly page: (cursor: string | undefined) => Promise<Page<T>>;
  readonly idOf: (row: T) => string;
  /** Something is different now. */
  readonly changed: () => void;
  readonly failed: (error: unknown) => void;
}

/** More than a person scrolls through; what lies beyond is found by filters of the daemon. */
export const MOST_ROWS = 200_000;
/** Pages that are searched at a time for rows that pass a filter. */
const PAGES_AT_ONCE = 100;

/** A long list, fetched page by page as far as somebody looks, with those rows chosen that pass a filter. */
export class Rows<T extends object> {
  readonly #options: RowsOptions<T>;
  #all: T[] = [];
  #shown: T[] = [];
  #byId = new Map<string, T>();
  #keep: (row: T) => boolean = () => true;
  #cursor: string | undefined;
  #complete = false;
  #loading: Promise<void> | undefined;
  /** Counts the restarts, so that answers to what was asked before are dropped. */
  #epoch = 0;

  constructor(options: RowsOptions<T>) {
    this.#options = options;
  }

  get shown(): readonly T[] {
    return this.#shown;
  }
  /** Rows fetched, whether they are shown or not. */
  get fetched(): number {
    return this.#all.length;
  }
  /** All there are have been fetched. */
  get complete(): boolean {
    return this.#complete;
  }
  get loading(): boolean {
    return this.#loading !== undefined;
  }
  find(id: string): T | undefined {
    return this.#byId.get(id);
  }

  /** Shows only rows that pass. */
  keep(keep: (row: T) => boolean): void {
    this.#keep = keep;
    this.#shown = this.#all.filter(keep);
    this.#options.changed();
  }

  /** Fetches until `count` rows are shown or there are no more; searches a bounded number of pages. */
  need(count: number): Promise<void> {
    this.#loading ??= this.#fetch(() => this.#shown.length < count, PAGES_AT_ONCE).finally(() => {
      this.#loading = undefined;
      this.#options.changed();
    });
    return this.#loading;
  }

  /** Fetches all that there are. */
  needAll(): Promise<void> {
    const rest = (): Promise<void> => this.#fetch(() => true, Number.POSITIVE_INFINITY);
    this.#loading = (this.#loading ?? Promise.resolve()).then(rest).finally(() => {
      this.#loading = undefined;
      this.#options.changed();
    });
    return this.#loading;
  }

  async #fetch(wanted: () => boolean, pages: number): Promise<void> {
    const epoch = this.#epoch;
    for (let n = 0; n < pages && wanted() && !this.#complete; n += 1) {
      try {
        const { items, nextCursor } = await this.#options.page(this.#cursor);
        if (epoch !== this.#epoch) return;
        this.#append(items);
        this.#cursor = nextCursor ?? undefined;
        this.#complete = nextCursor === null || this.#all.length >= MOST_ROWS;
      } catch (error) {
        if (epoch === this.#epoch) this.#options.failed(error);
        return;
      }
      this.#options.changed();
    }
  }

  #append(items: readonly T[]): void {
    for (const item of items) {
      const id = this.#options.idOf(item);
      if (this.#byId.has(id)) continue;
      this.#byId.set(id, item);
      this.#all.push(item);
      if (this.#keep(item)) this.#shown.push(item);
    }
  }

  /** Forgets everything; fetch anew with `need`. */
  restart(): void {
    this.#epoch += 1;
    this.#all = [];
    this.#shown = [];
    this.#byId = new Map();
    this.#cursor = undefined;
    this.#complete = false;
    this.#loading = undefined;
    this.#options.changed();
  }

  /** Fetches what was fetched before again, and swaps it in when it is there: nothing flickers meanwhile. */
  async refetch(): Promise<void> {
    const epoch = this.#epoch;
    const fresh: T[] = [];
    let cursor: string | undefined;
    do {
      let page: Page<T>;
      try {
        page = await this.#options.page(cursor);
      } catch (error) {
        return this.#options.failed(error);
      }
      if (epoch !== this.#epoch) return;
      fresh.push(...page.items);
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined && fresh.length < this.#all.length);
    this.#epoch += 1;
    this.#all = [];
    this.#shown = [];
    this.#byId = new Map();
    this.#append(fresh);
    this.#cursor = cursor;
    this.#complete = cursor === undefined;
    this.#options.changed();
  }

  /**
   * Fetches the newest rows of a list that goes from new to old, and puts what is new before the others. False when there
   * is more new than fits in a few pages: then only a restart shows it.
   */
  async head(): Promise<boolean> {
    const epoch = this.#epoch;
    const fresh: T[] = [];
    let cursor: string | undefined;
    for (let n = 0; n < 5; n += 1) {
      const page = await this.#options.page(cursor);
      if (epoch !== this.#epoch) return true;
      let met = false;
      for (const item of page.items) {
        if (this.put(item)) met = true;
        else fresh.push(item);
      }
      cursor = page.nextCursor ?? undefined;
      if (met || cursor === undefined || this.#all.length === 0) {
        this.#prepend(fresh);
        return true;
      }
    }
    return false;
  }

  #prepend(fresh: readonly T[]): void {
    if (fresh.length === 0) return;
    for (const item of fresh) this.#byId.set(this.#options.idOf(item), item);
    this.#all = [...fresh, ...this.#all];
    this.#shown = [...fresh.filter(this.#keep), ...this.#shown];
    this.#options.changed();
  }

  /** Takes over what is new of a row that is there; false when it isn't. */
  put(item: T): boolean {
    const row = this.#byId.get(this.#options.idOf(item));
    if (row === undefined) return false;
    const before = this.#keep(row);
    Object.assign(row, item);
    if (before && !this.#keep(row)) this.#shown = this.#shown.filter((one) => one !== row);
    else if (!before && this.#keep(row)) this.#shown = this.#all.filter(this.#keep);
    this.#options.changed();
    return true;
  }

  remove(id: string): void {
    const row = this.#byId.get(id);
    if (row === undefined) return;
    this.#byId.delete(id);
    this.#all = this.#all.filter((one) => one !== row);
    this.#shown = this.#shown.filter((one) => one !== row);
    this.#options.changed();
  }
}

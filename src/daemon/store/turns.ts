/** Changes that read before they write go one after the other, so that each sees what the one before made. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `change` when those before it have ended, whether well or not; with its result. */
  take<T>(change: () => Promise<T>): Promise<T> {
    const result = this.#last.then(change);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

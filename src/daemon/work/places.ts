/** A bounded number of places: who comes when all are taken waits in line. */
export interface Places {
  /** Runs `act` in a place of its own; rejects without running it when `signal` aborts first. */
  run<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T>;
}

export function createPlaces(count: number): Places {
  const line = new Set<() => void>();
  let taken = 0;

  function enter(signal: AbortSignal): Promise<void> {
    if (taken < count) {
      taken += 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        line.delete(come);
        reject(signal.reason);
      };
      const come = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      signal.addEventListener('abort', leave, { once: true });
      line.add(come);
    });
  }

  function exit(): void {
    const [next] = line;
    if (next === undefined) taken -= 1;
    else {
      line.delete(next);
      next();
    }
  }

  return {
    async run(signal, act) {
      signal.throwIfAborted();
      await enter(signal);
      try {
        return await act();
      } finally {
        exit();
      }
    },
  };
}

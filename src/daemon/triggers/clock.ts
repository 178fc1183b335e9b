/** The time, and waiting for it; tests bring their own. */
export interface Clock {
  /** Milliseconds since the epoch, by the wall clock: it may be set. */
  now(): number;
  /** Calls `ring` after so many milliseconds, unless what it gives back is called before. */
  after(ms: number, ring: () => void): () => void;
}

export const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  after(ms, ring) {
    const timer = setTimeout(ring, ms);
    return () => clearTimeout(timer);
  },
};

/** Waits so many milliseconds, or until `signal` aborts. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      cancel();
      signal.removeEventListener('abort', over);
      resolve();
    };
    const cancel = clock.after(ms, over);
    signal.addEventListener('abort', over);
    if (signal.aborted) over();
  });
}

/**
 * A trigger for `work` that never runs it twice at once: triggered while it runs, it runs once more afterwards. What it
 * rejects with goes to `failed`, and the next trigger starts afresh.
 */
export function coalesced(work: () => Promise<void>, failed: (error: unknown) => void): () => void {
  let state: 'idle' | 'busy' | 'again' = 'idle';
  const trigger = (): void => {
    if (state !== 'idle') {
      state = 'again';
      return;
    }
    state = 'busy';
    void work()
      .catch(failed)
      .finally(() => {
        const again = state === 'again';
        state = 'idle';
        if (again) trigger();
      });
  };
  return trigger;
}

import type { Fact } from '../ports.ts';
import type { Transaction } from './transaction.ts';

/** So many are forgotten with one commit, and then others get their turn: a million keys may be over at once. */
const IN_ONE_COMMIT = 10_000;

/**
 * Forgets what is over: commits the facts that `expired` gives, some at a time, until it gives no more. It is asked anew for
 * each commit. Rejects with StorageError.
 */
export async function sweep(
  durably: (act: (transaction: Transaction) => void) => Promise<void>,
  expired: (now: number) => readonly Iterable<Fact>[],
): Promise<void> {
  for (let isDone = false; !isDone; ) {
    await durably(({ at, facts }) => {
      for (const some of expired(at)) {
        for (const fact of some) {
          if (facts.length === IN_ONE_COMMIT) return;
          facts.push(fact);
        }
      }
      isDone = true;
    });
  }
}

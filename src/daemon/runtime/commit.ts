import type { Limits } from '../../engine/index.ts';
import type { Json } from '../../engine/json.ts';
import { type JournalPort, type Recovery, StorageError, type Work } from '../ports.ts';
import { contextOf } from './context.ts';
import { deliverOwed } from './deliver.ts';
import { type Definitions, type Facts, type Once, Rejection, type RuntimeLog, type RuntimeStats } from './door.ts';
import { Feed } from './feed.ts';
import { Memory } from './memory.ts';
import { Misses } from './misses.ts';
import { OnceKeys } from './once.ts';
import { PastLifecycle } from './past-lifecycle.ts';
import { Queue } from './queue.ts';
import { checkpointOf, restored } from './recover.ts';
import { Release } from './release.ts';
import { storedSummary } from './summary.ts';
import { sweep } from './sweep.ts';
import { Transaction } from './transaction.ts';

export interface CommitterOptions {
  readonly journal: JournalPort;
  readonly definitions: (facts: Facts) => Definitions;
  readonly work: Work;
  readonly log: RuntimeLog;
  readonly limits: Limits;
  readonly checkpointBytes: number;
}

/** How often it is tried to go on after the disk took no write. */
const REOPEN_MS = 1000;
/** By how much a clock may be set back while it is kept on time. */
const STEP_BACK_MS = 10_000;
/** How often keys and messages whose time is over are forgotten. */
const SWEEP_MS = 10 * 60_000;

/** What is larger than one frame may be; memory is as it was. */
class UnwritableError extends Error {
  override readonly name = 'UnwritableError';
}

const refusalOf = (error: unknown): unknown =>
  error instanceof UnwritableError
    ? new Rejection('PAYLOAD_TOO_LARGE', 'what this request does is more than one commit takes; send less at a time')
    : error;

/**
 * The runtime's one way to change anything: take a command from the queue, decide, append one frame, and only when that is
 * durable let the outside learn of it. A failed append drops all memory and rebuilds it from disk.
 */
export class Committer {
  readonly feed: Feed;
  readonly misses = new Misses();
  readonly facts: Facts;
  readonly definitions: Definitions;
  readonly #options: CommitterOptions;
  readonly #queue = new Queue();
  readonly #once = new OnceKeys(() => this.memory);
  #memory = new Memory();
  #release: Release;
  #failed: StorageError | undefined;
  #checkpointing: Promise<void> | undefined;
  #reopening: NodeJS.Timeout | undefined;
  readonly #sweeping: NodeJS.Timeout;
  #closed = false;
  #lastAt = 0;
  #commands = 0;

  constructor(options: CommitterOptions) {
    this.#options = options;
    this.facts = {
      get: (collection, key) => this.#memory.collections.get(collection)?.get(key),
      all: (collection) => this.#memory.collection(collection),
      put: async (facts, once) => {
        let put = false;
        await this.submit((transaction) => {
          transaction.facts.push(...facts);
          put = true;
          return null;
        }, once);
        return put;
      },
    };
    this.definitions = options.definitions(this.facts);
    this.feed = new Feed(new PastLifecycle(options.journal, this.definitions));
    this.#release = this.#newRelease();
    this.#sweeping = setInterval(() => void this.#sweep(), SWEEP_MS).unref();
  }

  get memory(): Memory {
    return this.#memory;
  }

  /** What is waiting where, as of the newest durable frame. */
  get waiting(): Release {
    return this.#release;
  }

  get limits(): Limits {
    return this.#options.limits;
  }

  get stats(): RuntimeStats {
    const { work } = this.#options;
    const { timers, subscriptions, transitions } = this.#release;
    return {
      live: this.#memory.live.size,
      queued: this.#queue.length,
      timers: timers.size,
      subscriptions: subscriptions.size,
      commands: this.#commands,
      transitions,
      work: work.running + work.queued,
    };
  }

  /** The durable first answer under a key. */
  async answered(once: Once): Promise<Json | undefined> {
    const known = this.#once.answered(once, this.#now());
    if (known !== undefined) await this.#options.journal.flushed();
    return known;
  }

  async ready(): Promise<void> {
    if (this.#failed !== undefined) throw this.#failed;
  }

  /**
   * Runs `act` when its turn comes, commits what it did, and gives its answer when that is durable. Rejects with what `act`
   * throws, with OVERLOADED or SHUTTING_DOWN, or with StorageError; nothing was accepted then.
   */
  submit<T extends Json>(act: (transaction: Transaction) => T, once?: Once): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#queue.admit(() => {
        this.#run(act, once).then(resolve, (error: unknown) => reject(refusalOf(error)));
      });
    });
  }

  /** Does the runtime's own work on an instance. What can't be done now is found again after the next start. */
  readonly later = (instanceId: string, act: (transaction: Transaction) => void): void => {
    this.#queue.add(() => {
      this.#run((transaction) => {
        act(transaction);
        return null;
      }, undefined).catch((error: unknown) => this.#mishap(instanceId, error));
    });
  };

  /** As `later`; resolves when what it did is durable, and rejects with StorageError when it will not be. */
  readonly durably = (act: (transaction: Transaction) => void): Promise<void> =>
    new Promise((resolve, reject) => {
      this.#queue.add(() => {
        this.#run((transaction) => {
          act(transaction);
          return null;
        }, undefined).then(() => resolve(), reject);
      });
    });

  async #run<T extends Json>(act: (transaction: Transaction) => T, once: Once | undefined): Promise<T> {
    if (this.#failed !== undefined) throw this.#failed;
    this.#commands += 1;
    const { journal, limits } = this.#options;
    const at = this.#now();
    try {
      const known = once && this.#once.answered(once, at);
      if (known !== undefined) {
        await journal.flushed();
        return known as T;
      }
      const transaction = new Transaction(this.#memory, at, contextOf(this.definitions, limits, at));
      const answer = act(transaction);
      deliverOwed(transaction, this.#release.surroundings);
      if (once !== undefined) this.#once.note(transaction, once, answer);
      if (transaction.isEmpty) await journal.flushed();
      else await this.#commit(transaction).finally(() => once && this.#once.settle(once));
      return answer;
    } catch (error) {
      // A refusal tells of states that may not be durable yet.
      if (error instanceof Rejection) await journal.flushed();
      throw error;
    }
  }

  /** Does not follow small steps back, so that the times of a history are in order; a clock that was wrong is put right. */
  #now(): number {
    const now = Date.now();
    if (now > this.#lastAt || this.#lastAt - now > STEP_BACK_MS) this.#lastAt = now;
    return this.#lastAt;
  }

  async #commit(transaction: Transaction): Promise<void> {
    const memory = this.#memory;
    const release = this.#release;
    // Before memory changes: what comes later must not be decided by a frame that the journal does not take.
    const durable = this.#append(transaction);
    for (const { id, flow, after } of transaction.changes.values()) {
      const live = memory.live.get(id);
      if (live === undefined) memory.add(id, { flow, tip: after, durable: undefined });
      else live.tip = after;
    }
    release.adopt(transaction);
    let number: number;
    try {
      number = await durable;
    } catch (error) {
      throw this.#fail(error);
    }
    memory.frame = number;
    for (const fact of transaction.facts) memory.apply(fact);
    release.frame(number, transaction);
    this.#checkpointWhenDue();
  }

  #append(transaction: Transaction): Promise<number> {
    try {
      return this.#options.journal.append(transaction.frame(storedSummary));
    } catch (error) {
      throw new UnwritableError((error as Error).message, { cause: error });
    }
  }

  /** An error in the runtime's own work: a mistake in wfx. The instance fails, so that it neither hangs nor repeats it. */
  #mishap(instanceId: string, error: unknown): void {
    if (error instanceof StorageError || error instanceof Rejection) return;
    this.#options.log.error({ err: error, instanceId }, 'an instance could not go on');
    const message = 'wfx could not go on with this instance; the daemon log tells why';
    this.#queue.add(() => {
      this.#run((transaction) => {
        transaction.decide(instanceId, { type: 'fail', code: 'INTERNAL_ERROR', message });
        return null;
      }, undefined).catch(() => undefined);
    });
  }

  /** Forgets all memory; it is rebuilt from disk as soon as the disk takes writes again. */
  #fail(error: unknown): StorageError {
    if (this.#failed !== undefined) return this.#failed;
    const reason = error instanceof Error ? error.message : String(error);
    this.#failed = error instanceof StorageError ? error : new StorageError(reason);
    this.#options.log.error({ err: error }, 'the journal takes no writes; requests are refused until it does');
    this.#release.close();
    this.#reopenLater();
    return this.#failed;
  }

  #reopenLater(): void {
    if (this.#closed) return;
    this.#reopening = setTimeout(() => {
      this.#reopen().catch((error: unknown) => {
        this.#options.log.warn({ err: error }, 'the journal still takes no writes');
        this.#reopenLater();
      });
    }, REOPEN_MS);
  }

  async #reopen(): Promise<void> {
    await this.#checkpointing?.catch(() => undefined);
    const recovery = await this.#options.journal.reopen();
    await this.recover(recovery);
    this.#options.log.info({ frame: this.#memory.frame }, 'the journal takes writes again');
  }

  /** Makes memory anew from what is on disk, and takes up what it owes to the outside (semantics 25). */
  async recover(recovery: Recovery): Promise<void> {
    const memory = new Memory();
    const states = await restored(recovery, memory);
    this.#memory = memory;
    this.#release = this.#newRelease();
    for (const state of states.values()) {
      const flow = this.definitions.flow(state.processId, state.version);
      memory.add(state.id, { flow, tip: state, durable: state });
    }
    this.#failed = undefined;
    this.#release.resume(memory);
  }

  #newRelease(): Release {
    const { work } = this.#options;
    return new Release({
      work,
      feed: this.feed,
      misses: this.misses,
      memory: this.#memory,
      later: this.later,
      durably: this.durably,
      definitions: this.definitions,
    });
  }

  #checkpointWhenDue(): void {
    const { journal, checkpointBytes } = this.#options;
    if (this.#checkpointing === undefined && journal.stats.bytesSinceCheckpoint >= checkpointBytes)
      void this.#checkpoint();
  }

  #checkpoint(): Promise<void> {
    const { journal, log } = this.#options;
    this.#checkpointing = journal
      .checkpoint(this.#memory.frame, checkpointOf(this.#memory))
      .catch((error: unknown) =>
        log.warn({ err: error }, 'no checkpoint could be written; the next start takes longer'),
      )
      .finally(() => {
        this.#checkpointing = undefined;
      });
    return this.#checkpointing;
  }

  #sweep(): Promise<void> {
    return sweep(this.durably, (now) => [
      this.#once.expired(now),
      this.#release.messages.expired(this.#memory, now),
    ]).catch((error: unknown) => this.#mishap('', error));
  }

  /** Takes no more commands, finishes those that were taken, and lets go of timers and work. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#reopening);
    clearInterval(this.#sweeping);
    await this.#queue.close();
    this.#release.close();
    if (this.#failed === undefined) {
      await this.#options.journal.flushed().catch(() => undefined);
      await this.#checkpointing;
      if (this.#options.journal.stats.bytesSinceCheckpoint > 0) await this.#checkpoint();
    }
    this.feed.wakeAll();
  }
}

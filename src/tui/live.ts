import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, type Client } from '../client/index.ts';
import type { LifecycleEvent } from '../contract/types.ts';
import { sentenceOf } from './sentence.ts';

interface Told {
  readonly changed: () => void;
  /** The stream is open again; what happened meanwhile may have been missed. */
  readonly reconnected: () => void;
}
type Listener = (event: LifecycleEvent) => void;

const LONGEST_WAIT_MS = 5000;

/** The daemon's lifecycle events for as long as the app runs, over lost connections and restarts. */
export class Live {
  readonly #client: Client;
  readonly #told: Told;
  readonly #stop = new AbortController();
  readonly #listeners = new Set<Listener>();
  state: 'connecting' | 'live' | 'reconnecting' = 'connecting';
  /** Why it reconnects, as a sentence. */
  reason = '';
  /** The daemon answers, and refuses: the key is no longer taken. */
  refused = false;
  #since = 0;
  #last: string | undefined;

  constructor(client: Client, told: Told) {
    this.#client = client;
    this.#told = told;
  }

  start(): void {
    void this.#run();
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Seconds that the connection has been away. */
  get away(): number {
    return Math.round((Date.now() - this.#since) / 1000);
  }

  /** Calls `listener` with every event; gives what ends that. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #run(): Promise<void> {
    for (let tries = 0; !this.#stop.signal.aborted; tries += 1) {
      try {
        await this.#read();
        tries = 0;
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        // A key that was refused once will be refused again; it is said, and tried now and then in case it is allowed.
        this.#lost(sentenceOf(error), error instanceof ApiError);
      }
      await delay(Math.min(500 * 2 ** tries, LONGEST_WAIT_MS), undefined, { signal: this.#stop.signal }).catch(() => 0);
    }
  }

  async #read(): Promise<void> {
    const options = {
      signal: this.#stop.signal,
      after: this.#last,
      onConnected: () => this.#connected(),
      onReconnecting: ({ reason }: { readonly reason: string }) =>
        this.#lost(`The connection is lost: ${reason.replace(/\.$/, '')}.`),
    };
    for await (const { id, event } of this.#client.events(options)) {
      this.#last = id ?? this.#last;
      for (const listener of [...this.#listeners]) listener(event);
    }
  }

  #connected(): void {
    const before = this.state;
    this.state = 'live';
    if (before === 'reconnecting') this.#told.reconnected();
    this.#told.changed();
  }

  #lost(reason: string, refused = false): void {
    if (this.state !== 'reconnecting') this.#since = Date.now();
    this.state = 'reconnecting';
    this.reason = reason;
    this.refused = refused;
    this.#told.changed();
  }
}

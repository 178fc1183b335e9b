import type { Client } from '../../client/index.ts';
import type { Explanation, Instance, LogEntry } from '../../contract/types.ts';
import type { App } from '../app.ts';

/** Log entries that are kept; older ones are dropped. */
export const MOST_ENTRIES = 20_000;
/** Events are gathered for so long before the run is asked for again. */
const GATHER_MS = 120;

/** One run, kept up to date while somebody looks at it. */
export class WatchedRun {
  readonly id: string;
  readonly #app: App;
  instance: Instance | undefined;
  /** Why it stands where it stands; asked for when somebody wants to know. */
  explanation: Explanation | undefined;
  #explains = false;
  entries: LogEntry[] = [];
  /** Entries that were dropped. */
  dropped = 0;
  #stop = new AbortController();
  #stopListening: () => void = () => undefined;
  #gathering: NodeJS.Timeout | undefined;
  #lastLog: string | undefined;

  constructor(app: App, id: string) {
    this.#app = app;
    this.id = id;
  }

  open(): void {
    this.#stop = new AbortController();
    this.#stopListening = this.#app.live.listen(({ data }) => {
      if (data.processInstanceId === this.id) this.#gather();
    });
    void this.load();
    void this.#readLog(this.#app.client, this.#stop.signal);
  }

  close(): void {
    this.#stop.abort();
    this.#stopListening();
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
  }

  #gather(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      void this.load();
    }, GATHER_MS);
  }

  async load(): Promise<void> {
    try {
      this.instance = await this.#app.client.call('getInstance', { params: { processInstanceId: this.id } });
      this.#app.changed();
      if (this.#explains) await this.#explain();
    } catch (error) {
      this.#app.fail(error);
    }
  }

  /** Asks why it stands, now and whenever something happens to it. */
  explain(): void {
    if (this.#explains) return;
    this.#explains = true;
    this.#explain().catch(this.#app.fail);
  }

  async #explain(): Promise<void> {
    this.explanation = await this.#app.client.call('explainInstance', { params: { processInstanceId: this.id } });
    this.#app.changed();
  }

  async #readLog(client: Client, signal: AbortSignal): Promise<void> {
    try {
      for await (const item of client.log(this.id, { signal, after: this.#lastLog })) {
        if (item.kind !== 'entry') continue;
        this.#lastLog = item.id;
        this.entries.push(item.entry);
        if (this.entries.length > MOST_ENTRIES * 1.1) {
          this.dropped += this.entries.length - MOST_ENTRIES;
          this.entries = this.entries.slice(-MOST_ENTRIES);
        }
        this.#app.changed();
      }
    } catch (error) {
      if (!signal.aborted) this.#app.fail(error);
    }
  }

  /** The connection was away: what the log stream gave up on is read on. */
  resume(): void {
    this.close();
    this.open();
  }
}

import type { FetchMessageObject, ImapFlow } from 'imapflow';
import { isLoopback } from '../../http/hosts.ts';
import { type Inbox, missingFolder, problemOf } from './problem.ts';

/** What the server tells of a message, and its first bytes. */
export interface Glimpse {
  readonly uid: number;
  /** Bytes of the whole message. */
  readonly size: number;
  /** When the server got it, ms. */
  readonly received: number;
  /** The whole message, when it is no longer than was asked for. */
  readonly start: Buffer;
}

const CONNECT_MS = 15_000;
/** After so much silence the server is asked for a sign of life, and after as much again it is given up. */
const SILENCE_MS = 2 * 60_000;
/** For servers that refuse to tell of new messages by themselves. */
const POLL_MS = 60_000;
const MAX_RESPONSE = 40 * 1024 * 1024;

/**
 * An open folder, read only: what is read stays unread for people. Every method rejects with an InboxProblem when the
 * connection breaks.
 */
export class Session {
  readonly #client: ImapFlow;
  readonly #inbox: Inbox;
  readonly uidValidity: string;
  /** What the next message gets, as of when the folder was opened. */
  readonly uidNext: number;
  readonly messages: number;
  /** Something came since it was last asked. */
  #news = false;
  #wake: () => void = () => undefined;

  private constructor(client: ImapFlow, inbox: Inbox, opened: Opened) {
    this.#client = client;
    this.#inbox = inbox;
    this.uidValidity = opened.uidValidity;
    this.uidNext = opened.uidNext;
    this.messages = opened.messages;
    client.on('exists', () => this.#stir());
    client.on('close', () => this.#wake());
  }

  /** Signs in and opens the folder. InboxProblem; `signal` breaks it off. */
  static async open(inbox: Inbox, password: string, signal: AbortSignal): Promise<Session> {
    const client = await clientOf(inbox, password);
    // Every problem is told by the call that meets it as well.
    client.on('error', () => undefined);
    const stop = () => client.close();
    signal.addEventListener('abort', stop, { once: true });
    try {
      // It may have been broken off before the client was there to be closed.
      signal.throwIfAborted();
      await client.connect();
      const opened = await openedFolder(client, inbox);
      signal.throwIfAborted();
      return new Session(client, inbox, opened);
    } catch (error) {
      client.close();
      const isLate = signal.aborted && (signal.reason as Error).name === 'TimeoutError';
      throw problemOf(
        isLate ? Object.assign(new Error('too late'), { code: 'CONNECT_TIMEOUT' }) : error,
        inbox,
        password,
      );
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** UIDs beyond one, ascending. With `since` (ms) only of what the server got from the day before on. */
  async uidsAfter(uid: number, since: number | undefined): Promise<number[]> {
    // Days are the server's own, wherever that is.
    const received = since === undefined ? {} : { since: new Date(since - 24 * 3_600_000) };
    const found = await this.#asked(() => this.#client.search({ uid: `${uid + 1}:*`, ...received }, UID));
    // `*` is the last message, also when it comes before the first one that was asked for.
    return (Array.isArray(found) ? found : []).filter((each) => each > uid).sort((a, b) => a - b);
  }

  /** The message with up to `bytes` of its beginning; undefined when it is gone. */
  async glimpse(uid: number, bytes: number): Promise<Glimpse | undefined> {
    const found = await this.#fetched(uid, bytes);
    if (found?.source === undefined) return undefined;
    const { internalDate, source } = found;
    const received = internalDate === undefined ? Number.NaN : new Date(internalDate).getTime();
    return {
      uid,
      size: found.size ?? source.length,
      received: Number.isNaN(received) ? Date.now() : received,
      start: source,
    };
  }

  /** Resolves when a message may have come, or the connection is over: the next question tells. */
  async news(): Promise<void> {
    if (!this.#news && this.#client.usable) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await Promise.race([woken, this.#idle()]);
    }
    this.#news = false;
  }

  close(): void {
    this.#client.close();
  }

  #stir(): void {
    this.#news = true;
    this.#wake();
  }

  /** Ends by the next question, and now and then to let somebody ask one. */
  async #idle(): Promise<void> {
    const idled = await this.#client.idle().catch(() => undefined);
    if (idled === false) await new Promise((resolve) => void setTimeout(resolve, POLL_MS).unref());
  }

  async #fetched(uid: number, bytes: number): Promise<FetchMessageObject | undefined> {
    const query = { size: true, internalDate: true, source: { start: 0, maxLength: bytes } };
    return (await this.#asked(() => this.#client.fetchOne(String(uid), query, UID))) || undefined;
  }

  async #asked<T>(ask: () => Promise<T>): Promise<T> {
    try {
      const answer = await ask();
      // What is asked of a closed connection answers that nothing was found.
      if (this.#client.usable) return answer;
    } catch (error) {
      throw problemOf(error, this.#inbox, '');
    }
    const { byeReason = 'the connection is closed' } = this.#client;
    throw problemOf(new Error(byeReason), this.#inbox, '');
  }
}

const UID = { uid: true } as const;

interface Opened {
  readonly uidValidity: string;
  readonly uidNext: number;
  readonly messages: number;
}

async function clientOf({ host, port, tls, user }: Inbox, password: string): Promise<ImapFlow> {
  const { ImapFlow: Client } = await import('imapflow');
  return new Client({
    host,
    port,
    secure: tls,
    // A password crosses no network in the clear.
    ...(tls ? {} : { doSTARTTLS: !isLoopback(host) }),
    auth: { user, pass: password },
    logger: false,
    clientInfo: { name: 'wfx' },
    disableAutoIdle: true,
    disableCompression: true,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    maxLiteralSize: MAX_RESPONSE,
    maxResponseSize: 2 * MAX_RESPONSE,
  });
}

async function openedFolder(client: ImapFlow, inbox: Inbox): Promise<Opened> {
  try {
    const { uidValidity, uidNext, exists } = await client.mailboxOpen(inbox.mailbox, { readOnly: true });
    return {
      uidValidity: String(uidValidity),
      uidNext: uidNext || (await afterLast(client, exists)),
      messages: exists,
    };
  } catch (error) {
    if (!client.usable) throw error;
    const folders = await client.list().catch(() => []);
    throw missingFolder(
      inbox,
      folders.map(({ path }) => path),
    );
  }
}

/** For servers that do not say what the next UID is. */
async function afterLast(client: ImapFlow, exists: number): Promise<number> {
  const last = exists === 0 ? false : await client.fetchOne('*', { uid: true });
  return last ? last.uid + 1 : 1;
}

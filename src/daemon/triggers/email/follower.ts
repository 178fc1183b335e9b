import type { EmailConnectionRecord } from '../../store/email-connections.ts';
import { type Clock, pause } from '../clock.ts';
import type { EmailIntake, EmailLog } from './intake.ts';
import type { Position } from './position.ts';
import { InboxProblem } from './problem.ts';
import { Session } from './session.ts';

export interface ConnectionStatus {
  readonly state: 'CONNECTING' | 'CONNECTED' | 'RETRYING';
  /** ISO 8601. */
  readonly since: string;
  /** Why it is not connected, or was not before this attempt. */
  readonly problem: string | null;
  /** ISO 8601. */
  readonly retryAt: string | null;
}
export interface FollowerParts {
  readonly intake: EmailIntake;
  /** In the clear. StorageError when it can't be opened. */
  readonly password: (connection: EmailConnectionRecord) => string;
  /** Where to read on in the folder as it was just opened. */
  readonly position: (connection: EmailConnectionRecord, session: Session, now: number) => Position;
  readonly clock: Clock;
  readonly log: EmailLog;
}

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 5 * 60_000;
/** Servers lock accounts whose login fails often. */
const LOGIN_WAIT_MS = 60_000;
const LONGEST_LOGIN_WAIT_MS = 15 * 60_000;
/** A connection that held so long was a good one: the next failure is the first again. */
const GOOD_MS = 60_000;

/** Follows one inbox for as long as it is open: reads what is new, then waits for the server to tell of more (IDLE). */
export class InboxFollower {
  readonly #connection: EmailConnectionRecord;
  readonly #parts: FollowerParts;
  readonly #stopped = new AbortController();
  readonly #ended: Promise<void>;
  #status: ConnectionStatus;
  /** Attempts since the last good connection. */
  #failures = 0;

  constructor(connection: EmailConnectionRecord, parts: FollowerParts) {
    this.#connection = connection;
    this.#parts = parts;
    this.#status = this.#now('CONNECTING', null);
    this.#ended = this.#follow();
  }

  get status(): ConnectionStatus {
    return this.#status;
  }

  /** Resolves when what was under way is done or broken off. */
  close(): Promise<void> {
    this.#stopped.abort();
    return this.#ended;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        await this.#read();
      } catch (error) {
        if (!signal.aborted) await this.#wait(error as Error);
      }
    }
  }

  /** Connects, and reads until the connection is over, which is an error. */
  async #read(): Promise<void> {
    const { signal } = this.#stopped;
    this.#status = this.#now('CONNECTING', this.#status.problem);
    const session = await Session.open(this.#connection, this.#parts.password(this.#connection), signal);
    const connected = this.#parts.clock.now();
    const stop = () => session.close();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      let position = this.#parts.position(this.#connection, session, connected);
      await this.#parts.intake.keep(this.#connection, position);
      for (;;) {
        position = await this.#catchUp(session, position);
        if (this.#status.state !== 'CONNECTED') this.#report();
        await session.news();
      }
    } finally {
      signal.removeEventListener('abort', stop);
      session.close();
      if (this.#parts.clock.now() - connected >= GOOD_MS) this.#failures = 0;
    }
  }

  /** Deals with everything that is new; gives how far that is. */
  async #catchUp(session: Session, from: Position): Promise<Position> {
    let position = from;
    for (;;) {
      const uids = await uidsIn(session, position);
      for (const uid of uids) {
        position = { ...position, uid };
        await this.#parts.intake.take(this.#connection, session, uid, position);
      }
      if (uids.length > 0) continue;
      if (position.recheck === null) return position;
      position = { ...position, uid: Math.max(position.uid, position.recheck.below - 1), recheck: null };
      await this.#parts.intake.keep(this.#connection, position);
    }
  }

  /** Longer from failure to failure, and never as long as others wait who lost the same server. */
  async #wait(error: Error): Promise<void> {
    const { clock } = this.#parts;
    const isLogin = error instanceof InboxProblem && error.isLogin;
    const longest = isLogin ? LONGEST_LOGIN_WAIT_MS : LONGEST_WAIT_MS;
    const full = Math.min((isLogin ? LOGIN_WAIT_MS : FIRST_WAIT_MS) * 2 ** Math.min(this.#failures, 20), longest);
    const wait = full * (0.5 + Math.random() / 2);
    this.#failures += 1;
    if (this.#status.problem !== error.message) this.#warn(error);
    const retryAt = new Date(clock.now() + wait).toISOString();
    this.#status = { ...this.#now('RETRYING', error.message), retryAt };
    await pause(this.#parts.clock, wait, this.#stopped.signal);
  }

  #report(): void {
    this.#status = this.#now('CONNECTED', null);
    this.#parts.log.info({ connection: this.#connection.name }, 'an inbox is connected');
  }

  #warn(error: Error): void {
    const { name, id } = this.#connection;
    const fault = error instanceof InboxProblem ? {} : { err: error };
    this.#parts.log.warn(
      { connection: name, connectionId: id, problem: error.message, ...fault },
      'an inbox is not connected',
    );
  }

  #now(state: ConnectionStatus['state'], problem: string | null): ConnectionStatus {
    return { state, since: new Date(this.#parts.clock.now()).toISOString(), problem, retryAt: null };
  }
}

/** What to deal with next, ascending; of what is looked at again first, and nothing else with it. */
async function uidsIn(session: Session, { uid, recheck }: Position): Promise<number[]> {
  if (recheck === null) return session.uidsAfter(uid, undefined);
  return (await session.uidsAfter(uid, recheck.from)).filter((each) => each < recheck.below);
}

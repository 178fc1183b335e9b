import { Refusal } from '../../refusal.ts';
import type { Runtime } from '../../runtime/door.ts';
import { type EmailConnectionRecord, type EmailConnectionStore, POSITIONS } from '../../store/email-connections.ts';
import { Turns } from '../../store/turns.ts';
import type { UploadStore } from '../../store/uploads.ts';
import type { ActiveEmail, ActiveTriggers } from '../active.ts';
import type { Clock } from '../clock.ts';
import { type ConnectionStatus, type FollowerParts, InboxFollower } from './follower.ts';
import { EmailIntake, type EmailLog } from './intake.ts';
import { positionIn } from './position.ts';
import { Session } from './session.ts';

export interface EmailParts {
  readonly runtime: Runtime;
  readonly connections: EmailConnectionStore;
  readonly uploads: UploadStore;
  readonly active: ActiveTriggers;
  readonly clock: Clock;
  readonly log: EmailLog;
}
export interface ConnectionTest {
  readonly ok: boolean;
  readonly problem: string | null;
  /** How many the folder holds. */
  readonly messages: number | null;
}

const TEST_MS = 25_000;
const TESTS_AT_ONCE = 8;

/** Follows every email connection, as connections are made, changed and removed (decisions §6). */
export class EmailTriggers {
  readonly #connections: EmailConnectionStore;
  readonly #active: ActiveTriggers;
  readonly #parts: FollowerParts;
  readonly #followers = new Map<string, InboxFollower>();
  /** One after the other, so that an inbox never has two followers. */
  readonly #turns = new Turns();
  readonly #closed = new AbortController();
  #tests = 0;

  constructor({ runtime, connections, uploads, active, clock, log }: EmailParts) {
    this.#connections = connections;
    this.#active = active;
    const linked = (connection: EmailConnectionRecord) => this.flowsOf(connection);
    this.#parts = {
      intake: new EmailIntake({ runtime, connections, uploads, linked, log }),
      password: (connection) => connections.password(connection),
      position: (connection, session, now) =>
        positionIn(runtime.facts.get(POSITIONS, connection.id), connection, session, now),
      clock,
      log,
    };
    for (const connection of connections.list(undefined)) this.#follow(connection);
    connections.onChange((id) => {
      const before = this.#followers.get(id);
      this.#followers.delete(id);
      void this.#turns.take(() => this.#changed(id, before));
    });
  }

  /** Undefined while it is taken up. */
  status(id: string): ConnectionStatus | undefined {
    return this.#followers.get(id)?.status;
  }

  /** What a connection starts; a flow with several triggers counts with each. */
  flowsOf(connection: EmailConnectionRecord): ActiveEmail[] {
    return this.#active.emails(connection);
  }

  /** Signs in and opens the folder, beside the connection that follows it. OVERLOADED when many are tested at once. */
  async test(connection: EmailConnectionRecord): Promise<ConnectionTest> {
    if (this.#tests >= TESTS_AT_ONCE)
      throw new Refusal('OVERLOADED', 'Many connections are being tested now: try again in a moment.');
    this.#tests += 1;
    try {
      const signal = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(TEST_MS)]);
      const session = await Session.open(connection, this.#connections.password(connection), signal);
      session.close();
      return { ok: true, problem: null, messages: session.messages };
    } catch (error) {
      return { ok: false, problem: (error as Error).message, messages: null };
    } finally {
      this.#tests -= 1;
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#turns.take(async () => {
      await Promise.all([...this.#followers.values()].map((follower) => follower.close()));
      this.#followers.clear();
    });
  }

  #follow(connection: EmailConnectionRecord): void {
    this.#followers.set(connection.id, new InboxFollower(connection, this.#parts));
  }

  async #changed(id: string, before: InboxFollower | undefined): Promise<void> {
    await before?.close();
    // Of several changes in a row the first one took up the last.
    if (this.#followers.has(id)) return;
    const connection = this.#connections.get(id);
    if (connection !== undefined && !this.#closed.signal.aborted) this.#follow(connection);
  }
}

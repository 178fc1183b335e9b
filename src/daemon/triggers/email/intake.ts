import type { Json, JsonObject } from '../../../engine/json.ts';
import type { Fact } from '../../ports.ts';
import { type Once, Rejection, type Runtime } from '../../runtime/door.ts';
import { type EmailConnectionRecord, type EmailConnectionStore, POSITIONS } from '../../store/email-connections.ts';
import { Turns } from '../../store/turns.ts';
import type { UploadStore } from '../../store/uploads.ts';
import { type ActiveEmail, onePerFlow } from '../active.ts';
import { storedFiles } from './attachments.ts';
import { passes } from './filter.ts';
import { identityOf, type Mail, readMail, shortened } from './mail.ts';
import type { Position } from './position.ts';
import type { Glimpse, Session } from './session.ts';
import { startOf, variablesOf } from './start.ts';

export interface EmailLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
export interface IntakeParts {
  readonly runtime: Runtime;
  readonly connections: EmailConnectionStore;
  readonly uploads: UploadStore;
  /** The triggers that a connection's messages go to. */
  readonly linked: (connection: EmailConnectionRecord) => readonly ActiveEmail[];
  readonly log: EmailLog;
}

/** Enough for most messages, and for every header. */
const GLIMPSE_BYTES = 64 * 1024;
/** Of a longer message only the beginning is read. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Large messages that are in memory at a time. */
const LARGE_AT_ONCE = 4;
/** Characters of text that one message may put into all the flows that it starts: they are one commit. */
const MAX_TEXT = 8 * 1024 * 1024;
const DAY = 24 * 3_600_000;
/** How long a message is known for the one that came before. */
const ONCE_MS = 35 * DAY;

/**
 * What a message does: the runs that it starts, how far the inbox is read, and that the message is known are one commit. So
 * each message starts its flows once, also across restarts, dropped connections, and when it gets another UID.
 */
export class EmailIntake {
  readonly #parts: IntakeParts;
  readonly #large = Array.from({ length: LARGE_AT_ONCE }, () => new Turns());
  #next = 0;

  constructor(parts: IntakeParts) {
    this.#parts = parts;
  }

  /** Deals with one message. `after`: how far the inbox is read then. InboxProblem, StorageError or Rejection: not yet. */
  async take(connection: EmailConnectionRecord, session: Session, uid: number, after: Position): Promise<void> {
    const glimpse = await session.glimpse(uid, GLIMPSE_BYTES);
    if (glimpse === undefined) return this.keep(connection, after);
    const head = await this.#read(connection, glimpse);
    const once = onceOf(connection, head, glimpse.start, Date.now());
    if (isTooOld(head, glimpse, after) || (await this.#parts.runtime.answered(once)) !== undefined)
      return this.keep(connection, after);
    const triggers = onePerFlow(this.#parts.linked(connection).filter(({ trigger }) => passes(trigger, head)));
    const told = { connection, uid, after, once };
    const isWhole = glimpse.size <= glimpse.start.length;
    if (triggers.length === 0 || isWhole) return this.#start(told, triggers, head);
    const turn = this.#large[this.#next++ % LARGE_AT_ONCE] as Turns;
    await turn.take(async () => {
      const whole = await session.glimpse(uid, MAX_BYTES);
      await this.#start(told, triggers, whole === undefined ? head : await this.#read(connection, whole));
    });
  }

  /** Keeps how far the inbox is read, where nothing else came of a message. */
  async keep(connection: EmailConnectionRecord, position: Position): Promise<void> {
    await this.#parts.runtime.facts.put(this.#facts(connection, position));
  }

  /** What can't be read at all counts as empty: the flow is told that something is missing. */
  async #read({ name }: EmailConnectionRecord, { uid, size, start }: Glimpse): Promise<Mail> {
    try {
      const mail = await readMail(start);
      return size > start.length ? { ...mail, truncated: true } : mail;
    } catch (error) {
      this.#parts.log.warn({ err: error, connection: name, uid }, 'a message could not be read');
      return { ...UNREADABLE };
    }
  }

  async #start(told: Told, triggers: readonly ActiveEmail[], whole: Mail): Promise<void> {
    const mail = shortened(whole, Math.floor(MAX_TEXT / Math.max(triggers.length, 1)));
    const { connection, uid, after, once } = told;
    const data =
      triggers.length === 0
        ? {}
        : variablesOf(mail, await storedFiles(this.#parts.uploads, connection.organizationId, mail));
    const about = { connection: connection.name, uid, messageId: mail.messageId ?? null };
    const outcome = await this.#parts.runtime.startAll(
      {
        starts: triggers.map((active) => startOf(active, linkOf(told, mail), data)),
        facts: (started) => {
          for (const one of started)
            if (one instanceof Rejection)
              this.#parts.log.warn({ ...about, reason: one.message }, 'a message could not start its flow');
          return this.#facts(connection, after);
        },
        answer: null,
      },
      once,
    );
    if (outcome !== 'done') return this.keep(connection, after);
    this.#parts.log.info({ ...about, flows: triggers.length }, 'an email came');
  }

  /** None for a connection that was removed meanwhile. */
  #facts({ id }: EmailConnectionRecord, position: Position): Fact[] {
    if (this.#parts.connections.get(id) === undefined) return [];
    return [{ collection: POSITIONS, key: id, value: position as unknown as Json }];
  }
}

/** A message on its way. */
interface Told {
  readonly connection: EmailConnectionRecord;
  readonly uid: number;
  readonly after: Position;
  readonly once: Once;
}

const UNREADABLE: Mail = {
  messageId: undefined,
  subject: '',
  sender: '',
  recipients: [],
  date: undefined,
  text: '',
  attachments: [],
  truncated: true,
};

function onceOf({ id }: EmailConnectionRecord, mail: Mail, start: Buffer, now: number): Once {
  return { key: `email:${id}:${identityOf(mail, start)}`, fingerprint: '', expiresAt: now + ONCE_MS };
}

/** Of before the inbox was watched, or of longer ago than messages are known for. A copy has the time of the copying. */
const isTooOld = ({ date }: Mail, { received }: Glimpse, { recheck }: Position): boolean =>
  recheck !== null && Math.min(received, date?.getTime() ?? received) < recheck.from;

/** What leads from a run back to its message. */
const linkOf = ({ connection, uid, after }: Told, { messageId, date }: Mail): JsonObject => ({
  connectionId: connection.id,
  connectionName: connection.name,
  messageId: messageId ?? null,
  mailbox: connection.mailbox,
  uidValidity: after.uidValidity,
  uid,
  date: date?.toISOString() ?? null,
});

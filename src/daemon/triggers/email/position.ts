import { isObject, type Json } from '../../../engine/json.ts';
import type { EmailConnectionRecord } from '../../store/email-connections.ts';

/** How far an inbox is read. */
export interface Position {
  /** Which inbox: a connection that is changed leads to another one. */
  readonly inbox: string;
  /** UIDs mean something only together with it. */
  readonly uidValidity: string;
  /** The last one that was dealt with. */
  readonly uid: number;
  /** When the inbox was first opened, ms: what was there before starts nothing. */
  readonly since: number;
  /**
   * The folder numbered its messages anew. Those with a UID below this one are looked at again if they came from that time
   * (ms) on: each that is not known starts its flows.
   */
  readonly recheck: { readonly below: number; readonly from: number } | null;
}
interface Folder {
  readonly uidValidity: string;
  readonly uidNext: number;
}

/** Well within the time that messages are known for. */
const RECHECKED_MS = 30 * 24 * 3_600_000;

/** Where to read on in a folder as it is now; a new inbox is read from its end on. */
export function positionIn(
  kept: Json | undefined,
  connection: EmailConnectionRecord,
  folder: Folder,
  now: number,
): Position {
  const inbox = inboxOf(connection);
  const known = isObject(kept) ? (kept as unknown as Position) : undefined;
  const { uidValidity, uidNext } = folder;
  if (known === undefined || known.inbox !== inbox)
    return { inbox, uidValidity, uid: uidNext - 1, since: now, recheck: null };
  // UIDs that went backwards are as good as a new UIDVALIDITY, which the server should have given.
  if (known.uidValidity === uidValidity && uidNext > known.uid) return known;
  const from = Math.max(known.since, now - RECHECKED_MS);
  return { inbox, uidValidity, uid: 0, since: known.since, recheck: { below: uidNext, from } };
}

const inboxOf = ({ host, user, mailbox }: EmailConnectionRecord): string => JSON.stringify([host, user, mailbox]);

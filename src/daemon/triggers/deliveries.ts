import type { Json, JsonObject } from '../../engine/json.ts';
import type { Fact } from '../ports.ts';
import type { Environment, Facts } from '../runtime/door.ts';
import type { ContentLog, ContentPlace } from './content-log.ts';
import type { Headers } from './signatures.ts';

export type Verdict = 'STARTED' | 'NO_MATCH' | 'DUPLICATE' | 'BAD_SIGNATURE' | 'STALE';

/** What became of one request to a webhook's address, as it rests in the journal. */
export interface DeliveryRecord {
  /** Time-ordered. */
  readonly deliveryId: string;
  readonly webhookId: string;
  /** ISO 8601. */
  readonly receivedAt: string;
  /** Of the endpoint; null: the shared one. */
  readonly environment: Environment | null;
  readonly eventType: string | null;
  readonly eventId: string | null;
  readonly traceId: string;
  readonly verdict: Verdict;
  /** For the operator; null where the verdict says it all. */
  readonly reason: string | null;
  readonly processInstanceIds: readonly string[];
  /** The delivery that this one sends again. */
  readonly replayOf: string | null;
  /** Bytes of the body. */
  readonly size: number;
  readonly content: StoredContent;
}
interface StoredContent extends ContentPlace {
  /** Bytes in front of the body. */
  readonly headerBytes: number;
}
export interface Content {
  /** By their lower-case names, credentials as `***`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface DeliveryBounds {
  readonly maxAgeMs: number;
  readonly maxPerWebhook: number;
  /** Of headers and bodies of all webhooks together. */
  readonly maxBytes: number;
}
const DAY = 24 * 3_600_000;
export const DELIVERY_BOUNDS: DeliveryBounds = {
  maxAgeMs: 7 * DAY,
  maxPerWebhook: 10_000,
  maxBytes: 256 * 1024 * 1024,
};

const MASKED = new Set(['authorization', 'proxy-authorization', 'cookie', 'x-api-key', 'x-gitlab-token']);
const SWEEP_MS = 60_000;
/** A follower that is so far behind is let go; it comes back with the id of the last one that it saw. */
const MOST_BEHIND = 2000;

export const deliveriesOf = (webhookId: string): string => `deliveries:${webhookId}`;

interface Follower {
  readonly webhookIds: (webhookId: string) => boolean;
  readonly queue: DeliveryRecord[];
  wake: () => void;
  lost: boolean;
}

/**
 * The flight recorder: every delivery with its verdict, bounded by age, number and size. Verdicts are facts; headers and bodies
 * lie in the content log.
 */
export class DeliveryStore {
  readonly #facts: Facts;
  readonly #contents: ContentLog;
  readonly #bounds: DeliveryBounds;
  readonly #webhookIds: () => readonly string[];
  readonly #followers = new Set<Follower>();
  readonly #sweeping: NodeJS.Timeout;

  constructor(
    facts: Facts,
    contents: ContentLog,
    webhookIds: () => readonly string[],
    bounds: DeliveryBounds = DELIVERY_BOUNDS,
  ) {
    this.#facts = facts;
    this.#contents = contents;
    this.#webhookIds = webhookIds;
    this.#bounds = bounds;
    this.#sweeping = setInterval(() => void this.sweep(Date.now()).catch(() => undefined), SWEEP_MS).unref();
  }

  /** Makes headers and body durable, credentials masked. StorageError. */
  async keep(headers: Headers, body: Buffer): Promise<StoredContent> {
    const head = Buffer.from(JSON.stringify(masked(headers)));
    const place = await this.#contents.append(Buffer.concat([head, body]));
    return { ...place, headerBytes: head.length };
  }

  fact(record: DeliveryRecord): Fact {
    return {
      collection: deliveriesOf(record.webhookId),
      key: record.deliveryId,
      value: record as unknown as Json,
    };
  }

  /** The record's fact is durable: followers learn of it. */
  announce(record: DeliveryRecord): void {
    for (const follower of this.#followers) {
      if (!follower.webhookIds(record.webhookId)) continue;
      if (follower.queue.length >= MOST_BEHIND) follower.lost = true;
      else follower.queue.push(record);
      follower.wake();
    }
  }

  get(webhookId: string, deliveryId: string): DeliveryRecord | undefined {
    return this.#facts.get(deliveriesOf(webhookId), deliveryId) as DeliveryRecord | undefined;
  }

  /** In the order in which they became durable. */
  all(webhookId: string): DeliveryRecord[] {
    return [...this.#facts.all(deliveriesOf(webhookId)).values()] as unknown as DeliveryRecord[];
  }

  /** Undefined when it is not there any more. */
  async content({ content }: DeliveryRecord): Promise<Content | undefined> {
    const bytes = await this.#contents.read(content);
    if (bytes === undefined) return undefined;
    const headers = JSON.parse(bytes.subarray(0, content.headerBytes).toString('utf8')) as Content['headers'];
    return { headers, body: bytes.subarray(content.headerBytes) };
  }

  /**
   * Deliveries as they become durable, of those webhooks that are meant, until the signal aborts. With `after`, first those
   * that came after that one; an id that is not known (any more) gives all that there are.
   */
  async *follow(
    isMeant: (webhookId: string) => boolean,
    after: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<DeliveryRecord> {
    const follower: Follower = { webhookIds: isMeant, queue: [], wake: () => undefined, lost: false };
    const history = after === undefined ? [] : this.#since(isMeant, after);
    this.#followers.add(follower);
    const stop = () => follower.wake();
    signal.addEventListener('abort', stop);
    try {
      yield* history;
      while (!signal.aborted) {
        const next = follower.queue.shift();
        if (next !== undefined) yield next;
        else if (follower.lost) return;
        else
          await new Promise<void>((resolve) => {
            follower.wake = resolve;
          });
      }
    } finally {
      this.#followers.delete(follower);
      signal.removeEventListener('abort', stop);
    }
  }

  #since(isMeant: (webhookId: string) => boolean, after: string): DeliveryRecord[] {
    const known = this.#webhookIds()
      .filter(isMeant)
      .flatMap((id) => this.all(id));
    return known.filter(({ deliveryId }) => deliveryId > after).sort((a, b) => (a.deliveryId < b.deliveryId ? -1 : 1));
  }

  /** Forgets what is beyond the bounds. At a start also segments that a crash left without a fact. */
  async sweep(now: number, atStart = false): Promise<void> {
    const kept: DeliveryRecord[] = [];
    const dropped: DeliveryRecord[] = [];
    const oldest = this.#oldestToKeep();
    const since = new Date(now - this.#bounds.maxAgeMs).toISOString();
    for (const id of this.#webhookIds()) {
      const records = this.all(id);
      const from = records.length - this.#bounds.maxPerWebhook;
      for (const [at, record] of records.entries()) {
        (at < from || record.receivedAt < since || record.content.segment < oldest ? dropped : kept).push(record);
      }
    }
    for (let at = 0; at < dropped.length; at += 1000)
      await this.#facts.put(dropped.slice(at, at + 1000).map((record) => ({ ...this.fact(record), value: null })));
    const named = new Set(kept.map(({ content }) => content.segment));
    // A content that was just written may not have its fact yet: it is in the newest segment, or the one before.
    const safe = atStart ? this.#contents.newest : this.#contents.newest - 2;
    for (const segment of [...this.#contents.segments.keys()])
      if (segment < oldest || (segment <= safe && !named.has(segment))) await this.#contents.remove(segment);
  }

  /** The oldest segment that fits into the bound, counted from the newest. */
  #oldestToKeep(): number {
    let total = 0;
    let oldest = this.#contents.newest;
    for (const [segment, bytes] of [...this.#contents.segments].reverse()) {
      total += bytes;
      if (total > this.#bounds.maxBytes && segment < this.#contents.newest - 1) return oldest;
      oldest = segment;
    }
    return 0;
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeping);
    await this.#contents.close();
  }
}

function masked(headers: Headers): JsonObject {
  const shown: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) shown[name] = MASKED.has(name) ? '***' : value;
  return shown;
}

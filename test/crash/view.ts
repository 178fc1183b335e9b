import { isDeepStrictEqual } from 'node:util';
import type { LogItem } from '../../src/client/client.ts';
import type { Answer } from '../../src/contract/types.ts';

export type Instance = Answer<'getInstance'>;

/** A run as the client that asked for it knows it. */
export interface Run {
  /** Its correlation key, its Idempotency-Key where it has one, and what it has to return. */
  readonly number: string;
  readonly flow: string;
  /** Without an Idempotency-Key, and asked for once: without an answer it may have started or not. */
  readonly once: boolean;
  /** Known once the start is acknowledged. */
  id: string | undefined;
  /** Versions that may have run: what was acknowledged before the start was asked for, and what was asked for by its answer. */
  readonly leastVersion: number;
  mostVersion: number;
  /** What it waits for when the clients go: nobody gave it that. */
  leftAt: 'ask' | 'one' | undefined;
  /** `maybe`: it had gone unanswered, and is not to be repeated. */
  cancelled: 'no' | 'maybe' | 'yes';
}

/** One reader of one log, over all its connections. */
export interface Reading {
  readonly id: string;
  readonly items: LogItem[];
}

/** What the clients know, kept outside of the service (the truth that it is held against). */
export class View {
  readonly runs: Run[] = [];
  readonly readings: Reading[] = [];
  /** Events by their id, whether the webhook's address answered 200. */
  readonly deliveries = new Map<string, boolean>();
  /** Answers of the events that were sent, by messageId. */
  readonly sent = new Map<string, string>();
  /** Lifecycle events in the order in which they came, as JSON by their ids. */
  readonly lifecycle: [id: string, event: string][] = [];
  /** Versions of each flow: acknowledged, and asked for. */
  readonly acknowledged = new Map<string, number>();
  readonly asked = new Map<string, number>();
  /** What no fault excuses. */
  readonly problems: string[] = [];
  readonly #seen = new Map<string, Instance>();

  /** An instance was read: what was seen before of it can't be undone (A4). */
  observe(instance: Instance): void {
    const before = this.#seen.get(instance.processInstanceId);
    this.#seen.set(instance.processInstanceId, instance);
    const problem = before && contradiction(before, instance);
    if (problem !== undefined) this.problems.push(`instance ${instance.processInstanceId}: ${problem}`);
  }

  get seen(): ReadonlyMap<string, Instance> {
    return this.#seen;
  }
}

/** How `after` can't have become of `before`; undefined when it can. */
function contradiction(before: Instance, after: Instance): string | undefined {
  const fixed = [
    'processId',
    'processVersion',
    'startTime',
    'correlationKey',
    'environment',
    'organizationId',
  ] as const;
  for (const field of fixed) if (before[field] !== after[field]) return `its ${field} changed`;
  if (before.stateCd !== 0 && !isDeepStrictEqual(before, after)) return 'it had ended and changed';
  for (const [at, was] of before.nodes.entries()) {
    const is = after.nodes[at];
    if (is?.nodeId !== was.nodeId || is.startTime !== was.startTime) return `its node ${was.nodeId} is gone`;
    if (was.statusCd >= 2 && !isDeepStrictEqual(was, is)) return `its node ${was.nodeId} had ended and changed`;
    if (is.attempt < was.attempt) return `its node ${was.nodeId} lost an attempt`;
  }
  return undefined;
}

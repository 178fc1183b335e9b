import { change } from './apply.ts';
import { find } from './body.ts';
import { type Draft, emptyDraft } from './draft.ts';
import type { Event } from './event.ts';
import type { Flow } from './flow.ts';
import { LogFold } from './log.ts';
import type { State } from './state.ts';

/** One node instance of a history, in the order they began. */
export interface NodeRecord {
  readonly nodeId: string;
  readonly nodeName: string;
  readonly nodeType: string;
  /** 0 Running, 1 Waiting, 2 Completed, 3 Failed, 4 Cancelled, 5 TimedOut (decisions §1). */
  statusCd: 0 | 1 | 2 | 3 | 4 | 5;
  readonly startTime: number;
  endTime?: number;
  attempt: number;
}

const ENDED = { nodeCompleted: 2, nodeFailed: 3, nodeCancelled: 4, nodeTimedOut: 5 } as const;

/** The instance resource as its history tells it: feed it every event in order. */
export class ViewFold {
  readonly flow: Flow;
  readonly #draft: Draft = emptyDraft();
  readonly #records = new Map<number, NodeRecord>();
  /** Instances that subProcess nodes started. */
  readonly children: string[] = [];
  /** The node whose error failed the instance, or the one that last began. */
  lastNode = '';

  constructor(flow: Flow) {
    this.flow = flow;
  }

  get state(): State {
    return this.#draft;
  }

  get nodes(): readonly NodeRecord[] {
    return [...this.#records.values()];
  }

  next(event: Event, at: number): void {
    change(this.#draft, event, at);
    if (event.type === 'nodeStarted') this.#began(event.n, event.node, at);
    else if (event.type === 'childStarted') this.#child(event.n, event.child);
    else if ('n' in event) this.#progress(event.n, event, at);
  }

  #began(n: number, id: string, at: number): void {
    const node = find(this.flow, id)?.node;
    const record = { nodeId: id, nodeName: node?.name ?? id, nodeType: node?.type ?? '', startTime: at };
    this.#records.set(n, { ...record, statusCd: 0, attempt: 1 });
    this.lastNode = id;
  }

  #child(n: number, child: string): void {
    if (this.#records.get(n)?.nodeType === 'subProcess') this.children.push(child);
  }

  #progress(n: number, event: Event, at: number): void {
    const record = this.#records.get(n);
    if (record === undefined) return;
    if (event.type === 'nodeWaiting') record.statusCd = 1;
    if (event.type === 'workStarted') record.attempt = event.attempt;
    if (!Object.hasOwn(ENDED, event.type)) return;
    record.statusCd = ENDED[event.type as keyof typeof ENDED];
    record.endTime = at;
  }
}

/** The instance resource as it was once its log had `entries` entries, until the next one came. */
export class PastFold {
  readonly view: ViewFold;
  readonly #log: LogFold;
  #left: number;

  constructor(flow: Flow, entries: number) {
    this.view = new ViewFold(flow);
    this.#log = new LogFold(flow);
    this.#left = entries;
  }

  next(event: Event, at: number): void {
    if (this.#left < 0) return;
    if (this.#log.next(event, at) !== undefined) this.#left -= 1;
    if (this.#left >= 0) this.view.next(event, at);
  }
}

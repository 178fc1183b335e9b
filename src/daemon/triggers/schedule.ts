import { type Cron, nextMatch, parseCron } from '../../engine/time.ts';
import { DueHeap } from '../due-heap.ts';
import type { Runtime } from '../runtime/door.ts';
import type { DefinitionStore } from '../store/definitions.ts';
import { type ActiveTriggers, ownEnvironment } from './active.ts';
import { type Clock, SYSTEM_CLOCK } from './clock.ts';
import { lastMatch } from './matches.ts';
import { type ActiveSchedule, type ScheduleLog, ScheduleRuns } from './schedule-runs.ts';

export interface ScheduleParts {
  readonly runtime: Runtime;
  readonly definitions: DefinitionStore;
  readonly active: ActiveTriggers;
  readonly log: ScheduleLog;
  readonly clock?: Clock;
}

interface Schedule {
  readonly key: string;
  readonly cron: Cron;
  active: ActiveSchedule;
  withdrawn: boolean;
  /** The next match; undefined when there is none any more. */
  due: number | undefined;
}

/** A longer wait is looked at again: the clock may be set, the machine may sleep. */
const LONGEST_WAIT_MS = 60_000;
/** A match that is later than this was missed, as if the daemon had been down. */
const PUNCTUAL_MS = 60_000;

/**
 * Starts flows by the clock (decisions §6). One heap of next matches behind one timer: waiting costs nothing, however many there
 * are. A flow that is active in both environments runs in PRODUCTION alone; by the clock it runs in DEVELOPMENT only while it is
 * not published in PRODUCTION, so that one match is one run.
 */
export class Schedules {
  readonly #parts: ScheduleParts;
  readonly #clock: Clock;
  readonly #runs: ScheduleRuns;
  readonly #schedules = new Map<string, Schedule>();
  readonly #byFlow = new Map<string, readonly string[]>();
  readonly #heap = new DueHeap<{ readonly due: number; readonly key: string }>();
  #cancel: (() => void) | undefined;
  #lastNow: number;
  #closed = false;

  constructor(parts: ScheduleParts) {
    this.#parts = parts;
    this.#clock = parts.clock ?? SYSTEM_CLOCK;
    this.#runs = new ScheduleRuns(parts.runtime, parts.log, this.#clock);
    this.#lastNow = this.#clock.now();
    for (const processId of parts.active.processIds()) this.#follow(processId, true);
    parts.active.onChange((processId) => {
      this.#follow(processId, false);
      this.#arm();
    });
    this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
    this.#runs.close();
  }

  /** Takes up a flow's schedules as they are now; `atStart`: with what was missed while the daemon was down. */
  #follow(processId: string, atStart: boolean): void {
    const wanted = new Map(this.#scheduled(processId).map((active) => [keyOf(active), active]));
    for (const key of this.#byFlow.get(processId) ?? []) if (!wanted.has(key)) this.#withdraw(key);
    if (wanted.size === 0) this.#byFlow.delete(processId);
    else this.#byFlow.set(processId, [...wanted.keys()]);
    for (const [key, active] of wanted) {
      const known = this.#schedules.get(key);
      if (known === undefined) this.#add(key, active, atStart);
      else known.active = active;
    }
    if (this.#heap.size > 64 && this.#heap.size > 2 * this.#schedules.size)
      this.#heap.keep(({ key, due }) => this.#schedules.get(key)?.due === due);
  }

  #scheduled(processId: string): ActiveSchedule[] {
    const environment = ownEnvironment(this.#parts.definitions, processId);
    return this.#parts.active
      .of(processId)
      .filter((one): one is ActiveSchedule => one.trigger.type === 'schedule' && one.environment === environment);
  }

  #add(key: string, active: ActiveSchedule, atStart: boolean): void {
    const cron = parseCron(active.trigger.cron, active.trigger.timezone);
    if ('problem' in cron) {
      this.#parts.log.warn({ processId: active.processId, problem: cron.problem }, 'a schedule cannot be followed');
      return;
    }
    const schedule: Schedule = { key, cron, active, withdrawn: false, due: undefined };
    this.#schedules.set(key, schedule);
    const now = this.#clock.now();
    if (atStart) {
      const missed = active.trigger.catchUp ? lastMatch(cron, this.#knownUntil(schedule, now), now) : undefined;
      if (missed !== undefined) this.#runs.fire(schedule, missed);
      this.#runs.resume(schedule);
    }
    this.#await(schedule, now);
  }

  /** Until when matches were dealt with, or did not count yet because the flow was published later. */
  #knownUntil({ key, active }: Schedule, now: number): number {
    const flow = this.#parts.definitions.find(active.processId, undefined);
    const published = flow === undefined ? now : Date.parse(flow.updatedAt);
    return Math.max(this.#runs.knownUntil(key), published);
  }

  #withdraw(key: string): void {
    const schedule = this.#schedules.get(key);
    if (schedule !== undefined) schedule.withdrawn = true;
    this.#schedules.delete(key);
    this.#runs.forget(key);
  }

  #await(schedule: Schedule, now: number): void {
    schedule.due = nextMatch(schedule.cron, now);
    if (schedule.due !== undefined) this.#heap.push({ due: schedule.due, key: schedule.key });
  }

  #arm(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const next = this.#heap.first;
    if (next === undefined || this.#closed) return;
    const wait = Math.min(Math.max(next.due - this.#clock.now(), 0), LONGEST_WAIT_MS);
    this.#cancel = this.#clock.after(wait, () => this.#ring());
  }

  #ring(): void {
    const now = this.#clock.now();
    if (now < this.#lastNow - PUNCTUAL_MS) this.#startOver(now);
    this.#lastNow = now;
    for (let top = this.#heap.first; top !== undefined && top.due <= now; top = this.#heap.first) {
      this.#heap.pop();
      const schedule = this.#schedules.get(top.key);
      // One that was withdrawn, or taken up anew, left its old entry behind.
      if (schedule === undefined || schedule.due !== top.due) continue;
      this.#come(schedule, top.due, now);
      this.#await(schedule, now);
    }
    this.#arm();
  }

  /** Of several matches since `due`, the last one counts. */
  #come(schedule: Schedule, due: number, now: number): void {
    const match = lastMatch(schedule.cron, due - 1, now) ?? due;
    if (now - match <= PUNCTUAL_MS || schedule.active.trigger.catchUp) this.#runs.fire(schedule, match);
    else {
      const fields = { processId: schedule.active.processId, scheduledTime: new Date(match).toISOString() };
      this.#parts.log.warn(fields, 'a schedule was missed: the machine slept, or its clock was set');
    }
  }

  /** The clock was set back. What fired already is known, and does not fire again. */
  #startOver(now: number): void {
    this.#heap.keep(() => false);
    for (const schedule of this.#schedules.values()) this.#await(schedule, now);
  }
}

/** The same expression in the same timezone is the same schedule, whatever version it is in. */
const keyOf = ({ processId, environment, trigger }: ActiveSchedule): string =>
  `${processId}/${environment}/${trigger.cron}/${trigger.timezone}`;

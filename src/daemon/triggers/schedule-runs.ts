import type { Trigger } from '../../engine/flow.ts';
import { isObject, type Json } from '../../engine/json.ts';
import { type Fact, StorageError } from '../ports.ts';
import { Rejection, type Runtime, type StartRequest } from '../runtime/door.ts';
import { Turns } from '../store/turns.ts';
import type { ActiveTrigger } from './active.ts';
import { type Clock, pause } from './clock.ts';

export type ActiveSchedule = ActiveTrigger<Extract<Trigger, { type: 'schedule' }>>;

/** A schedule whose matches are dealt with here. */
export interface Followed {
  /** Where its state is kept. */
  readonly key: string;
  /** Of the version that is active now. */
  readonly active: ActiveSchedule;
  /** It is followed no more. */
  readonly withdrawn: boolean;
}
export interface ScheduleLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** What is known of a schedule across restarts. */
interface ScheduleState {
  /** The newest match that was dealt with, ms. */
  readonly match: number;
  /** What it started last. */
  readonly run: string | null;
  /** Matches that wait for the end of that run, oldest first. */
  readonly queued: readonly number[];
}

const COLLECTION = 'schedules';
const NEW: ScheduleState = { match: 0, run: null, queued: [] };
/** A clock that was set back further than this was wrong before. */
const PLAUSIBLE_MS = 24 * 3_600_000;
const MOST_QUEUED = 100;
/** Starts under way at a time: ten thousand schedules may be due in the same second. */
const AT_ONCE = 64;
const RETRY_MS = 1000;

/** What a match does: a match and the run that it starts are one commit, so that each fires once, across restarts too. */
export class ScheduleRuns {
  readonly #runtime: Runtime;
  readonly #log: ScheduleLog;
  readonly #clock: Clock;
  readonly #stopped = new AbortController();
  /** The matches of one schedule are dealt with one after the other. */
  readonly #turns = new Map<string, Turns>();
  /** Schedules with queued matches, which wait for the end of a run. */
  readonly #waiting = new Set<string>();
  readonly #line: (() => Promise<void>)[] = [];
  #working = 0;

  constructor(runtime: Runtime, log: ScheduleLog, clock: Clock) {
    this.#runtime = runtime;
    this.#log = log;
    this.#clock = clock;
  }

  close(): void {
    this.#stopped.abort();
  }

  /** The newest match that was dealt with, ms; 0 when there was none. */
  knownUntil(key: string): number {
    return this.#stateOf(key).match;
  }

  /** A match has come. */
  fire(schedule: Followed, match: number): void {
    this.#perform(() => this.#turnsOf(schedule.key).take(() => this.#meet(schedule, match)));
  }

  /** Goes on with matches that were queued before a restart. */
  resume(schedule: Followed): void {
    if (this.#stateOf(schedule.key).queued.length > 0) this.#startQueued(schedule);
  }

  /** Nothing follows the schedule any more. */
  forget(key: string): void {
    this.#turns.delete(key);
    if (this.#runtime.facts.get(COLLECTION, key) !== undefined)
      this.#perform(() => this.#runtime.facts.put([{ collection: COLLECTION, key, value: null }]));
  }

  /** Deals with a match, once, as the overlap policy says. */
  async #meet(schedule: Followed, match: number): Promise<void> {
    const state = this.#stateOf(schedule.key);
    if (match <= state.match || schedule.withdrawn) return;
    const { overlap } = schedule.active.trigger;
    const isBusy = overlap !== 'allow' && (state.queued.length > 0 || (await this.#isRunning(state.run)));
    if (!isBusy) return this.#start(schedule, { ...state, match }, match);
    if (overlap === 'queue' && state.queued.length < MOST_QUEUED) {
      await this.#put(schedule.key, { ...state, match, queued: [...state.queued, match] });
      this.#startQueued(schedule);
      return;
    }
    this.#log.info(about(schedule, match), 'a schedule was skipped: the run before it still runs');
    await this.#put(schedule.key, { ...state, match });
  }

  /** One commit: the run, and that the match is dealt with. */
  async #start(schedule: Followed, state: ScheduleState, match: number): Promise<void> {
    await this.#runtime.startAll({
      starts: [startOf(schedule, match)],
      facts: ([started]) => {
        if (started instanceof Rejection) {
          const fields = { ...about(schedule, match), reason: started.message };
          this.#log.warn(fields, 'a schedule could not start its flow');
          return [factOf(schedule.key, state)];
        }
        return [factOf(schedule.key, { ...state, run: started?.processInstanceId ?? null })];
      },
      answer: null,
    });
  }

  /** Starts what is queued, each when the run before it has ended. */
  #startQueued(schedule: Followed): void {
    if (this.#waiting.has(schedule.key)) return;
    this.#waiting.add(schedule.key);
    this.#drain(schedule)
      .catch((error: unknown) => this.#log.warn({ err: error }, 'queued matches of a schedule could not be started'))
      .finally(() => this.#waiting.delete(schedule.key));
  }

  async #drain(schedule: Followed): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted && !schedule.withdrawn) {
      const { run, queued } = this.#stateOf(schedule.key);
      if (queued.length === 0) return;
      await this.#untilDone(async () => {
        if (run !== null) await this.#ended(run, signal);
        if (!signal.aborted) await this.#turnsOf(schedule.key).take(() => this.#startNext(schedule));
      });
    }
  }

  async #startNext(schedule: Followed): Promise<void> {
    const state = this.#stateOf(schedule.key);
    const [match, ...queued] = state.queued;
    if (match !== undefined && !schedule.withdrawn) await this.#start(schedule, { ...state, queued }, match);
  }

  async #isRunning(run: string | null): Promise<boolean> {
    if (run === null) return false;
    return (await this.#runtime.logPosition(undefined, run))?.ended === false;
  }

  async #ended(run: string, signal: AbortSignal): Promise<void> {
    const position = await this.#runtime.logPosition(undefined, run);
    if (position === undefined || position.ended) return;
    for await (const event of this.#runtime.log(undefined, run, position.last, signal)) if ('end' in event) return;
  }

  #stateOf(key: string): ScheduleState {
    const kept = this.#runtime.facts.get(COLLECTION, key);
    if (!isObject(kept)) return NEW;
    const state = kept as unknown as ScheduleState;
    return state.match > this.#clock.now() + PLAUSIBLE_MS ? { ...state, match: 0 } : state;
  }

  async #put(key: string, state: ScheduleState): Promise<void> {
    await this.#runtime.facts.put([factOf(key, state)]);
  }

  #turnsOf(key: string): Turns {
    const known = this.#turns.get(key);
    if (known !== undefined) return known;
    const made = new Turns();
    this.#turns.set(key, made);
    return made;
  }

  #perform(job: () => Promise<unknown>): void {
    this.#line.push(async () => {
      try {
        await this.#untilDone(job);
      } catch (error) {
        if (!this.#stopped.signal.aborted) this.#log.warn({ err: error }, 'a schedule could not be dealt with');
      }
    });
    this.#work();
  }

  /** Again and again for as long as the disk takes no writes, or there is too much to do. */
  async #untilDone(job: () => Promise<unknown>): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      try {
        await job();
        return;
      } catch (error) {
        if (!mayPass(error)) throw error;
        await pause(this.#clock, RETRY_MS, this.#stopped.signal);
      }
    }
  }

  #work(): void {
    while (this.#working < AT_ONCE && this.#line.length > 0) {
      this.#working += 1;
      void this.#line
        .shift()?.()
        .finally(() => {
          this.#working -= 1;
          this.#work();
        });
    }
  }
}

/** Matches of schedules that wait for the end of a run, by what the schedule says. */
export function queuedBehind(facts: Runtime['facts'], run: string): readonly number[] {
  return [...facts.all(COLLECTION).values()].flatMap((kept) => {
    const state = kept as unknown as ScheduleState;
    return state.run === run ? state.queued : [];
  });
}

const mayPass = (error: unknown): boolean =>
  error instanceof StorageError || (error instanceof Rejection && error.code === 'OVERLOADED');

const factOf = (key: string, state: ScheduleState): Fact => ({
  collection: COLLECTION,
  key,
  value: state as unknown as Json,
});

function startOf({ active }: Followed, match: number): StartRequest {
  const { organizationId, processId, version, environment } = active;
  const { type, cron, timezone } = active.trigger;
  const trigger = { type, cron, timezone, scheduledTime: new Date(match).toISOString() };
  return { organizationId, processId, version, environment, data: {}, trigger };
}

const about = ({ active }: Followed, match: number): object => ({
  processId: active.processId,
  cron: active.trigger.cron,
  scheduledTime: new Date(match).toISOString(),
});

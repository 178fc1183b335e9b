import assert from 'node:assert/strict';
import type { Flow } from '../../src/engine/flow.ts';
import {
  type Activation,
  applyAll,
  begin,
  type Command,
  calledInstance,
  childResult,
  DEFAULT_LIMITS,
  type Decision,
  type DeliveryAnswer,
  decide,
  type Event,
  emptyDraft,
  inlineChild,
  type Json,
  type JsonObject,
  type Limits,
  LogFold,
  type LogLine,
  type Owed,
  type Purpose,
  processChild,
  type Refusal,
  restoreState,
  type StartCommand,
  type State,
  storedState,
  unfolded,
  ViewFold,
} from '../../src/engine/index.ts';
import { compile } from '../../src/engine/parse.ts';
import { addDuration, type Duration, parseDuration } from '../../src/engine/time.ts';
import { checkEnded, checkProgress, checkRunning } from './invariants.ts';

export const FLOW = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
/** A Thursday, midnight. */
export const BEGINNING = Date.UTC(2026, 0, 1);
const STATES = ['Running', 'Completed', 'Failed', 'Cancelled'] as const;
const STATUSES = ['Running', 'Waiting', 'Completed', 'Failed', 'Cancelled', 'TimedOut'] as const;

/** A flow of these nodes, written as YAML lines below `nodes:` or as an object. */
export function flowOf(nodes: string | object, id = FLOW): Flow {
  const written = typeof nodes === 'string' ? nodes.replace(/^/gm, '  ') : JSON.stringify(nodes);
  const { flow, problems } = compile(`id: ${id}\nname: Test\nnodes:\n  ${written.trim()}\n`);
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (flow === undefined) throw new Error(`the flow does not compile: ${JSON.stringify(errors, null, 2)}\n${written}`);
  return flow;
}

interface Waiting {
  readonly run: Run;
  readonly n: number;
  readonly purpose: Purpose;
  readonly kind: 'message' | 'signal';
  readonly name: string;
  readonly correlationKey: string;
}

/** Instances of the pure engine under a virtual clock: what one owes to others is delivered as the runtime does it. */
export class World {
  at = BEGINNING;
  readonly env: Record<string, Json> = {};
  readonly limits: Limits;
  readonly runs: Run[] = [];
  /** All events of all instances as they would be written: `<instance> <type> <node>`, in the order of the frames. */
  readonly trace: string[] = [];
  readonly #instances: number;
  readonly #flows = new Map<string, Flow>();
  readonly #waiting = new Map<string, Waiting>();
  /** Children whose end their parent was told. */
  readonly #told = new Set<Run>();
  #frame = new Map<Run, string[]>();

  /** No instance starts another once there are `instances`. */
  constructor(limits: Partial<Limits> = {}, instances = 1000) {
    this.limits = { ...DEFAULT_LIMITS, ...limits };
    this.#instances = instances;
  }

  /** Subscriptions that wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Makes a flow known by its id, for subProcess and callProcess. */
  publish(id: string, nodes: string | object): Flow {
    const flow = flowOf(nodes, id);
    this.#flows.set(id, flow);
    return flow;
  }

  start(nodes: string | object | Flow, options: Partial<StartCommand> = {}): Run {
    const flow = typeof nodes === 'object' && 'body' in nodes ? (nodes as Flow) : flowOf(nodes);
    const run = this.tryStart(flow, options);
    if (!(run instanceof Run)) throw new Error(`the instance did not begin: ${run.code}: ${run.message}`);
    return run;
  }

  tryStart(flow: Flow, options: Partial<StartCommand> = {}): Run | Refusal {
    const command = { ...START, processId: flow.id, ...options };
    return this.#commit(() => this.#begin(flow, command));
  }

  /** Gives a command to an instance, and settles what it leads to. */
  command(run: Run, command: Command): Refusal | undefined {
    return this.#commit(() => this.#decide(run, command));
  }

  /** An event from outside (or from a throw node): a message goes to the oldest that waits, a signal to all. */
  send(kind: 'message' | 'signal', name: string, correlationKey = '', data: JsonObject = {}): readonly Run[] {
    return this.#commit(() => this.#throw(kind, name, correlationKey, data));
  }

  message(name: string, correlationKey = '', data: JsonObject = {}): readonly Run[] {
    return this.send('message', name, correlationKey, data);
  }

  signal(name: string, data: JsonObject = {}): readonly Run[] {
    return this.send('signal', name, '', data);
  }

  /** Lets time pass; each timer that comes due fires at its time. An ISO 8601 duration, or ms. */
  advance(by: string | number): void {
    const end = typeof by === 'number' ? this.at + by : addDuration(this.at, parseDuration(by) as Duration);
    for (let next = this.#nextTimer(end); next !== undefined; next = this.#nextTimer(end)) {
      this.at = Math.max(this.at, next.due);
      this.command(next.run, { type: 'fireTimer', n: next.n, purpose: next.purpose, due: next.due });
    }
    this.at = end;
  }

  #nextTimer(until: number) {
    const timers = this.runs.flatMap((run) =>
      [...run.state.active.values()].flatMap(({ n, timers }) => timers.map((timer) => ({ run, n, ...timer }))),
    );
    const due = timers.filter((timer) => timer.due <= until);
    return due.sort((a, b) => a.due - b.due)[0];
  }

  #commit<T>(act: () => T): T {
    this.#frame = new Map();
    const answer = act();
    this.#settle();
    for (const events of this.#frame.values()) this.trace.push(...events);
    for (const run of this.runs) {
      if (run.state.stateCd === 0) checkRunning(run.state, (id) => this.runs.find((other) => other.id === id)?.state);
      else checkEnded(run.state);
    }
    return answer;
  }

  #settle(): void {
    for (let left = 100_000; left > 0; left -= 1) {
      const owing = this.runs.find(({ state }) => state.outbox.size > 0);
      if (owing !== undefined) this.#deliver(owing, [...owing.state.outbox.keys()][0] as number);
      else {
        const cut = this.runs.find(({ state }) => state.stateCd === 0 && state.ready.length > 0);
        if (cut === undefined) return;
        this.#decide(cut, { type: 'continue' });
      }
    }
    throw new Error('the instances never come to rest');
  }

  #deliver(run: Run, id: number): void {
    const owed = run.state.outbox.get(id) as Owed;
    this.#decide(run, { type: 'deliver', id, answer: this.#carryOut(run, owed) });
    if (owed.kind === 'cancelChild') this.#first(owed.child);
  }

  #carryOut(run: Run, owed: Owed): DeliveryAnswer {
    switch (owed.kind) {
      case 'startChild':
      case 'call':
        return this.#startOther(run, owed);
      case 'cancelChild': {
        const child = this.runs.find(({ id }) => id === owed.child) as Run;
        assert.ok(!this.#told.has(child), `${run.id} cancels no child that it knows to have ended`);
        this.#decide(child, { type: 'cancel', byParent: true });
        return { ok: true };
      }
      case 'throw':
        this.#throw(owed.event, owed.name, owed.correlationKey, owed.data, { run, n: owed.n });
        return { ok: true };
      case 'tellParent': {
        const { instanceId, activation } = run.state.parent as NonNullable<State['parent']>;
        const parent = this.runs.find(({ id }) => id === instanceId) as Run;
        this.#told.add(run);
        this.#decide(parent, { type: 'endChild', n: activation, child: run.id, result: childResult(run.state) });
        return { ok: true };
      }
    }
  }

  #startOther(run: Run, owed: Extract<Owed, { kind: 'startChild' | 'call' }>): DeliveryAnswer {
    if (this.runs.length >= this.#instances) return { ok: false, code: 'CALL_LIMIT', message: 'too many instances' };
    if (owed.kind === 'startChild' && owed.processId === undefined) {
      return begun(this.#begin(run.flow, { ...START, ...inlineChild(run.flow, run.state, owed) }));
    }
    const processId = owed.processId as string;
    const flow = this.#flows.get(processId);
    if (flow === undefined) return { ok: false, code: 'NOT_PUBLISHED', message: `${processId} is not published` };
    const start =
      owed.kind === 'call'
        ? calledInstance(run.state, owed, '1')
        : processChild(run.state, { ...owed, processId }, '1');
    return begun(this.#begin(flow, { ...START, ...start }));
  }

  #throw(
    kind: 'message' | 'signal',
    name: string,
    correlationKey: string,
    data: JsonObject,
    by?: { readonly run: Run; readonly n: number | undefined },
  ): readonly Run[] {
    const taken: Run[] = [];
    for (const waiting of [...this.#waiting.values()]) {
      if (waiting.kind !== kind || waiting.name !== name) continue;
      if (kind === 'message' && (waiting.correlationKey !== correlationKey || taken.length > 0)) continue;
      const { run, n, purpose } = waiting;
      if (run === by?.run && n > (by.n as number)) continue;
      const refusal = this.#decide(run, { type: 'takeEvent', n, purpose, name, data });
      if (refusal === undefined) taken.push(run);
    }
    return taken;
  }

  #begin(flow: Flow, command: Omit<StartCommand, 'id'>): Run | Refusal {
    const id = `i${this.runs.length + 1}`;
    const decision = begin(flow, { ...command, id }, this.#context());
    if (!decision.ok) return decision.refusal;
    const run = new Run(this, flow, decision, this.at);
    this.runs.push(run);
    this.#note(run, decision);
    return run;
  }

  #decide(run: Run, command: Command): Refusal | undefined {
    const decision = run.decide(command, this.#context());
    if (!decision.ok) return decision.refusal;
    this.#note(run, decision);
    return undefined;
  }

  #note(run: Run, { events }: Extract<Decision, { ok: true }>): void {
    const lines = unfolded(events).map((event) => `${run.id} ${event.type} ${run.nodeOf(event)}`.trim());
    this.#frame.set(run, [...(this.#frame.get(run) ?? []), ...lines]);
    const open = new Map<string, Waiting>();
    for (const { n, subscriptions } of run.state.active.values()) {
      for (const one of subscriptions) open.set(`${run.id}:${n}:${one.purpose}`, { run, n, ...one });
    }
    for (const [key, waiting] of this.#waiting) if (waiting.run === run && !open.has(key)) this.#waiting.delete(key);
    for (const [key, waiting] of open) if (!this.#waiting.has(key)) this.#waiting.set(key, waiting);
  }

  #first(child: string): void {
    const frame = [...this.#frame];
    const its = frame.filter(([{ id }]) => id === child);
    this.#frame = new Map([...its, ...frame.filter(([{ id }]) => id !== child)]);
  }

  #context() {
    const env = (name: string): Json | undefined => this.env[name];
    return { at: this.at, env, limits: this.limits };
  }
}

/** How an instance starts unless a test says otherwise. */
export const START: Omit<StartCommand, 'id' | 'processId'> & { processId: string } = {
  processId: FLOW,
  version: '1',
  path: [],
  organizationId: 'org',
  environment: 'PRODUCTION',
  trigger: { type: 'api' },
  depth: 0,
  data: {},
};

const begun = (run: Run | Refusal): DeliveryAnswer =>
  run instanceof Run ? { ok: true, instanceId: run.id } : { ok: false, code: run.code, message: run.message };

/** One instance, with everything that its history tells of it. */
export class Run {
  readonly id: string;
  readonly flow: Flow;
  readonly events: Event[] = [];
  readonly log: LogLine[] = [];
  readonly view: ViewFold;
  readonly #logFold: LogFold;
  readonly #world: World;
  readonly #nodes = new Map<number, string>();
  #state: State;
  /** The state made of nothing but the events as they are in the journal. */
  #folded: State = emptyDraft();
  #stored: string;

  constructor(world: World, flow: Flow, begun: Extract<Decision, { ok: true }>, at: number) {
    this.#world = world;
    this.flow = flow;
    this.view = new ViewFold(flow);
    this.#logFold = new LogFold(flow);
    this.#state = begun.state;
    this.#stored = textOf(begun.state);
    this.id = begun.state.id;
    this.#follow(begun.events, at);
  }

  get state(): State {
    return this.#state;
  }

  get variables(): JsonObject {
    return JSON.parse(JSON.stringify(this.#state.variables));
  }

  /** `Running`, `Completed`, `Cancelled`, or `Failed CODE at node`. */
  get outcome(): string {
    const { stateCd, error } = this.#state;
    return error === undefined ? STATES[stateCd] : `${STATES[stateCd]} ${error.code} at ${error.nodeId}`;
  }

  /** Node instances in the order they began: `review Waiting`. */
  get nodes(): readonly string[] {
    return this.view.nodes.map(({ nodeId, statusCd }) => `${nodeId} ${STATUSES[statusCd]}`);
  }

  /** Ids of the nodes that are active, in the order they began. */
  get active(): readonly string[] {
    return [...this.#state.active.values()].map(({ node }) => node);
  }

  /** Log lines of `level`, as `node: message`. */
  logged(level: LogLine['level']): readonly string[] {
    return this.log.filter((line) => line.level === level).map(({ nodeId, message }) => `${nodeId}: ${message}`);
  }

  /** The instances that the subProcess node `id` started, in order. */
  children(): readonly Run[] {
    return this.#world.runs.filter(({ state }) => state.parent?.instanceId === this.id);
  }

  /** The oldest active one of a node. */
  activation(node: string): Activation {
    const found = [...this.#state.active.values()].find((one) => one.node === node);
    if (found === undefined) throw new Error(`${node} is not active; active are ${this.active.join(', ')}`);
    return found;
  }

  command(command: Command): Refusal | undefined {
    return this.#world.command(this, command);
  }

  complete(node: string, data: JsonObject = {}): Refusal | undefined {
    return this.command({ type: 'completeTask', node, data });
  }

  cancelTask(node: string, data: JsonObject = {}): Refusal | undefined {
    return this.command({ type: 'cancelTask', node, data });
  }

  cancel(): Refusal | undefined {
    return this.command({ type: 'cancel', byParent: false });
  }

  /** The outside work of `node` is done. */
  finish(node: string, value: Json = null, logs: { level: 'INFO' | 'WARN' | 'ERROR'; message: string }[] = []): void {
    const { n, attempt } = this.#working(node);
    this.command({ type: 'finishWork', n, attempt, outcome: { ok: true, value, logs } });
  }

  /** The outside work of `node` fails. */
  fail(node: string, code = 'BROKEN', message = 'it broke'): void {
    const { n, attempt } = this.#working(node);
    this.command({ type: 'finishWork', n, attempt, outcome: { ok: false, error: { code, message }, logs: [] } });
  }

  #working(node: string): Activation {
    const found = [...this.#state.active.values()].find((one) => one.node === node && one.phase === 'working');
    if (found === undefined) throw new Error(`${node} does not work`);
    return found;
  }

  /**
   * Decides, and checks what always holds: the state that was stays as it was; the same command on a stored and restored
   * state gives the same events; folding the events as the journal has them gives the new state.
   */
  decide(command: Command, context: Parameters<typeof decide>[3]): Decision {
    const before = this.#state;
    const decision = decide(this.flow, before, command, context);
    assert.equal(textOf(before), this.#stored, 'deciding leaves the state as it was');
    const again = decide(this.flow, restoreState(JSON.parse(this.#stored)), command, context);
    assert.equal(outcomeOf(again), outcomeOf(decision), 'a restored state decides the same');
    if (!decision.ok) return decision;
    this.#state = decision.state;
    this.#stored = textOf(decision.state);
    if (decision.events.length === 0) assert.equal(this.#stored, textOf(before), 'no events, no change');
    this.#follow(decision.events, context.at);
    return decision;
  }

  #follow(events: readonly Event[], at: number): void {
    const written = JSON.parse(JSON.stringify(events)) as Event[];
    this.#folded = applyAll(this.#folded, written, at);
    assert.equal(textOf(this.#folded), this.#stored, 'folding the events gives the state');
    assert.equal(textOf(restoreState(JSON.parse(this.#stored))), this.#stored, 'a stored state comes back the same');
    const before = this.view.nodes.map(({ statusCd }) => statusCd);
    for (const event of unfolded(written)) {
      if (event.type === 'nodeStarted') this.#nodes.set(event.n, event.node);
      this.events.push(event);
      this.view.next(event, at);
      const line = this.#logFold.next(event, at);
      if (line !== undefined) this.log.push(line);
    }
    const after = this.view.nodes.map(({ statusCd }) => statusCd);
    checkProgress(before, after);
  }

  /** The node that an event is about. */
  nodeOf(event: Event): string {
    if ('node' in event) return event.node;
    if ('n' in event) return this.#nodes.get(event.n) ?? '';
    return event.type === 'owed' ? event.owed.kind : '';
  }
}

const textOf = (state: State): string => JSON.stringify(storedState(state));
const outcomeOf = (decision: Decision): string =>
  JSON.stringify(decision.ok ? [decision.events, storedState(decision.state)] : decision.refusal);

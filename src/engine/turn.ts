import { change, changePassed } from './apply.ts';
import { bodyOf, located } from './body.ts';
import type { Context } from './command.ts';
import type { Draft } from './draft.ts';
import type { Assignment, Event, LogLevel } from './event.ts';
import { fail, NodeError, nodeError } from './failure.ts';
import type { Body, Connection, Flow, Node } from './flow.ts';
import { arrive, fireInclusiveJoins } from './join.ts';
import { isDeeper, type Json, type JsonObject, jsonSize, MAX_LEVELS, member, withPaths } from './json.ts';
import { type Condition, test } from './juel/index.ts';
import { behaviourOf } from './nodes/index.ts';
import { closeScope, endInstance, standstill } from './scope.ts';
import { type Activation, type Owed, type Purpose, ROOT_SCOPE } from './state.ts';
import {
  type Reference,
  resolveText,
  resolveTexts,
  resolveValue,
  type Template,
  type ValueTemplate,
} from './template.ts';
import { dueAt } from './time.ts';
import { lookup, ownerOf } from './visible.ts';

/** A step counts once more for each of so many bytes that it may read or writes: a turn is short whatever is in them. */
const STEP_BYTES = 64 * 1024;

/** What is held beside the variables may be so many times as large as they may be. */
const HELD_FACTOR = 4;

/** So many references without a value a node tells of; more would only fill the log. */
const MAX_TOLD = 20;

/** What an environment value that is a secret reads here (decisions §4). */
const SECRET = '***';

/**
 * One command's work on one instance: runs its tokens until all of them wait or end, and collects what happened. A node
 * file sees the turn through `enter(turn, node)`, where `turn.n` is the activation that is being run.
 */
export class Turn {
  readonly events: Event[] = [];
  readonly flow: Flow;
  readonly draft: Draft;
  readonly context: Context;
  /** The activation being run. */
  n = 0;
  /** What this step wrote, in bytes. */
  #written = 0;
  /** What a node that sets several variables has set so far. */
  readonly #ahead: { readonly path: readonly string[]; readonly value: Json }[] = [];
  /** References that this step warned of. */
  readonly #told = new Set<string>();

  constructor(flow: Flow, draft: Draft, context: Context) {
    this.flow = flow;
    this.draft = draft;
    this.context = context;
  }

  emit(event: Event): void {
    const last = this.events.at(-1);
    if (event.type === 'nodeCompleted' && last?.type === 'nodeStarted' && last.n === event.n) {
      this.events[this.events.length - 1] = changePassed(this.draft, last);
      return;
    }
    this.events.push(event);
    change(this.draft, event, this.context.at);
  }

  /** Runs every token that can move; stops early, with tokens left ready, when the turn has had its share. */
  run(): void {
    let steps = 0;
    do {
      while (this.draft.ready.length > 0 && this.draft.stateCd === 0) {
        if (this.draft.nextActivation - 1 > this.context.limits.steps) return this.#exceed();
        if (steps >= this.context.limits.turn) return;
        steps += this.#step(this.draft.ready[0] as number);
      }
    } while (this.draft.stateCd === 0 && fireInclusiveJoins(this));
    if (this.draft.stateCd === 0) standstill(this);
  }

  /** Runs a token; gives how much that was: one for each node that it leads to, more where much is read or written. */
  #step(n: number): number {
    const before = this.draft.nextActivation;
    this.#written = 0;
    this.visit(n, () => this.#enter());
    const started = this.draft.nextActivation - before;
    return Math.max(1, started) + Math.floor((this.draft.size + this.#written) / STEP_BYTES);
  }

  #exceed(): void {
    const { steps } = this.context.limits;
    const message = `the instance ran ${steps} nodes, the most that is allowed; does the flow loop without an end?`;
    endInstance(this, 2, { code: 'STEP_LIMIT', message, nodeId: this.node(this.draft.ready[0]).id });
  }

  /** Does `act` as activation `n`; what goes wrong in it is that node's error. */
  visit(n: number, act: () => void): void {
    this.n = n;
    this.#told.clear();
    try {
      act();
    } catch (error) {
      const { code, message } = nodeError(error);
      fail(this, n, code, message);
    }
  }

  #enter(): void {
    const node = this.node();
    this.#armBoundaries(node);
    this.armTimeout(node);
    behaviourOf(node).enter(this, node);
  }

  /** Those that do not interrupt come first: what ends the activity at the same instant finds that they have fired. */
  #armBoundaries(node: Node): void {
    const boundaries = this.body(this.activation().scope).boundaries.get(node.id);
    if (boundaries === undefined) return;
    const interrupts = ({ keys }: Node): number => Number(keys['cancelActivity']);
    for (const boundary of [...boundaries].sort((a, b) => interrupts(a) - interrupts(b))) {
      const purpose: Purpose = `boundary:${boundary.id}`;
      const { timer, message, signal, correlationKey } = boundary.keys as Readonly<
        Record<string, Template | undefined>
      >;
      if (timer !== undefined) this.arm(purpose, timer);
      if (message !== undefined) this.subscribe(purpose, 'message', message, correlationKey);
      if (signal !== undefined) this.subscribe(purpose, 'signal', signal, undefined);
    }
  }

  /** Arms the node's own `timeout`; with a retry policy each attempt gets a new one. */
  armTimeout(node: Node): void {
    if (node.timeout !== undefined) this.arm('timeout', node.timeout);
  }

  activation(n: number = this.n): Activation {
    return this.draft.active.get(n) as Activation;
  }

  node(n: number = this.n): Node {
    return located(this.flow, this.activation(n).node).node;
  }

  /** The nodes among which the tokens of a scope move. */
  body(scope: number): Body {
    return bodyOf(this.flow, this.draft, scope);
  }

  /** Ends this activation and moves its token on; no connections: the token ends here. */
  leave(connections: readonly Connection[]): void {
    const { scope } = this.activation();
    this.emit({ type: 'nodeCompleted', n: this.n });
    this.follow(connections, scope);
  }

  /** Sends a token along each connection; where none leads on, the scope may be over. */
  follow(connections: readonly Connection[], scope: number): void {
    for (const connection of connections) arrive(this, connection, scope);
    if (connections.length === 0 && this.#isOver(scope)) closeScope(this, scope);
  }

  #isOver(scope: number): boolean {
    return this.draft.scopes.has(scope) && (this.draft.population.get(scope) ?? 0) === 0;
  }

  start(node: string, scope: number, via?: string): void {
    const n = this.draft.nextActivation;
    const event =
      via === undefined ? { type: 'nodeStarted' as const, n, node } : { type: 'nodeStarted' as const, n, node, via };
    this.emit(scope === ROOT_SCOPE ? event : { ...event, scope });
  }

  /** This node waits for a task, an event or a timer. */
  wait(task?: JsonObject): void {
    this.emit({ type: 'nodeWaiting', n: this.n, ...(task && { task }) });
    if (task !== undefined) this.#written += jsonSize(task);
    this.checkHeld();
  }

  /** This node's outside work is to be done; its result comes back as a command. */
  work(): void {
    this.emit({ type: 'workStarted', n: this.n, attempt: 1 });
  }

  owe(owed: Owed): void {
    this.emit({ type: 'owed', owed });
    if ('data' in owed) this.#written += jsonSize(owed.data);
  }

  fail(code: string, message: string): never {
    throw new NodeError(code, message);
  }

  log(level: LogLevel, message: string): void {
    this.emit({ type: 'logged', n: this.n, level, message });
  }

  /** Arms a timer of this node; a due time that has passed is now (semantics 16). */
  arm(purpose: Purpose, timer: Template): void {
    const text = this.text(timer);
    const due = dueAt(text, this.context.at);
    if ('problem' in due) throw new NodeError('TIMER_INVALID', `the timer "${text}" is not valid: ${due.problem}`);
    this.emit({ type: 'timerSet', n: this.n, purpose, due: due.due });
  }

  /** Name and key are resolved now and not again (semantics 12); a message without a key takes the instance's. */
  subscribe(purpose: Purpose, kind: 'message' | 'signal', name: Template, key: Template | undefined): void {
    const correlationKey =
      kind === 'signal' ? '' : key === undefined ? (this.draft.correlationKey ?? '') : this.text(key);
    this.emit({ type: 'subscribed', n: this.n, purpose, kind, name: this.text(name), correlationKey });
    this.checkHeld();
  }

  text(template: Template): string {
    return resolveText(template, this.#resolve, this.#unresolved);
  }

  /** A list of texts, as candidates are given; a reference to a list stands for its items. */
  texts(templates: readonly Template[]): string[] {
    return resolveTexts(templates, this.#resolve, this.#unresolved);
  }

  value(template: ValueTemplate): Json {
    return resolveValue(template, this.#resolve, this.#unresolved);
  }

  values(templates: ReadonlyMap<string, ValueTemplate>): JsonObject {
    const result: Record<string, Json> = Object.create(null);
    for (const [name, template] of templates) result[name] = this.value(template);
    return result;
  }

  /** The condition over the variables, `extra` names first. */
  test(condition: Condition, extra?: JsonObject): boolean {
    return test(condition, (name) => (extra === undefined ? undefined : member(extra, name)) ?? this.lookup(name));
  }

  readonly #resolve = (reference: Reference): Json | undefined => {
    const { path } = reference;
    const name = path[0] as string;
    if (name === 'env') return path.length === 2 ? this.#environment(path[1] as string) : undefined;
    let value = this.lookup(name);
    for (let i = 1; i < path.length && value !== undefined; i += 1) value = member(value, path[i] as string);
    return value;
  };

  #environment(name: string): Json | undefined {
    const value = this.context.env(name);
    if (value === SECRET) this.#warn(`{env.${name}} is a secret: it reads ${SECRET} where no outside work is done`);
    return value;
  }

  readonly #unresolved = (reference: Reference): void => {
    this.#warn(`${reference.text} has no value; it stays as text`);
  };

  #warn(message: string): void {
    if (this.#told.size > MAX_TOLD || this.#told.has(message)) return;
    this.#told.add(message);
    this.log('WARN', this.#told.size > MAX_TOLD ? 'more references have no value' : message);
  }

  /** A variable as this node sees it: an iteration's own names first, then the instance's. */
  lookup(name: string): Json | undefined {
    const value = lookup(this.draft, this.activation().scope, name);
    const ahead = this.#ahead.filter(({ path }) => path[0] === name);
    return ahead.length === 0 ? value : withPaths(value === undefined ? {} : { [name]: value }, ahead)[name];
  }

  /** Sets variables; dotted paths reach inside. Refused beyond the instance's limit (semantics 24). */
  set(
    assignments: readonly Omit<Assignment, 'scope'>[],
    type: 'variablesSet' | 'outputEmitted' = 'variablesSet',
  ): void {
    if (assignments.length === 0) return;
    const set = assignments.map(({ path, value }) => {
      const scope = ownerOf(this.draft, this.activation().scope, path[0] as string);
      return scope === undefined ? { path, value } : { path, value, scope };
    });
    let size = this.draft.size;
    let written = 0;
    for (const { path, value, scope } of set) {
      if (isDeeper(value, MAX_LEVELS - path.length))
        this.fail('VARIABLES_TOO_DEEP', `${path.join('.')} would have more than ${MAX_LEVELS} levels`);
      const bytes = jsonSize(value);
      written += bytes;
      if (scope === undefined) size += bytes - this.#replaced(path);
    }
    const limit = this.context.limits.variableBytes;
    if (size > limit && size > this.draft.size) {
      const names = set.map(({ path }) => path.join('.')).join(', ');
      this.fail('VARIABLES_TOO_LARGE', `setting ${names} would grow the variables past ${limit} bytes`);
    }
    this.emit({ type, n: this.n, set });
    this.#written += written;
    this.checkHeld();
  }

  /** Lists, results, forms and local names are bounded like the variables (semantics 24). */
  checkHeld(): void {
    const limit = HELD_FACTOR * this.context.limits.variableBytes;
    if (this.draft.held <= limit) return;
    const what = 'what loops, their iterations and waiting nodes hold';
    this.fail('VARIABLES_TOO_LARGE', `${what} would grow past ${limit} bytes`);
  }

  #replaced(path: readonly string[]): number {
    let value: Json | undefined = this.draft.variables;
    for (const key of path) value = value === undefined ? undefined : member(value, key);
    return value === undefined ? 0 : jsonSize(value);
  }

  /** Sets variables one after the other, so that a later value may use an earlier name; one change all the same. */
  setEach(sets: readonly { readonly path: readonly string[]; readonly value: ValueTemplate }[]): void {
    try {
      for (const { path, value } of sets) this.#ahead.push({ path, value: this.value(value) });
      this.set([...this.#ahead]);
    } finally {
      this.#ahead.length = 0;
    }
  }

  setAll(values: JsonObject): void {
    this.set(Object.keys(values).map((name) => ({ path: [name], value: values[name] as Json })));
  }

  /** Stores a node's `result`, where the flow names a variable for it. */
  result(path: readonly string[] | undefined, value: Json): void {
    if (path !== undefined) this.set([{ path, value }]);
  }
}

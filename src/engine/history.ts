import type { Assignment, Event } from './event.ts';
import type { Flow } from './flow.ts';
import { type Json, type JsonObject, jsonSize, member, withPaths } from './json.ts';
import { LogFold, type LogLine } from './log.ts';
import type { State } from './state.ts';

/** One step of a history: a log line, with what it did to the variables. */
export interface Step extends Omit<LogLine, 'variables'> {
  /** Counted from 1, as the entries of the log are. */
  readonly step: number;
  readonly changes: readonly Change[];
}

/** A variable that a step set. Values larger than VALUE_IN_STEP are left out. */
export interface Change {
  /** With dots where it reaches inside. */
  readonly name: string;
  readonly value?: Json;
  /** What it was; absent where it was not there. */
  readonly before?: Json;
  /** Index of the loop's iteration that has it for its own. */
  readonly iteration?: number;
  /** A value was left out. */
  readonly large?: true;
}

/** Bytes as JSON. */
const VALUE_IN_STEP = 16 * 1024;

/** Tells an instance's history step by step: feed it every event in order. What it starts with is part of the first step. */
export class HistoryFold {
  readonly #log: LogFold;
  #steps = 0;
  #changes: Change[] = [];

  constructor(flow: Flow) {
    this.#log = new LogFold(flow);
  }

  get state(): State {
    return this.#log.state;
  }

  next(event: Event, at: number): Step | undefined {
    if (event.type === 'instanceStarted') this.#changes = begun(event.variables);
    if (event.type === 'variablesSet' || event.type === 'outputEmitted') this.#changes = changed(this.state, event.set);
    const line = this.#log.next(event, at);
    if (line === undefined) return undefined;
    const { variables: _, ...told } = line;
    const changes = this.#changes;
    this.#changes = [];
    this.#steps += 1;
    return { step: this.#steps, ...told, changes };
  }
}

const begun = (variables: JsonObject): Change[] =>
  Object.entries(variables).map(([name, value]) => changeOf(name, value, undefined, undefined));

/** What assignments do to `state`, one after the other. */
function changed(state: State, set: readonly Assignment[]): Change[] {
  const variables = new Map<number | undefined, JsonObject>();
  return set.map((assignment) => {
    const { path, value, scope } = assignment;
    const iteration = scope === undefined ? undefined : state.scopes.get(scope);
    const known = variables.get(scope) ?? iteration?.local ?? state.variables;
    variables.set(scope, withPaths(known, [assignment]));
    return changeOf(path.join('.'), value, valueAt(known, path), iteration?.index);
  });
}

function valueAt(variables: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = variables;
  for (const key of path) value = value === undefined ? undefined : member(value, key);
  return value;
}

function changeOf(name: string, value: Json, before: Json | undefined, iteration: number | undefined): Change {
  const fits = (one: Json): boolean => jsonSize(one) <= VALUE_IN_STEP;
  const large = !fits(value) || (before !== undefined && !fits(before));
  return {
    name,
    ...(fits(value) && { value }),
    ...(before !== undefined && fits(before) && { before }),
    ...(iteration !== undefined && { iteration }),
    ...(large && { large }),
  };
}

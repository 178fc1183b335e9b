import { located } from './body.ts';
import type { Flow, Node } from './flow.ts';
import { type Json, type JsonObject, member, merged } from './json.ts';
import type { Resolver, Work, WorkKind } from './node.ts';
import { behaviourOf } from './nodes/index.ts';
import type { Activation, Owed, State, Timer } from './state.ts';
import { type Reference, resolveText, resolveTexts, resolveValue } from './template.ts';
import { visible } from './visible.ts';

/** What changed in what the outside owes one activation. */
export interface ActivationPending {
  readonly activation: Activation;
  /** Its timers are not what they were. */
  readonly timers?: readonly Timer[];
  /** An attempt of outside work is to be started. */
  readonly work: boolean;
}

/** What the outside owes a state: work to do, timers to arm, messages to deliver; and what it no longer owes. */
export interface Pending {
  readonly changed: readonly ActivationPending[];
  /** Activations that are over: their work is aborted, their timers withdrawn. */
  readonly gone: readonly Activation[];
  readonly outbox: readonly (readonly [number, Owed])[];
  /** The turn was cut: tokens are still ready. */
  readonly more: boolean;
}

/** The difference between what `before` and `after` need of the outside; after a restart there is no before. */
export function pending(before: State | undefined, after: State): Pending {
  const changed: ActivationPending[] = [];
  for (const activation of after.active.values()) {
    const was = before?.active.get(activation.n);
    if (was !== activation) changed.push(difference(was, activation));
  }
  const gone: Activation[] = [];
  if (before !== undefined) {
    for (const activation of before.active.values()) if (!after.active.has(activation.n)) gone.push(activation);
  }
  const outbox = [...after.outbox].filter(([id]) => before?.outbox.has(id) !== true);
  return { changed, gone, outbox, more: after.stateCd === 0 && after.ready.length > 0 };
}

const NONE: readonly never[] = [];

function difference(was: Activation | undefined, activation: Activation): ActivationPending {
  const { timers, phase, attempt } = activation;
  return {
    activation,
    ...(timers !== (was?.timers ?? NONE) && timers.length + (was?.timers.length ?? 0) > 0 && { timers }),
    work: phase === 'working' && (was?.phase !== 'working' || was.attempt !== attempt),
  };
}

export type EnvLookup = (name: string) => Json | undefined;

export interface PreparedWork {
  readonly input: JsonObject;
  readonly warnings: readonly string[];
  /** What a tool of the work is, with the arguments laid over the variables. */
  readonly tool: (
    index: number,
    args: JsonObject,
    env: EnvLookup,
  ) => { readonly input: JsonObject; readonly warnings: readonly string[] };
}

/** Which kind of work an activation does. */
export function workKind(flow: Flow, state: State, n: number): WorkKind {
  const { node } = located(flow, (state.active.get(n) as Activation).node);
  return workOf(node).kind(node);
}

/**
 * The work of an activation with its templates resolved, over the variables of `state` and the environment values, secrets
 * included, that `env` knows.
 */
export function prepareWork(flow: Flow, state: State, n: number, env: EnvLookup): PreparedWork {
  const activation = state.active.get(n) as Activation;
  const { node } = located(flow, activation.node);
  const work = workOf(node);
  const warnings: string[] = [];
  const variables = visible(state, activation.scope);
  const tool: PreparedWork['tool'] = (index, args, toolEnv) => {
    const toolWarnings: string[] = [];
    const resolver = resolverOf(merged(variables, args), toolEnv, toolWarnings);
    return { input: work.tool?.(node, index, resolver) ?? {}, warnings: toolWarnings };
  };
  return { input: work.input(node, resolverOf(variables, env, warnings)), warnings, tool };
}

function workOf(node: Node): Work<unknown> {
  const { work } = behaviourOf(node);
  if (work === undefined) throw new Error(`a ${node.type} has no outside work`);
  return work;
}

function resolverOf(variables: JsonObject, env: EnvLookup, warnings: string[]): Resolver {
  const resolve = ({ path }: Reference): Json | undefined => {
    if (path[0] === 'env') return path.length === 2 ? env(path[1] as string) : undefined;
    let value: Json | undefined = variables;
    for (const key of path) value = value === undefined ? undefined : member(value, key);
    return value;
  };
  const unresolved = ({ text }: Reference): void => {
    warnings.push(`${text} has no value; it stays as text`);
  };
  const text: Resolver['text'] = (template) => resolveText(template, resolve, unresolved);
  return {
    variables,
    text,
    value: (template) => resolveValue(template, resolve, unresolved),
    list: (templates) => resolveTexts(templates, resolve, unresolved),
    texts: (templates) => {
      const result: Record<string, Json> = Object.create(null);
      for (const [name, template] of templates) result[name] = text(template);
      return result;
    },
  };
}

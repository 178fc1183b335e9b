import type { Node } from './flow.ts';
import type { Json, JsonObject } from './json.ts';
import type { Template, ValueTemplate } from './template.ts';
import type { Turn } from './turn.ts';

/** What one node type does. Its keys are declared in `nodes/keys.ts`. */
export interface Behaviour<Keys> {
  /** The token comes in: the node leaves, waits, asks for work, or fails. */
  enter(turn: Turn, node: Node<Keys>): void;
  /** What its outside work is, for a type that calls `turn.work()`. Resolved anew for each attempt. */
  readonly work?: Work<Keys>;
  /** The work's result; absent: it goes to `result`, and the token leaves. */
  finish?(turn: Turn, node: Node<Keys>, value: Json): void;
  /** The event or timer that the node itself waited for came. */
  resume?(turn: Turn, node: Node<Keys>, data: JsonObject): void;
}

export type WorkKind = 'http' | 'command' | 'email' | 'script' | 'domain' | 'ai' | 'voice' | 'memory' | 'agent';

export interface Work<Keys> {
  kind(node: Node<Keys>): WorkKind;
  input(node: Node<Keys>, resolver: Resolver): JsonObject;
  /** What the tool with this index is, whose arguments are variables by now. */
  tool?(node: Node<Keys>, index: number, resolver: Resolver): JsonObject;
}

/** Templates resolved where work is done: environment values and secrets come in only here. */
export interface Resolver {
  text(template: Template): string;
  value(template: ValueTemplate): Json;
  texts(templates: ReadonlyMap<string, Template>): JsonObject;
  /** A list of texts, as recipients are given; a reference to a list stands for its items. */
  list(templates: readonly Template[]): readonly string[];
  /** All variables that the node sees. */
  readonly variables: JsonObject;
}

/** A node file's one export. */
export const defineNode = <Keys>(behaviour: Behaviour<Keys>): Behaviour<Keys> => behaviour;

import type { Json, JsonObject } from './json.ts';
import type { Condition } from './juel/index.ts';
import type { Template, ValueTemplate } from './template.ts';

export const NODE_TYPES = [
  'startEvent',
  'endEvent',
  'serviceTask',
  'userTask',
  'task',
  'scriptTask',
  'exclusiveGateway',
  'inclusiveGateway',
  'parallelGateway',
  'boundaryEvent',
  'intermediateThrowEvent',
  'intermediateCatchEvent',
  'subProcess',
  'loopNode',
  'aiTask',
  'voiceTask',
  'ifElse',
  'callProcess',
  'inputNode',
  'outputNode',
  'domainTask',
  'memoryAction',
  'callAgent',
  'setVariable',
] as const;
export type NodeType = (typeof NODE_TYPES)[number];

/** A compiled flow: every template and condition parsed, every connection resolved. Never changes after publish. */
export interface Flow {
  /** The processId, a UUID in lower case. */
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly public: boolean;
  /** Defaults: an instance starts with these, its start data laid over them. */
  readonly variables: JsonObject;
  readonly triggers: readonly Trigger[];
  readonly body: Body;
}

/** A set of connected nodes with one start: the flow itself, a loop's body, an inline subProcess. */
export interface Body {
  readonly start: string;
  readonly nodes: ReadonlyMap<string, Node>;
  /** Connections that lead to a node, by its id; a node without any is absent. */
  readonly incoming: ReadonlyMap<string, readonly Connection[]>;
  /** Boundary events by the id of the activity they are attached to. */
  readonly boundaries: ReadonlyMap<string, readonly Node[]>;
}

/** One arrow between two nodes of a body. Two arrows between the same nodes are two connections. */
export interface Connection {
  /** `<from>.<key>` or `<from>.next.<index>`: unique in the flow. */
  readonly id: string;
  readonly from: string;
  readonly to: string;
}

/** A gateway's outgoing connection. */
export interface Way extends Connection {
  readonly condition?: Condition;
  readonly default: boolean;
}

/** A node as every room sees it; a node type's own file knows the type of its `keys`. */
export interface Node<Keys = Readonly<Record<string, unknown>>> {
  /** Unique in the whole flow: of nested nodes with one id, all but one are called `<node around it>/<id>`. */
  readonly id: string;
  readonly type: NodeType;
  /** Display name; the id where the file gives none. */
  readonly name: string;
  readonly next: readonly Connection[];
  readonly errorFlow?: Connection;
  readonly timeoutFlow?: Connection;
  /** ISO 8601 duration, possibly with references. */
  readonly timeout?: Template;
  readonly retry?: Retry;
  /** The type's own keys, compiled. Absent keys are absent. */
  readonly keys: Keys;
}

/** `attempts` counts the first one. The wait before attempt k+1 is backoff * factor^(k-1), at most `maxBackoff`. */
export interface Retry {
  readonly attempts: number;
  readonly backoffMs: number;
  readonly factor: number;
  readonly maxBackoffMs: number;
}

export type Trigger =
  | { readonly type: 'webhook'; readonly registration: string; readonly eventType?: string }
  | {
      readonly type: 'schedule';
      readonly cron: string;
      readonly timezone: string;
      readonly catchUp: boolean;
      readonly overlap: 'allow' | 'skip' | 'queue';
    }
  | {
      readonly type: 'email';
      readonly connection: string;
      readonly subjectContains?: string;
      readonly senderMatches?: string;
    }
  | { readonly type: 'onDemand' };

/** What is wrong with a flow file, where, and what to do about it. */
export interface Problem {
  readonly severity: 'error' | 'warning';
  /** Stable, e.g. UNKNOWN_KEY. */
  readonly code: string;
  /** Where in the document, e.g. `nodes.review.inputType`; empty for the whole file. */
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly hint?: string;
}

/** A flow compiles, possibly with warnings, or it has at least one error and no flow. */
export interface Compiled {
  readonly flow?: Flow;
  readonly problems: readonly Problem[];
}

export interface Choice {
  readonly value: Json;
  readonly label: Template;
}

export interface FieldSpec {
  readonly name: string;
  readonly label?: Template;
  readonly type: string;
  readonly options?: ValueTemplate;
  readonly required: boolean;
  readonly default?: ValueTemplate;
}

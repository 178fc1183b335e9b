import { type Body, type Connection, NODE_TYPES, type Node, type NodeType, type Way } from '../flow.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import { NODE_ID } from '../keys/connection.ts';
import type { Declaration } from '../keys/declaration.ts';
import { type At, mismatch, shortened } from '../keys/kind.ts';
import { closest } from '../keys/suggest.ts';
import { NODE_KEYS } from '../nodes/keys.ts';
import { type CommonKeys, readNodeKeys } from './node-keys.ts';
import type { Place } from './place.ts';

/** Nodes of a flow, nested ones counted too. */
export const MAX_NODES = 10_000;

/** A node as it was found: also one with problems takes part in the checks of the graph. */
export interface ReadNode {
  readonly id: string;
  readonly at: Place;
  /** As written in the file. */
  readonly raw: JsonObject;
  /** Absent when the type is missing or unknown. */
  readonly type?: NodeType;
  readonly declaration?: Declaration;
  readonly connections: readonly { readonly connection: Connection; readonly at: At }[];
  /** Absent when any of its keys is wrong. */
  readonly node?: Node;
  readonly inner?: ReadBody;
}

export interface ReadBody {
  readonly at: Place;
  readonly nodes: ReadonlyMap<string, ReadNode>;
  /** The node whose body it is; absent for the flow's own. */
  readonly owner?: string;
}

/** Reads `nodes` maps, and knows all ids of the flow. */
export class NodeReader {
  /** Every node id of the flow, with the bodies that it stands in. */
  readonly bodies = new Map<string, At[]>();
  #count = 0;

  /** Nodes of different bodies have the same id. */
  get hasTwins(): boolean {
    return this.bodies.size < this.#count;
  }

  read(value: Json, at: Place, owner?: string): ReadBody | undefined {
    if (!isObject(value)) return mismatch('a map of nodes', value, at, 'start: { type: startEvent, next: … }');
    const ids = Object.keys(value);
    if (ids.length === 0)
      return at.error('EMPTY', `\`${at.name}\` is empty: it needs at least one node`, { onKey: true });
    this.#count += ids.length;
    if (this.#count > MAX_NODES) {
      return at.error('TOO_MANY_NODES', `the flow has more than ${MAX_NODES} nodes`, { onKey: true });
    }
    const nodes = new Map<string, ReadNode>();
    for (const id of ids) this.#claim(id, at);
    for (const id of ids) {
      const place = at.key(id);
      if (place.broken) continue;
      nodes.set(id, this.#node(id, value[id] as Json, place));
    }
    return owner === undefined ? { at, nodes } : { at, nodes, owner };
  }

  #claim(id: string, body: Place): void {
    const at = body.key(id);
    if (!NODE_ID.test(id) || id === '__proto__') {
      const hint = 'a letter or underscore, then letters, digits, _ and -, at most 128';
      at.error('BAD_NODE_ID', `${shortened(id)} can't be the id of a node`, { onKey: true, hint });
    }
    const bodies = this.bodies.get(id);
    if (bodies === undefined) this.bodies.set(id, [body]);
    else bodies.push(body);
  }

  #node(id: string, raw: Json, at: Place): ReadNode {
    if (!isObject(raw)) {
      mismatch('a node: a map with a `type`', raw, at, `write ${id}: { type: task, next: … }`);
      return { id, at, raw: {}, connections: [] };
    }
    const type = nodeType(raw, at);
    if (type === undefined) return { id, at, raw, connections: [] };
    const declaration: Declaration = NODE_KEYS[type];
    const connections: { connection: Connection; at: At }[] = [];
    let inner: ReadBody | undefined;
    const owned = at.ownedBy({
      id,
      connect: (connection, place) => connections.push({ connection, at: place }),
      body: (value, place) => {
        inner = this.read(value, place, id);
        return inner && bodyOf(inner);
      },
    });
    const keys = readNodeKeys(type, declaration, raw, owned);
    const node = keys && compiled(id, type, keys.common, keys.own);
    return { id, at: owned, raw, type, declaration, connections, ...(node && { node }), ...(inner && { inner }) };
  }
}

function compiled(id: string, type: NodeType, common: CommonKeys, own: JsonObject): Node {
  const { name = id, next = [], ...rest } = common;
  const keys = NODE_KEYS[type].connections === 'ways' ? { ...own, ways: next as readonly Way[] } : own;
  return { id, type, name, next, ...rest, keys };
}

/** The compiled body; its start is empty where it has none, which the checks report. */
export function bodyOf(read: ReadBody): Body {
  const nodes = new Map<string, Node>();
  const incoming = new Map<string, Connection[]>();
  const boundaries = new Map<string, Node[]>();
  for (const { id, node, connections } of read.nodes.values()) {
    for (const { connection } of connections) listUnder(incoming, connection.to, connection);
    if (node === undefined) continue;
    nodes.set(id, node);
    if (node.type === 'boundaryEvent') listUnder(boundaries, node.keys['attachedTo'] as string, node);
  }
  return { start: startsOf(read)[0]?.id ?? '', nodes, incoming, boundaries };
}

function listUnder<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}

/** Where a token may enter: the start events; in a nested body without any, the nodes that nothing leads to. */
export function startsOf(read: ReadBody): readonly ReadNode[] {
  const all = [...read.nodes.values()];
  const starts = all.filter((node) => node.type === 'startEvent');
  if (starts.length > 0 || read.owner === undefined) return starts;
  const entered = new Set(all.flatMap(namedBy));
  return all.filter((node) => !entered.has(node.id) && node.type !== 'boundaryEvent');
}

/** Every node that the keys of this one name, as far as they can be made out: also where a type or key is wrong. */
export function namedBy({ raw }: ReadNode): string[] {
  return ['next', 'then', 'else', 'errorFlow', 'timeoutFlow'].flatMap((key) => idsIn(raw[key] ?? null));
}

/** The ids in a `next`. */
export function idsIn(value: Json): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap((item: Json) => idsIn(item));
  return isObject(value) ? idsIn(value['to'] ?? null) : [];
}

function nodeType(raw: JsonObject, at: Place): NodeType | undefined {
  if (!Object.hasOwn(raw, 'type')) {
    const hint = 'write `type: task`, or another of the node types';
    return at.key('type').error('MISSING_KEY', `the node \`${at.name}\` has no \`type\``, { onKey: true, hint });
  }
  const place = at.key('type');
  const type = raw['type'] as Json;
  if (place.broken) return undefined;
  if (typeof type !== 'string') return mismatch('a node type, a text', type, place);
  if ((NODE_TYPES as readonly string[]).includes(type)) return type as NodeType;
  const meant = Object.hasOwn(ELSEWHERE, type.toLowerCase())
    ? ELSEWHERE[type.toLowerCase()]
    : closest(type, NODE_TYPES);
  const hint = meant === undefined ? `one of ${NODE_TYPES.join(', ')}` : `did you mean \`${meant}\`?`;
  return place.error('UNKNOWN_NODE_TYPE', `there is no node type ${shortened(type)}`, { hint });
}

/** What other products and people call a node type, in lower case. */
const ELSEWHERE: Readonly<Record<string, NodeType>> = {
  agent: 'callAgent',
  ai: 'aiTask',
  approval: 'inputNode',
  branch: 'exclusiveGateway',
  callactivity: 'callProcess',
  choice: 'exclusiveGateway',
  command: 'serviceTask',
  condition: 'ifElse',
  decision: 'ifElse',
  delay: 'intermediateCatchEvent',
  email: 'serviceTask',
  end: 'endEvent',
  exclusive: 'exclusiveGateway',
  for: 'loopNode',
  foreach: 'loopNode',
  fork: 'parallelGateway',
  form: 'inputNode',
  function: 'domainTask',
  gateway: 'exclusiveGateway',
  http: 'serviceTask',
  httprequest: 'serviceTask',
  human: 'userTask',
  if: 'ifElse',
  inclusive: 'inclusiveGateway',
  input: 'inputNode',
  join: 'parallelGateway',
  llm: 'aiTask',
  loop: 'loopNode',
  manualtask: 'userTask',
  map: 'loopNode',
  memory: 'memoryAction',
  output: 'outputNode',
  parallel: 'parallelGateway',
  pause: 'inputNode',
  receivetask: 'intermediateCatchEvent',
  request: 'serviceTask',
  script: 'scriptTask',
  sendtask: 'intermediateThrowEvent',
  service: 'serviceTask',
  set: 'setVariable',
  setvariables: 'setVariable',
  shell: 'serviceTask',
  start: 'startEvent',
  subflow: 'subProcess',
  subworkflow: 'subProcess',
  switch: 'exclusiveGateway',
  timer: 'intermediateCatchEvent',
  user: 'userTask',
  voice: 'voiceTask',
  wait: 'intermediateCatchEvent',
  while: 'loopNode',
  xor: 'exclusiveGateway',
};

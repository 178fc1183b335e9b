import type { Body, Connection, Way } from '../flow.ts';
import { isObject, type Json } from '../json.ts';
import { type At, type JsonSchema, type Kind, mismatch } from './kind.ts';
import { optional, readKeys, recordSchema, refuseOthers, required, withDefault } from './record.ts';
import { boolean } from './scalar.ts';
import { condition } from './template.ts';

export const NODE_ID = /^[A-Za-z_][A-Za-z0-9_-]{0,127}$/u;
export const nodeIdSchema: JsonSchema = { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_-]{0,127}$' };

/** The id of a node of the same body, as a text. */
export const nodeId: Kind<string> = {
  schema: nodeIdSchema,
  read(value, at) {
    if (typeof value === 'string' && value !== '') return value;
    return mismatch(
      'the id of a node, a text',
      value,
      at,
      value === null ? 'name a node, or leave the key out' : undefined,
    );
  },
};

/** The node that the token goes to; the connection is called `<node>.<key>`. */
export const target: Kind<Connection> = {
  schema: nodeIdSchema,
  read(value, at) {
    const to = nodeId.read(value, at);
    return to === undefined ? undefined : at.connect(at.name, to);
  },
};

/** One node, or a list of nodes that all get a token. Connections of a list are called `<node>.next.<index>`. */
export const targets: Kind<readonly Connection[]> = {
  schema: { anyOf: [nodeIdSchema, { type: 'array', items: nodeIdSchema }] },
  read(value, at) {
    if (!Array.isArray(value)) return only(connection(value, at, at.name));
    const found = value.map((item, index) => connection(item, at.item(index), `${at.name}.${index}`));
    return found.every((item) => item !== undefined) ? found : undefined;
  },
};

const only = <T>(item: T | undefined) => (item === undefined ? undefined : [item]);

function connection(value: Json, at: At, key: string): Connection | undefined {
  if (at.broken) return undefined;
  if (isObject(value))
    return at.error('WRONG_TYPE', "only a gateway's `next` takes `{to, condition}`: name the node alone");
  const to = nodeId.read(value, at);
  return to === undefined ? undefined : at.connect(key, to);
}

const WAY_KEYS = {
  to: required(nodeId, 'The node that this way leads to.'),
  condition: optional(condition, 'The way is taken when this is true; a way without one is always taken.'),
  default: withDefault(boolean, false, 'Taken when no condition of the gateway is true.'),
};

const waySchema: JsonSchema = { anyOf: [nodeIdSchema, recordSchema(WAY_KEYS)] };

/** A gateway's `next`: nodes, or `{to, condition, default}`, in the order in which they are tried. */
export const ways: Kind<readonly Way[]> = {
  schema: { anyOf: [waySchema, { type: 'array', items: waySchema }] },
  read(value, at) {
    if (!Array.isArray(value)) return only(way(value, at, at.name));
    const found = value.map((item, index) => way(item, at.item(index), `${at.name}.${index}`));
    return found.every((item) => item !== undefined) ? found : undefined;
  },
};

function way(value: Json, at: At, key: string): Way | undefined {
  if (at.broken) return undefined;
  if (!isObject(value)) {
    const to = nodeId.read(value, at);
    return to === undefined ? undefined : { ...at.connect(key, to), default: false };
  }
  refuseOthers(Object.keys(WAY_KEYS), value, at, 'a way');
  const read = readKeys(WAY_KEYS, value, at);
  if (read === undefined) return undefined;
  const { to, ...rest } = read;
  return { ...at.key('to').connect(key, to), ...rest };
}

/** Nested nodes with their own start: a loop's body, an inline subProcess. */
export const body: Kind<Body> = {
  schema: { $ref: '#/$defs/nodes' },
  read: (value, at) => at.body(value),
};

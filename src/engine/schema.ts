import { NODE_TYPES } from './flow.ts';
import { nodeIdSchema } from './keys/connection.ts';
import type { Declaration } from './keys/declaration.ts';
import type { JsonSchema } from './keys/kind.ts';
import { type Keys, propertySchemas, recordSchema, requiredNames } from './keys/record.ts';
import { NODE_KEYS } from './nodes/keys.ts';
import { FLOW_KEYS } from './parse/document.ts';
import { commonKeys } from './parse/node-keys.ts';

/**
 * The JSON Schema (draft 2020-12) of flow files, for editors: made from the same kinds that read them, so that it knows
 * every key. It can't say what concerns several nodes, nor what a template or expression must look like inside.
 */
export function flowSchema(): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'wfx flow',
    ...recordSchema(FLOW_KEYS, 'A flow: its nodes, what starts it, and what its instances begin with.'),
    $defs: {
      nodes: {
        description: 'Nodes by their ids.',
        type: 'object',
        minProperties: 1,
        propertyNames: nodeIdSchema,
        additionalProperties: { $ref: '#/$defs/node' },
      },
      node: nodeSchema,
      ...Object.fromEntries(NODE_TYPES.map((type) => [type, typeSchema(type, NODE_KEYS[type])])),
    },
  };
}

const nodeSchema: JsonSchema = {
  type: 'object',
  required: ['type'],
  properties: { type: { enum: NODE_TYPES, description: 'What the node does.' } },
  allOf: NODE_TYPES.map((type) => whenIs('type', type, { $ref: `#/$defs/${type}` })),
};

function whenIs(key: string, value: string, schema: JsonSchema): JsonSchema {
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema's own word
  return { if: { properties: { [key]: { const: value } }, required: [key] }, then: schema };
}

function typeSchema(type: string, declaration: Declaration): JsonSchema {
  const own: Keys = { ...commonKeys(declaration), ...declaration.keys };
  const { either = [], cases } = declaration;
  const variants = cases === undefined ? either : Object.values(cases.of);
  const tag = cases === undefined ? {} : { [cases.by]: { enum: Object.keys(cases.of) } };
  return {
    description: declaration.summary,
    type: 'object',
    properties: {
      type: { const: type },
      ...tag,
      ...propertySchemas(own),
      ...Object.assign({}, ...variants.map(propertySchemas)),
    },
    required: ['type', ...Object.keys(tag), ...requiredNames(own)],
    additionalProperties: false,
    ...(either.length > 0 && { oneOf: either.map((keys) => only(keys, either)) }),
    ...(cases && {
      allOf: Object.entries(cases.of).map(([value, keys]) => whenIs(cases.by, value, only(keys, variants))),
    }),
  };
}

/** The keys of one variant, and none of the others'. */
function only(keys: Keys, variants: readonly Keys[]): JsonSchema {
  const others = variants.flatMap((variant) => Object.keys(variant)).filter((name) => !Object.hasOwn(keys, name));
  return { required: requiredNames(keys), properties: Object.fromEntries(others.map((name) => [name, false])) };
}

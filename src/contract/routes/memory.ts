import Type from 'typebox';
import { PageQuery, pageOf } from '../schemas/common.ts';
import { FoundMemory, Memory, MemoryQuery, Prefix, SetMemoryBody } from '../schemas/memory.ts';
import type { RouteSpec } from './route.ts';

export const memoryRoutes = {
  listMemory: {
    summary: 'What memoryAction nodes remember, by key.',
    permission: 'WORKFLOW_READ',
    scope: 'any',
    query: Type.Object({ ...MemoryQuery, ...Prefix, ...PageQuery }),
    answer: { kind: 'json', status: 200, schema: pageOf(Memory) },
    errors: ['PROCESS_NOT_FOUND'],
  },
  searchMemory: {
    summary: 'Full-text search of keys and values, best first.',
    permission: 'WORKFLOW_READ',
    scope: 'any',
    query: Type.Object({
      query: Type.String({ minLength: 1, maxLength: 1000 }),
      ...MemoryQuery,
      ...Prefix,
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 10 })),
    }),
    answer: { kind: 'json', status: 200, schema: Type.Object({ items: Type.Array(FoundMemory) }) },
    errors: ['PROCESS_NOT_FOUND'],
  },
  getMemory: {
    summary: 'One memory.',
    permission: 'WORKFLOW_READ',
    scope: 'any',
    query: Type.Object(MemoryQuery),
    answer: { kind: 'json', status: 200, schema: Memory },
    errors: ['NOT_FOUND', 'PROCESS_NOT_FOUND'],
  },
  setMemory: {
    summary: 'Remembers a value, new or in place of the old one.',
    permission: 'WORKFLOW_EXECUTE',
    scope: 'any',
    query: Type.Object(MemoryQuery),
    body: { kind: 'json', schema: SetMemoryBody },
    answer: { kind: 'json', status: 200, schema: Memory },
    errors: ['PROCESS_NOT_FOUND', 'CONFLICT'],
  },
  deleteMemory: {
    summary: 'Forgets a memory.',
    permission: 'WORKFLOW_EXECUTE',
    scope: 'any',
    query: Type.Object(MemoryQuery),
    answer: { kind: 'none', status: 204 },
    errors: ['NOT_FOUND', 'PROCESS_NOT_FOUND'],
  },
} as const satisfies Record<string, RouteSpec>;

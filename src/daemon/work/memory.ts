import { isObject, type Json, type JsonObject, jsonSize } from '../../engine/json.ts';
import { type ExecutorContext, type Service, WorkError } from './executor.ts';
import type { Memory, MemoryScope } from './ports.ts';

const DEFAULT_LIMIT = 10;
/** Of all results of a search together, as JSON. */
const MAX_FOUND = 1024 * 1024;

/**
 * memoryAction with `{action, scope, key?, value?, query?, limit?}`. The value: of get what is kept, or null; of set what was
 * set; of append the whole list; of delete whether there was something; of search a list of `{key, value, score?}`, best
 * first, or by key where nothing is asked for.
 * Errors: MEMORY_KEY_INVALID, MEMORY_VALUE_TOO_LARGE, MEMORY_FULL, MEMORY_NOT_A_LIST.
 */
export function createMemory(memory: () => Memory): Service {
  return {
    async execute(input, context) {
      try {
        return await act(memory(), input, context);
      } catch (error) {
        throw refusalOf(error);
      }
    },
  };
}

async function act(memory: Memory, input: JsonObject, context: ExecutorContext): Promise<Json> {
  const { organizationId, processId, idempotencyKey } = context;
  const scope = { organizationId, processId: input['scope'] === 'organization' ? undefined : processId };
  const key = textOf(input['key']);
  const value = input['value'] ?? null;
  switch (input['action']) {
    case 'get':
      return memory.get(scope, key)?.value ?? null;
    case 'set':
      return (await memory.set(scope, key, value, idempotencyKey)).value;
    case 'append':
      return memory.append(scope, key, value, idempotencyKey);
    case 'delete':
      return memory.remove(scope, key, idempotencyKey);
    default:
      return search(memory, scope, input, context);
  }
}

async function search(memory: Memory, scope: MemoryScope, input: JsonObject, context: ExecutorContext): Promise<Json> {
  const query = textOf(input['query'] ?? input['value']).trim();
  const prefix = textOf(input['key']);
  const found = query === '' ? memory.list(scope, prefix) : await memory.search(scope, query, prefix);
  const results: Json[] = [];
  let size = 0;
  for (const record of found.slice(0, (input['limit'] as number | undefined) ?? DEFAULT_LIMIT)) {
    const { key, value } = record;
    size += jsonSize(value);
    if (size > MAX_FOUND) {
      context.log('WARN', `results of the search beyond 1 MiB were left out; ask for fewer with \`limit\``);
      break;
    }
    results.push('score' in record ? { key, value, score: record.score as number } : { key, value });
  }
  return results;
}

const textOf = (value: Json | undefined): string => {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

function refusalOf(error: unknown): unknown {
  if (!isObject(error) || typeof error['code'] !== 'string' || !error['code'].startsWith('MEMORY_')) return error;
  return new WorkError(error['code'], String(error['message']), true);
}

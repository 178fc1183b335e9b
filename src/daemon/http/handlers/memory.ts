import type { ErrorCode } from '../../../contract/errors.ts';
import type { Memory } from '../../../contract/types.ts';
import { type Caller, organizationFor } from '../../auth/caller.ts';
import { Refusal } from '../../refusal.ts';
import { MemoryError, type MemoryErrorCode, type MemoryRecord, type MemoryScope } from '../../store/memory.ts';
import type { Handlers, Services } from '../handler.ts';
import { unknownId } from '../ids.ts';
import { pageOf } from '../page.ts';
import { knownFlow } from './flows.ts';

type Names = 'listMemory' | 'searchMemory' | 'getMemory' | 'setMemory' | 'deleteMemory';
interface Asked {
  readonly processId?: string;
  readonly organizationId?: string;
}

const DEFAULT_FOUND = 10;

export function memoryHandlers({ stores }: Services): Handlers<Names> {
  const { memory, definitions, organizations } = stores;

  /** A flow's memory for a flow that the caller may know; a system-level key reaches it without naming its organization. */
  const scopeOf = (caller: Caller, { processId, organizationId }: Asked): MemoryScope => {
    if (processId === undefined)
      return { organizationId: organizationFor(caller, organizationId, organizations), processId: undefined };
    const flow = knownFlow(definitions, processId, caller.organizationId ?? organizationId);
    return { organizationId: flow.organizationId, processId: flow.processId };
  };

  return {
    listMemory({ caller, query }) {
      const scope = scopeOf(caller, query);
      const page = pageOf(memory.list(scope, query.prefix), ({ key }) => key, query);
      return { ...page, items: page.items.map((record) => shown(scope, record)) };
    },

    async searchMemory({ caller, query }) {
      const scope = scopeOf(caller, query);
      const found = await memory.search(scope, query.query, query.prefix);
      const items = found.slice(0, query.limit ?? DEFAULT_FOUND);
      return { items: items.map((record) => ({ ...shown(scope, record), score: record.score })) };
    },

    getMemory({ caller, params, query }) {
      const scope = scopeOf(caller, query);
      const record = memory.get(scope, params.memoryKey);
      if (record === undefined) throw unknownId('memoryKey', params.memoryKey);
      return shown(scope, record);
    },

    async setMemory({ caller, params, query, body }) {
      const scope = scopeOf(caller, query);
      return shown(scope, await memory.set(scope, params.memoryKey, body.value).catch(refuse));
    },

    async deleteMemory({ caller, params, query }) {
      if (!(await memory.remove(scopeOf(caller, query), params.memoryKey)))
        throw unknownId('memoryKey', params.memoryKey);
      return undefined;
    },
  };
}

function shown({ processId }: MemoryScope, { key, value, updatedAt }: MemoryRecord): Memory {
  const scope = processId === undefined ? 'organization' : 'flow';
  return { key, value, scope, processId: processId ?? null, updatedAt };
}

const CODES: Readonly<Record<MemoryErrorCode, ErrorCode>> = {
  MEMORY_KEY_INVALID: 'VALIDATION_ERROR',
  MEMORY_VALUE_TOO_LARGE: 'PAYLOAD_TOO_LARGE',
  MEMORY_FULL: 'CONFLICT',
  MEMORY_NOT_A_LIST: 'CONFLICT',
};

function refuse(error: unknown): never {
  if (!(error instanceof MemoryError)) throw error;
  throw new Refusal(CODES[error.code], `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`);
}

import type { Json } from '../../engine/json.ts';

/** What executors need of the rest of the daemon, kept small; `daemon.ts` joins them. Asked for at each attempt. */
export interface WorkPorts {
  readonly memory: () => Memory;
}

/** Whose memory: a flow's, or (without processId) the whole organization's. */
export interface MemoryScope {
  readonly organizationId: string;
  readonly processId: string | undefined;
}

/**
 * Memory that outlives instances. A change with an idempotency key is made once. What is refused rejects with an error that
 * has a `code` (`MEMORY_…`).
 */
export interface Memory {
  get(scope: MemoryScope, key: string): { readonly value: Json } | undefined;
  list(scope: MemoryScope, prefix?: string): readonly { readonly key: string; readonly value: Json }[];
  search(
    scope: MemoryScope,
    query: string,
    prefix?: string,
  ): Promise<readonly { readonly key: string; readonly value: Json; readonly score: number }[]>;
  set(scope: MemoryScope, key: string, value: Json, idempotencyKey?: string): Promise<{ readonly value: Json }>;
  append(scope: MemoryScope, key: string, value: Json, idempotencyKey?: string): Promise<readonly Json[]>;
  remove(scope: MemoryScope, key: string, idempotencyKey?: string): Promise<boolean>;
}

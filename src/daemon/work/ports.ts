import type { Readable } from 'node:stream';
import type { Json, JsonObject } from '../../engine/json.ts';
import type { Handler } from '../../index.ts';
import type { WorkerTasks } from './worker-tasks.ts';

/** What executors need of the rest of the daemon, kept small; `daemon.ts` joins them. Asked for at each attempt. */
export interface WorkPorts {
  readonly memory: () => Memory;
  readonly files: () => FileStore;
  readonly flows: () => AgentFlows;
  readonly domain: { readonly local: LocalHandlers; readonly workers: WorkerTasks };
}

/** Uploaded files: what values of inputType `file` refer to. */
export interface StoredFiles {
  /** Opens a file's content; undefined where the organization has no such file. Who asked reads or destroys it. */
  open(organizationId: string, fileId: string): Promise<StoredFile | undefined>;
}

export interface FileStore extends StoredFiles {
  /** Keeps a file; resolves with the reference that variables hold. PAYLOAD_TOO_LARGE; nothing stays of one that breaks off. */
  save(
    organizationId: string,
    about: { readonly name: string; readonly contentType: string },
    content: Readable,
  ): Promise<FileReference>;
}

/** What a variable holds of a file. */
export interface FileReference {
  readonly id: string;
  readonly name: string;
  readonly contentType: string;
  /** Bytes. */
  readonly size: number;
}

export interface StoredFile {
  readonly name: string;
  readonly contentType: string;
  /** Bytes. */
  readonly size: number;
  readonly content: Readable;
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

/** Flows of the organization, as an agent uses them. */
export interface AgentFlows {
  /** Undefined: not published there, or another organization's. */
  describe(place: FlowPlace): FlowDescription | undefined;
  /**
   * Starts the flow and resolves when it has ended. The same key and flow again is the same instance, so that a call that a crash
   * interrupted goes on with what it began. When `signal` aborts because the node is over, the instance is cancelled.
   */
  run(call: FlowCall, signal: AbortSignal): Promise<FlowResult>;
}

export interface FlowPlace {
  readonly organizationId: string;
  readonly environment: 'DEVELOPMENT' | 'PRODUCTION';
  readonly processId: string;
}
export interface FlowDescription {
  readonly name: string;
  readonly description: string | undefined;
  /** Its defaults. */
  readonly variables: JsonObject;
}
export interface FlowCall extends FlowPlace {
  readonly data: JsonObject;
  readonly idempotencyKey: string;
  /** Who calls. */
  readonly instanceId: string;
  readonly nodeId: string;
}
export interface FlowResult {
  readonly processInstanceId: string;
  /** 1 Completed, 2 Failed, 3 Cancelled. */
  readonly stateCd: 1 | 2 | 3;
  readonly data: JsonObject;
  readonly error?: { readonly code: string; readonly message: string };
}

/** Functions of the user's own that are loaded in this process, by name. */
export interface LocalHandlers {
  get(name: string): Handler | undefined;
  /** Resolves when those that were there at the start are loaded. */
  readonly ready: Promise<void>;
  /** Calls `listener` after each change; returns what ends that. */
  onChange(listener: () => void): () => void;
}

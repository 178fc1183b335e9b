import type { Json, JsonObject } from '../../engine/json.ts';

/** What the daemon's owner allows and provides for work outside. */
export interface WorkSettings {
  /** Whether `service: command` may run programs of this machine. */
  readonly allowCommands: boolean;
  /** Attempts that run at the same time; the rest waits in line. Default 64. */
  readonly maxConcurrent?: number;
  /** Addresses or CIDR blocks that HTTP calls refuse beside the built-in ones, such as `10.0.0.0/8`. */
  readonly httpDeny?: readonly string[];
  /** Milliseconds that one script may run. Default 10 000. */
  readonly scriptTimeLimit?: number;
  /** The server that takes mail; without it `service: email` fails with EMAIL_NOT_CONFIGURED. */
  readonly smtp?: SmtpSettings;
  /** Without it aiTask and callAgent fail with AI_NOT_CONFIGURED. */
  readonly ai?: AiSettings;
}

/** Where language models, and voices, are. */
export interface AiSettings {
  /** By name; the first one is used where a node names none. */
  readonly providers: Readonly<Record<string, AiProvider>>;
}

export interface AiProvider {
  readonly type: 'openai-compatible' | 'anthropic';
  /** Such as `http://127.0.0.1:11434/v1`. */
  readonly baseURL: string;
  readonly apiKey?: string;
  /** The name of an environment value that holds the key. */
  readonly apiKeyEnv?: string;
  /** The model of nodes that name none. */
  readonly model?: string;
  /** Whether the provider takes JSON Schemas as `response_format`; default true. Answers are checked in any case. */
  readonly structuredOutputs?: boolean;
  /** Models of voiceTask; default `tts-1` and `whisper-1`. */
  readonly speechModel?: string;
  readonly transcriptionModel?: string;
}

export interface SmtpSettings {
  readonly host: string;
  /** Default 465 when `secure`, else 587. */
  readonly port?: number;
  /** TLS from the first byte on. Without it the connection is upgraded by STARTTLS where the server offers that. */
  readonly secure?: boolean;
  readonly user?: string;
  readonly password?: string;
  /** Sender of messages that name none. */
  readonly from?: string;
}

export type LogLevel = 'INFO' | 'WARN' | 'ERROR';

/** What an executor knows of the attempt that it works for. */
export interface ExecutorContext {
  /** Aborted when the node was cancelled or timed out: stop, free everything, then settle in any way. */
  readonly signal: AbortSignal;
  readonly idempotencyKey: string;
  readonly instanceId: string;
  readonly nodeId: string;
  readonly organizationId: string;
  readonly environment: 'DEVELOPMENT' | 'PRODUCTION';
  readonly processId: string;
  readonly attempt: number;
  /** Steps that were recorded before: by earlier attempts, or by this one before a crash. */
  readonly progress: readonly Json[];
  /**
   * Keeps a finished step, and the log lines so far; resolves when that is durable with the step as it was kept (secrets
   * masked). Rejects when the work is withdrawn meanwhile.
   */
  readonly record: (step: Json) => Promise<Json>;
  /** A value of the run's environment, secrets too: for credentials alone. */
  readonly env: (name: string) => Json | undefined;
  /** What the agent's tool with this index is, the arguments being variables in it; secrets come in here. */
  readonly tool: (index: number, variables: JsonObject) => JsonObject;
  readonly log: (level: LogLevel, message: string) => void;
  /** A text without secrets, for what is cut before it is handed on: half a secret is not recognised any more. */
  readonly masked: (text: string) => string;
  readonly settings: WorkSettings;
}

/** Does one attempt; its value becomes the node's result. Throws WorkError for what a flow can handle. */
export type Executor = (input: JsonObject, context: ExecutorContext) => Promise<Json>;

/** Why a signal aborted: the node itself is over. Without it the work may go on later, in this daemon or the next. */
export const WITHDRAWN = new Error('the node was withdrawn');

/** An executor with what it keeps between attempts (connections, threads). */
export interface Service {
  readonly execute: Executor;
  readonly close?: () => Promise<void>;
}

/** A node's error: `code` is what boundary events and error flows match. */
export class WorkError extends Error {
  override readonly name = 'WorkError';
  readonly code: string;
  /** Another attempt would fail the same way: the node's retry policy does not apply. */
  readonly final: boolean;

  constructor(code: string, message: string, final = false) {
    super(message);
    this.code = code;
    this.final = final;
  }
}

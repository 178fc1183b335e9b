import type { ModelMessage, ToolSet } from 'ai';
import type { JsonObject } from '../../../engine/json.ts';
import { type ExecutorContext, WorkError } from '../executor.ts';
import { type Endpoint, languageModel } from './endpoint.ts';
import { failureOf } from './failure.ts';

export interface Question {
  readonly model: string;
  readonly system?: string | undefined;
  readonly messages: readonly ModelMessage[];
  readonly temperature?: number | undefined;
  readonly maxTokens?: number | undefined;
  /** JSON Schema of an object, which the provider is told to keep to; whether it did is not checked here. */
  readonly schema?: JsonObject | undefined;
  readonly tools?: ToolSet | undefined;
}

export interface ToolCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

export interface Reply {
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  /** What a conversation goes on with. */
  readonly messages: readonly ModelMessage[];
  /** The provider stopped at the most tokens that it may use. */
  readonly cut: boolean;
}

const MAX_TEXT = 4 * 1024 * 1024;

/**
 * One streamed call of a model, its tokens logged. Errors: AI_UNREACHABLE, AI_RATE_LIMITED, AI_ERROR. It is not tried again
 * here: that is the node's `retry`.
 */
export async function ask(endpoint: Endpoint, question: Question, context: ExecutorContext): Promise<Reply> {
  const limit = new AbortController();
  try {
    return await streamed(endpoint, question, context, limit);
  } catch (error) {
    context.signal.throwIfAborted();
    throw failureOf(limit.signal.aborted ? limit.signal.reason : error, endpoint, context);
  }
}

async function streamed(
  endpoint: Endpoint,
  question: Question,
  context: ExecutorContext,
  limit: AbortController,
): Promise<Reply> {
  const { streamText, Output, jsonSchema } = await import('ai');
  // What a provider can't take is not printed by the SDK: the answer tells.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  const { system, messages, temperature, maxTokens, schema, tools } = question;
  const stream = streamText({
    model: await languageModel(endpoint, question.model),
    messages: [...messages],
    ...(system !== undefined && { system }),
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    ...(schema !== undefined && { output: Output.object({ schema: jsonSchema(schema as object) }) }),
    ...(tools !== undefined && { tools }),
    providerOptions: { [endpoint.name]: { strictJsonSchema: false } },
    abortSignal: AbortSignal.any([context.signal, limit.signal]),
    maxRetries: 0,
    // Errors come as parts of the stream; the SDK would print them.
    onError: () => undefined,
  });
  const reply = { text: '', toolCalls: [] as ToolCall[] };
  let finish: { reason: string; known: boolean; input?: number; output?: number } | undefined;
  for await (const part of stream.fullStream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-delta') reply.text += part.text;
    if (part.type === 'tool-call' && part.invalid !== true) reply.toolCalls.push(part);
    if (part.type === 'finish-step') finish = finishOf(part);
    if (reply.text.length > MAX_TEXT)
      limit.abort(
        new WorkError('AI_ERROR', `the answer of the AI provider '${endpoint.name}' is larger than ${MAX_TEXT} bytes`),
      );
  }
  context.signal.throwIfAborted();
  limit.signal.throwIfAborted();
  if (finish === undefined || !finish.known) throw new Error('the answer broke off');
  if (finish.reason === 'content-filter') throw new Error('it declined to answer (content filter)');
  const { input = '?', output = '?' } = finish;
  context.log('INFO', `${endpoint.name}/${question.model} answered: ${input} tokens in, ${output} out`);
  const response = await stream.response;
  return { ...reply, messages: response.messages, cut: finish.reason === 'length' };
}

interface FinishPart {
  readonly finishReason: string;
  readonly rawFinishReason: string | undefined;
  readonly usage: { readonly inputTokens: number | undefined; readonly outputTokens: number | undefined };
}

function finishOf({ finishReason, rawFinishReason, usage }: FinishPart) {
  const { inputTokens, outputTokens } = usage;
  return {
    reason: finishReason,
    known: rawFinishReason !== undefined || finishReason !== 'other',
    ...(inputTokens !== undefined && { input: inputTokens }),
    ...(outputTokens !== undefined && { output: outputTokens }),
  };
}

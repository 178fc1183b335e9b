import type { ModelMessage } from 'ai';
import { isObject, type Json, type JsonObject } from '../../engine/json.ts';
import { ask, type Question } from './ai/ask.ts';
import { type Endpoint, endpointOf, modelOf } from './ai/endpoint.ts';
import { type Check, checkBy } from './ai/json-schema.ts';
import { type ExecutorContext, type Service, WorkError } from './executor.ts';

/** How often a model is asked at most for an answer that fits the schema. */
const TRIES = 3;

/**
 * aiTask with `{prompt, system?, provider?, model?, temperature?, maxTokens?, schema?}`. The value is the answer's text; with a
 * schema, the JSON that was answered, which fits it: a model that answers something else is told what was wrong, twice.
 * Errors: AI_NOT_CONFIGURED, AI_UNREACHABLE, AI_RATE_LIMITED, AI_ERROR, AI_SCHEMA_INVALID, AI_INVALID_OUTPUT.
 */
export function createAi(): Service {
  return {
    async execute(input, context) {
      const endpoint = endpointOf(input['provider'] as string | undefined, context);
      const question = questionOf(input, modelOf(endpoint, input['model'] as string | undefined, context));
      const { schema } = input;
      if (schema === undefined || schema === true) return answerText(endpoint, question, context);
      if (!isObject(schema)) throw invalidSchema(context, 'it must be an object');
      return structured(endpoint, question, schema, context);
    },
  };
}

function questionOf(input: JsonObject, model: string): Question {
  return {
    model,
    system: input['system'] as string | undefined,
    messages: [{ role: 'user', content: input['prompt'] as string }],
    temperature: input['temperature'] as number | undefined,
    maxTokens: input['maxTokens'] as number | undefined,
  };
}

async function answerText(endpoint: Endpoint, question: Question, context: ExecutorContext): Promise<Json> {
  const { text, cut } = await ask(endpoint, question, context);
  if (cut) context.log('WARN', 'the answer was cut at the most tokens that it may have; see `maxTokens`');
  return text;
}

async function structured(
  endpoint: Endpoint,
  question: Question,
  schema: JsonObject,
  context: ExecutorContext,
): Promise<Json> {
  const check = await checkBy(schema).catch((error: Error) => {
    throw invalidSchema(context, error.message);
  });
  const wanted = `Answer with one JSON value that fits this JSON Schema, and with nothing else:\n${JSON.stringify(schema)}`;
  const system = question.system === undefined ? wanted : `${question.system}\n\n${wanted}`;
  // Providers take schemas of objects alone; the others are told by words.
  const told = schema['type'] === 'object' ? { schema } : {};
  const messages: ModelMessage[] = [...question.messages];
  let problem = '';
  for (let tried = 1; tried <= TRIES; tried += 1) {
    const { text, cut } = await ask(endpoint, { ...question, system, ...told, messages }, context);
    const read = readAnswer(text, check);
    if ('value' in read) return read.value;
    problem = cut ? `it was cut at the most tokens that it may have (${read.problem})` : read.problem;
    context.log('WARN', `the answer does not fit the schema: ${problem}`);
    messages.push({ role: 'assistant', content: text === '' ? '(nothing)' : text });
    messages.push({ role: 'user', content: `That is not valid: ${problem}. Answer again, with the JSON alone.` });
  }
  throw new WorkError(
    'AI_INVALID_OUTPUT',
    `${question.model} gave no answer that fits the schema in ${TRIES} tries: ${problem}`,
  );
}

const invalidSchema = ({ nodeId }: ExecutorContext, problem: string): WorkError =>
  new WorkError('AI_SCHEMA_INVALID', `node '${nodeId}': its \`schema\` is no JSON Schema: ${problem}`, true);

function readAnswer(text: string, check: Check): { readonly value: Json } | { readonly problem: string } {
  const value = jsonIn(text);
  if (value === undefined) return { problem: 'it is not JSON' };
  try {
    const problem = check(value);
    return problem === undefined ? { value } : { problem };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

/** The JSON of an answer, also where words or a Markdown fence stand around it. */
function jsonIn(text: string): Json | undefined {
  const fenced = /```(?:json)?\s*\n([\s\S]*?)```/.exec(text)?.[1];
  const from = text.search(/[[{]/);
  const to = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')) + 1;
  for (const candidate of [text, fenced, from < 0 ? undefined : text.slice(from, to)]) {
    if (candidate === undefined) continue;
    try {
      return JSON.parse(candidate) as Json;
    } catch {
      // The next one may be it.
    }
  }
  return undefined;
}

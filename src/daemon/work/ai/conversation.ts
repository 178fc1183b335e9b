import type { ModelMessage } from 'ai';
import { isObject, type Json } from '../../../engine/json.ts';
import type { Reply, ToolCall } from './ask.ts';

/** A model's answer, as it is recorded: with the calls that are to be made for it. */
interface ModelStep {
  readonly step: number;
  /** In the first one: what the agent was told, which stays as it was. */
  readonly goal?: string;
  readonly messages: readonly ModelMessage[];
  readonly calls: readonly ToolCall[];
  /** In the last one. */
  readonly answer?: string;
}

/** What a call gave, as it is recorded. */
export interface ToolStep {
  /** Index among the calls of the model's newest answer. */
  readonly call: number;
  /** Text for the model. */
  readonly output: string;
  readonly failed: boolean;
}

/** An agent's conversation with its model, made from the steps that are recorded: the same after a crash as before it. */
export class Conversation {
  /** How many answers the model has given. */
  step = 0;
  answer: string | undefined;
  calls: readonly ToolCall[] = [];
  #goal: string;
  #messages: ModelMessage[] = [];
  #outputs: (ToolStep | undefined)[] = [];

  constructor(goal: string, progress: readonly Json[]) {
    this.#goal = goal;
    for (const step of progress) this.add(step);
  }

  /** Takes up a recorded step. */
  add(step: Json): void {
    if (!isObject(step)) return;
    if (Object.hasOwn(step, 'call')) this.#addOutput(step as unknown as ToolStep);
    else this.#addReply(step as unknown as ModelStep);
  }

  /** The calls of the newest answer that gave nothing yet. */
  get open(): readonly number[] {
    return [...this.calls.keys()].filter((call) => this.#outputs[call] === undefined);
  }

  get messages(): readonly ModelMessage[] {
    return [{ role: 'user', content: this.#goal }, ...this.#messages];
  }

  /** The step to record for an answer of the model; one without calls is the last. */
  next({ text, toolCalls, messages }: Reply): Json {
    const isLast = toolCalls.length === 0 && messages.at(-1)?.role !== 'tool';
    const step: ModelStep = {
      step: this.step + 1,
      ...(this.step === 0 && { goal: this.#goal }),
      messages,
      calls: toolCalls.map(({ toolCallId, toolName, input }) => ({ toolCallId, toolName, input })),
      ...(isLast && { answer: text }),
    };
    return JSON.parse(JSON.stringify(step)) as Json;
  }

  #addReply({ step, goal, messages, calls, answer }: ModelStep): void {
    this.step = step;
    this.#goal = goal ?? this.#goal;
    this.answer = answer;
    this.calls = calls;
    this.#outputs = [];
    this.#messages.push(...messages);
  }

  #addOutput(step: ToolStep): void {
    this.#outputs[step.call] = step;
    if (this.open.length > 0) return;
    // All results of one answer go in one message, as some providers demand.
    const content = this.calls.map(({ toolCallId, toolName }, call) => {
      const { output: value, failed } = this.#outputs[call] as ToolStep;
      const type = failed ? ('error-text' as const) : ('text' as const);
      return { type: 'tool-result' as const, toolCallId, toolName, output: { type, value } };
    });
    this.#messages.push({ role: 'tool', content });
  }
}

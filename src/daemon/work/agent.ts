import { isObject, type Json, type JsonObject } from '../../engine/json.ts';
import { ask } from './ai/ask.ts';
import { Conversation, type ToolStep } from './ai/conversation.ts';
import { endpointOf, modelOf } from './ai/endpoint.ts';
import { openTools, type Toolbox, type ToolSources } from './ai/tools.ts';
import { type ExecutorContext, type Service, WorkError } from './executor.ts';
import { createPlaces } from './places.ts';

/** Calls of models by agents at the same time. */
const MAX_CALLS = 32;
/** What a model is shown of a tool's result, in UTF-16 units. */
const MAX_OUTPUT = 64 * 1024;
const IN_LOG = 300;

/**
 * callAgent with `{goal, tools, maxSteps, agent?, system?, provider?, model?}`: the model is asked until it answers without
 * calling a tool; that answer's text is the value. Each answer of the model, and each result of a tool, is a recorded step: after
 * a crash, and in the node's next attempt, it goes on after the last one. A tool that fails is told to the model.
 * Errors: AGENT_STEP_LIMIT, AGENT_TOOL_INVALID, NOT_PUBLISHED, MCP_UNREACHABLE, COMMANDS_DISABLED, and those of aiTask.
 */
export function createAgent(sources: {
  readonly http: ToolSources['http'];
  readonly flows: () => ToolSources['flows'];
}): Service {
  const places = createPlaces(MAX_CALLS);
  return {
    async execute(input, context) {
      const conversation = new Conversation(input['goal'] as string, context.progress);
      if (conversation.answer !== undefined) return conversation.answer;
      const endpoint = endpointOf(input['provider'] as string | undefined, context);
      const model = modelOf(endpoint, input['model'] as string | undefined, context);
      const described = (input['tools'] ?? []) as readonly Json[];
      const toolbox = await openTools(described, { http: sources.http, flows: sources.flows() }, context);
      const { shown: tools } = toolbox;
      const system = systemFor(input);
      try {
        return await converse(conversation, input['maxSteps'] as number, toolbox, context, () =>
          places.run(context.signal, () =>
            ask(endpoint, { model, system, messages: conversation.messages, tools }, context),
          ),
        );
      } finally {
        await toolbox.close();
      }
    },
  };
}

function systemFor(input: JsonObject): string {
  const name = input['agent'] === undefined ? 'an agent' : `the agent "${input['agent']}"`;
  const role = `You are ${name}, and work towards the goal that you are given by yourself: nobody answers questions. Use the tools where they help. When the goal is reached, or can't be, answer with the result alone.`;
  return input['system'] === undefined ? role : `${role}\n\n${input['system']}`;
}

async function converse(
  conversation: Conversation,
  maxSteps: number,
  toolbox: Toolbox,
  context: ExecutorContext,
  askModel: () => ReturnType<typeof ask>,
): Promise<Json> {
  for (;;) {
    for (const call of conversation.open) await makeCall(conversation, call, toolbox, context);
    if (conversation.answer !== undefined) return conversation.answer;
    if (conversation.step >= maxSteps)
      throw new WorkError(
        'AGENT_STEP_LIMIT',
        `node '${context.nodeId}': the agent has not reached its goal in ${maxSteps} steps; see \`maxSteps\``,
        true,
      );
    const reply = await askModel();
    const step = conversation.next(reply);
    context.log('INFO', told(step as JsonObject));
    if (reply.cut)
      context.log('WARN', `step ${conversation.step + 1}: the provider cut this at the most tokens that it gives`);
    conversation.add(await context.record(step));
  }
}

function told({ step, calls, answer }: JsonObject): string {
  if (answer !== undefined) return `step ${step}: ${shortened(`answers: ${answer}`)}`;
  const made = (calls as readonly JsonObject[]).map(({ toolName, input }) => `${toolName}(${JSON.stringify(input)})`);
  return `step ${step}: calls ${shortened(made.join(', ') || 'a tool that there is not')}`;
}

/** Makes one call of a tool and records what came of it. */
async function makeCall(
  conversation: Conversation,
  index: number,
  { tools }: Toolbox,
  context: ExecutorContext,
): Promise<void> {
  const { toolName, input } = conversation.calls[index] as Conversation['calls'][number];
  const key = `${context.idempotencyKey}:${conversation.step}.${index}`;
  const result: { output: string; failed: boolean } = { output: '', failed: false };
  try {
    const tool = tools.get(toolName);
    if (tool === undefined) throw new WorkError('NO_SUCH_TOOL', `there is no tool '${toolName}' any more`);
    const value = await tool.run(isObject(input) ? input : {}, key);
    result.output = forModel(context.masked(typeof value === 'string' ? value : JSON.stringify(value)));
  } catch (error) {
    context.signal.throwIfAborted();
    result.failed = true;
    const { message } = error as Error;
    result.output = forModel(context.masked(error instanceof WorkError ? `${error.code}: ${message}` : message));
  }
  const gave = result.failed ? 'failed: ' : 'gave ';
  context.log(
    result.failed ? 'WARN' : 'INFO',
    `step ${conversation.step}: ${toolName} ${gave}${shortened(result.output)}`,
  );
  const step: ToolStep = { call: index, ...result };
  conversation.add(await context.record(step as unknown as Json));
}

const shortened = (text: string): string => (text.length <= IN_LOG ? text : `${text.slice(0, IN_LOG)}…`);

const forModel = (text: string): string =>
  text.length <= MAX_OUTPUT ? text : `${text.slice(0, MAX_OUTPUT)}\n[cut: the result has ${text.length} characters]`;

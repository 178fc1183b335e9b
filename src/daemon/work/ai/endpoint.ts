import type { LanguageModel } from 'ai';
import { type AiProvider, type ExecutorContext, WorkError } from '../executor.ts';

/** A provider of the settings, ready to be called. */
export interface Endpoint extends AiProvider {
  readonly name: string;
  readonly key: string | undefined;
}

/**
 * The provider with this name, else the first one that `fits`. AI_NOT_CONFIGURED, which another attempt does not mend, where
 * there is none, or where its key is missing.
 */
export function endpointOf(
  asked: string | undefined,
  context: ExecutorContext,
  fits: (provider: AiProvider) => boolean = () => true,
): Endpoint {
  const providers = context.settings.ai?.providers ?? {};
  const name = asked ?? Object.keys(providers).find((each) => fits(providers[each] as AiProvider));
  if (name === undefined) throw notConfigured(context, 'no AI provider is set up; add one under `ai.providers`');
  const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (provider === undefined || !fits(provider)) {
    const known = Object.keys(providers).join(', ') || 'none';
    throw notConfigured(
      context,
      `there is no AI provider '${name}' for this (there are: ${known}); add it under \`ai.providers\``,
    );
  }
  return { ...provider, name, key: keyOf(name, provider, context) };
}

function keyOf(name: string, { apiKey, apiKeyEnv }: AiProvider, context: ExecutorContext): string | undefined {
  if (apiKeyEnv === undefined) return apiKey;
  const value = context.env(apiKeyEnv);
  if (typeof value === 'string' && value !== '') return value;
  throw new WorkError(
    'AI_NOT_CONFIGURED',
    `node '${context.nodeId}': the key of the AI provider '${name}' is missing: set the environment value ${apiKeyEnv} of ${context.environment} (wfx env set --secret ${apiKeyEnv}=…)`,
    true,
  );
}

const notConfigured = ({ nodeId }: ExecutorContext, problem: string): WorkError =>
  new WorkError(
    'AI_NOT_CONFIGURED',
    `node '${nodeId}': ${problem} in the daemon's settings.json, and start it again`,
    true,
  );

/** The model that a node names, else the provider's; AI_NOT_CONFIGURED where neither does. */
export function modelOf(endpoint: Endpoint, asked: string | undefined, context: ExecutorContext): string {
  const model = asked ?? endpoint.model;
  if (model !== undefined) return model;
  throw notConfigured(
    context,
    `no model is named; give the node a \`model\`, or the AI provider '${endpoint.name}' one`,
  );
}

/** The SDK's model; its packages are loaded when the first one is asked for. */
export async function languageModel(
  { type, baseURL, key, name, ...provider }: Endpoint,
  id: string,
): Promise<LanguageModel> {
  const withKey = key === undefined ? {} : { apiKey: key };
  if (type === 'anthropic') {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    return createAnthropic({ baseURL, apiKey: key ?? '' })(id);
  }
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const supportsStructuredOutputs = provider.structuredOutputs ?? true;
  return createOpenAICompatible({ name, baseURL, ...withKey, includeUsage: true, supportsStructuredOutputs }).chatModel(
    id,
  );
}

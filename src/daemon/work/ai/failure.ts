import { type ExecutorContext, WorkError } from '../executor.ts';
import type { Endpoint } from './endpoint.ts';

/** The part of the SDK's errors that tells what went wrong. */
interface CallError {
  readonly statusCode?: number;
  readonly message?: string;
  readonly responseHeaders?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
  readonly code?: string;
}

const NETWORK = /^(E[A-Z_]+|UND_ERR_\w+)$/;
const MAX_REASON = 300;
/** Answers that another attempt gets again. */
const FINAL = new Set([400, 401, 403, 404, 413, 422]);

/**
 * An error of a provider as a node's error: AI_UNREACHABLE, AI_RATE_LIMITED, or AI_ERROR with what the provider said. Its key
 * never shows.
 */
export function failureOf(
  error: unknown,
  { name, baseURL, key }: Endpoint,
  { masked }: Pick<ExecutorContext, 'masked'>,
): WorkError {
  if (error instanceof WorkError) return error;
  const { statusCode, message = '', responseHeaders } = error as CallError;
  const said = masked(hidden(message, key)).slice(0, MAX_REASON);
  const provider = `the AI provider '${name}'`;
  if (statusCode === 429) {
    const wait = responseHeaders?.['retry-after'];
    const when = wait === undefined ? 'try again later' : `it takes requests again in ${wait} s`;
    return new WorkError('AI_RATE_LIMITED', `${provider} has had too many requests (429); ${when}`);
  }
  if (statusCode === 401 || statusCode === 403)
    return new WorkError('AI_ERROR', `${provider} refused the key (${statusCode}): ${said}`, true);
  if (statusCode !== undefined && statusCode >= 300)
    return new WorkError('AI_ERROR', `${provider} answered ${statusCode}: ${said}`, FINAL.has(statusCode));
  const broken = networkReason(error);
  if (broken !== undefined)
    return new WorkError('AI_UNREACHABLE', `${provider} can't be reached at ${originOf(baseURL)}: ${broken}`);
  return new WorkError('AI_ERROR', `${provider} gave no usable answer: ${said || 'no reason was given'}`);
}

const hidden = (text: string, key: string | undefined): string => {
  return key === undefined || key === '' ? text : text.replaceAll(key, '***');
};

const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : url);

/** Why a connection failed, from the innermost cause. */
function networkReason(error: unknown): string | undefined {
  let reason: string | undefined;
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth += 1) {
    const { code } = at as CallError;
    if (code !== undefined && NETWORK.test(code)) reason = `${at.message || 'no connection'} (${code})`;
    else if (/^(fetch failed|terminated|other side closed)$/.test(at.message)) reason ??= 'the connection broke';
    else if (reason !== undefined && at.message !== '') reason = at.message;
  }
  const { message } = error as CallError;
  return reason ?? /^Cannot connect to API: (.*)$/.exec(message ?? '')?.[1];
}

import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { ReadableStream } from 'node:stream/web';
import { execa } from 'execa';
import { isObject, type Json, type JsonObject } from '../../engine/json.ts';
import { type Endpoint, endpointOf } from './ai/endpoint.ts';
import { failureOf } from './ai/failure.ts';
import { type AiProvider, type ExecutorContext, type Service, WorkError } from './executor.ts';
import type { FileStore } from './ports.ts';

/** Larger recordings are not sent: they are held in memory while they go out. */
const MAX_RECORDING = 64 * 1024 * 1024;
const MAX_REASON = 500;

/**
 * voiceTask: `{action: 'speak', text, voice?, provider?, model?}` gives the reference of a sound file, as uploads have it
 * (`{id, name, contentType, size}`), `{action: 'transcribe', file, provider?, model?}` gives text. Both over the audio endpoints of an
 * OpenAI-compatible provider; without one, espeak-ng speaks where it is installed.
 * Errors: VOICE_INVALID, VOICE_TOO_LARGE, FILE_NOT_FOUND, and those of aiTask.
 */
export function createVoice(files: () => FileStore): Service {
  return {
    execute: (input, context) =>
      input['action'] === 'speak' ? speak(input, files(), context) : transcribe(input, files(), context),
  };
}

const speaks = ({ type }: AiProvider): boolean => type === 'openai-compatible';

/** The provider that a node names, or else the first one with a model for this, or else the first that may have one. */
function voiceEndpoint(
  asked: Json | undefined,
  model: 'speechModel' | 'transcriptionModel',
  context: ExecutorContext,
): Endpoint {
  const providers = Object.entries(context.settings.ai?.providers ?? {});
  const first = providers.find(([, provider]) => speaks(provider) && provider[model] !== undefined)?.[0];
  return endpointOf((asked as string | undefined) ?? first, context, speaks);
}

const hasProvider = ({ settings }: ExecutorContext): boolean =>
  Object.values(settings.ai?.providers ?? {}).some(speaks);

async function speak(input: JsonObject, files: FileStore, context: ExecutorContext): Promise<Json> {
  const text = input['text'] as string;
  if (text.trim() === '')
    throw new WorkError('VOICE_INVALID', `node '${context.nodeId}': there is no text to speak`, true);
  if (input['provider'] === undefined && !hasProvider(context)) return speakHere(text, input['voice'], files, context);
  const endpoint = voiceEndpoint(input['provider'], 'speechModel', context);
  const model = input['model'] ?? endpoint.speechModel ?? 'tts-1';
  const body = JSON.stringify({ model, input: text, voice: input['voice'] ?? 'alloy', response_format: 'mp3' });
  const answer = await send(
    endpoint,
    '/audio/speech',
    { body, headers: { 'content-type': 'application/json' } },
    context,
  );
  const contentType = answer.headers.get('content-type') ?? 'audio/mpeg';
  const sound = Readable.fromWeb(answer.body as ReadableStream);
  return kept(files, { name: `speech.${endingOf(contentType)}`, contentType }, sound, context, endpoint);
}

/** By espeak-ng, as a WAV file. */
async function speakHere(
  text: string,
  voice: Json | undefined,
  files: FileStore,
  context: ExecutorContext,
): Promise<Json> {
  if (voice !== undefined && !/^[A-Za-z][\w+-]{0,60}$/.test(String(voice)))
    throw new WorkError(
      'VOICE_INVALID',
      `node '${context.nodeId}': '${voice}' is no voice of espeak-ng; write one like en-us or de`,
      true,
    );
  const folder = await mkdtemp(join(tmpdir(), 'wfx-voice-'));
  try {
    const path = join(folder, 'speech.wav');
    const args = ['-w', path, '--stdin', ...(voice === undefined ? [] : ['-v', String(voice)])];
    const ended = await execa('espeak-ng', args, { input: text, cancelSignal: context.signal, reject: false });
    context.signal.throwIfAborted();
    if (ended.code === 'ENOENT') throw nobodySpeaks(context);
    if (ended.exitCode !== 0)
      throw new WorkError(
        'AI_ERROR',
        `espeak-ng failed: ${context.masked(ended.stderr).slice(-MAX_REASON) || `exit code ${ended.exitCode}`}`,
      );
    return await kept(files, { name: 'speech.wav', contentType: 'audio/wav' }, createReadStream(path), context);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const nobodySpeaks = ({ nodeId }: ExecutorContext): WorkError =>
  new WorkError(
    'AI_NOT_CONFIGURED',
    `node '${nodeId}': nothing can speak here; add an OpenAI-compatible provider under \`ai.providers\` in the daemon's settings.json, or install espeak-ng`,
    true,
  );

async function transcribe(input: JsonObject, files: FileStore, context: ExecutorContext): Promise<Json> {
  const endpoint = voiceEndpoint(input['provider'], 'transcriptionModel', context);
  const given = input['file'] ?? null;
  const id = isObject(given) ? (given['id'] ?? given['fileId']) : given;
  const file = typeof id === 'string' ? await files.open(context.organizationId, id) : undefined;
  if (file === undefined)
    throw new WorkError(
      'FILE_NOT_FOUND',
      `node '${context.nodeId}': ${JSON.stringify(given).slice(0, 200)} is no uploaded file`,
      true,
    );
  if (file.size > MAX_RECORDING) {
    file.content.destroy();
    throw new WorkError(
      'VOICE_TOO_LARGE',
      `node '${context.nodeId}': '${file.name}' is larger than ${MAX_RECORDING} bytes`,
      true,
    );
  }
  const form = new FormData();
  form.set('file', new File([await buffer(file.content)], file.name, { type: file.contentType }));
  form.set('model', String(input['model'] ?? endpoint.transcriptionModel ?? 'whisper-1'));
  form.set('response_format', 'json');
  const answer = await send(endpoint, '/audio/transcriptions', { body: form }, context);
  const { text } = (await answer.json().catch(() => ({}))) as { readonly text?: unknown };
  if (typeof text === 'string') return text;
  throw new WorkError('AI_ERROR', `the AI provider '${endpoint.name}' answered without a text`);
}

async function send(
  endpoint: Endpoint,
  path: string,
  { body, headers = {} }: { readonly body: string | FormData; readonly headers?: Readonly<Record<string, string>> },
  context: ExecutorContext,
): Promise<Response> {
  const credentials = endpoint.key === undefined ? {} : { authorization: `Bearer ${endpoint.key}` };
  try {
    const url = endpoint.baseURL.replace(/\/+$/, '') + path;
    const answer = await fetch(url, {
      method: 'POST',
      headers: { ...headers, ...credentials, 'idempotency-key': context.idempotencyKey },
      body,
      signal: context.signal,
    });
    if (answer.ok) return answer;
    throw {
      statusCode: answer.status,
      message: reasonIn(await answer.text()),
      responseHeaders: Object.fromEntries(answer.headers),
    };
  } catch (error) {
    context.signal.throwIfAborted();
    throw failureOf(error, endpoint, context);
  }
}

function reasonIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { readonly error?: { readonly message?: string } | string };
    return (typeof error === 'string' ? error : error?.message) ?? text;
  } catch {
    return text;
  }
}

/** Stores a sound as uploads are; what breaks on its way from a provider is that provider's failure. */
async function kept(
  files: FileStore,
  about: { readonly name: string; readonly contentType: string },
  sound: Readable,
  context: ExecutorContext,
  endpoint?: Endpoint,
): Promise<Json> {
  // It may break before anybody reads it.
  sound.on('error', () => undefined);
  try {
    return { ...(await files.save(context.organizationId, about, sound)) };
  } catch (error) {
    context.signal.throwIfAborted();
    const { code, message } = error as { readonly code?: string; readonly message: string };
    if (code === 'PAYLOAD_TOO_LARGE') throw new WorkError('VOICE_TOO_LARGE', message);
    if (endpoint === undefined || (error as Error).name === 'StorageError') throw error;
    throw failureOf(error, endpoint, context);
  }
}

function endingOf(contentType: string): string {
  const [, kind = ''] = /^audio\/(?:x-)?([a-z0-9]+)/.exec(contentType) ?? [];
  return kind === 'mpeg' || kind === '' ? 'mp3' : kind;
}

import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, UnreachableError, unreachable } from './errors.ts';
import { EventStreamParser, type ServerSentEvent } from './sse.ts';

export interface Reconnecting {
  /** Of tries in a row without an event, from 1. */
  readonly attempt: number;
  readonly waitMs: number;
  readonly reason: string;
}

interface Options {
  readonly signal?: AbortSignal;
  readonly after?: string | undefined;
  readonly onReconnecting?: (state: Reconnecting) => void;
  readonly onConnected?: () => void;
}

interface Opened {
  readonly answer: IncomingMessage;
  readonly url: string;
}

/** The daemon sends a comment every 15 s; a connection that is silent for three of them is dead, however open it looks. */
const SILENCE_MS = 45_000;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;
/** About a minute of tries in a row. */
const TRIES = 16;

/**
 * Events of a stream that is opened again, after the last event seen, whenever its connection is lost. Ends when the
 * daemon says that no more will come (204), and throws what the first opening or a 4xx says, or the last error of a
 * minute of tries.
 */
export async function* resumed(
  open: (lastEventId: string | undefined) => Promise<Opened>,
  { signal, after, onReconnecting, onConnected }: Options,
): AsyncGenerator<ServerSentEvent, void, void> {
  let last = after;
  let asked: number | undefined;
  let opened = false;
  for (let attempt = 1; ; attempt += 1) {
    let reason: Error;
    let since: number | undefined;
    try {
      const { answer, url } = await open(last);
      opened = true;
      since = performance.now();
      onConnected?.();
      if (answer.statusCode === 204) {
        answer.resume();
        return;
      }
      const parser = new EventStreamParser();
      for await (const event of eventsOf(answer, url, parser)) {
        attempt = 0;
        last = event.id ?? last;
        yield event;
      }
      asked = parser.reconnectMs ?? asked;
      reason = new UnreachableError(url, 'the stream was cut', false);
    } catch (error) {
      signal?.throwIfAborted();
      if (!opened || (attempt >= TRIES && !hasHeld(since)) || !mayPass(error)) throw error;
      reason = error as Error;
    }
    // A stream on which little happens is cut now and then, over days: that it held for a while makes up for it.
    if (hasHeld(since)) attempt = 0;
    const waitMs = Math.min(Math.max(asked ?? 0, FIRST_WAIT_MS * 2 ** Math.min(attempt, 6)), LONGEST_WAIT_MS);
    onReconnecting?.({ attempt: attempt + 1, waitMs, reason: reason.message });
    await delay(waitMs, undefined, signal === undefined ? {} : { signal });
  }
}

const hasHeld = (since: number | undefined): boolean =>
  since !== undefined && performance.now() - since > LONGEST_WAIT_MS;

async function* eventsOf(
  answer: IncomingMessage,
  url: string,
  parser: EventStreamParser,
): AsyncGenerator<ServerSentEvent> {
  if (!/^text\/event-stream\b/i.test(answer.headers['content-type'] ?? ''))
    throw new ApiError(answer.statusCode ?? 0, {
      error: 'UNEXPECTED_ANSWER',
      message: `${url} does not answer with an event stream`,
    });
  const decoder = new TextDecoder();
  answer.setTimeout(SILENCE_MS, () => answer.destroy(new UnreachableError(url, 'the stream went silent', false)));
  try {
    for await (const part of answer as AsyncIterable<Buffer>)
      yield* parser.push(decoder.decode(part, { stream: true }));
  } catch (error) {
    throw unreachable(url, error as NodeJS.ErrnoException);
  } finally {
    answer.destroy();
  }
}

function mayPass(error: unknown): boolean {
  if (error instanceof ApiError) return error.status === 503 || error.status === 429;
  return error instanceof UnreachableError;
}

import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EventMessage } from 'fastify-sse-v2';
import type { Caller } from '../auth/caller.ts';

/** One Server-Sent Event; `data` goes out as one line of JSON, so no text in it can forge a field. */
export interface Message {
  readonly id: string;
  readonly event: string;
  readonly data: unknown;
}
const HEARTBEAT_MS = 15_000;
/** A reader that takes nothing for so many heartbeats is let go; it comes back with Last-Event-ID and misses nothing. */
const STALLED_BEATS = 8;

/**
 * The open event streams. fastify-sse-v2 writes what an async iterable yields, as fast as the reader takes it, but ends the
 * process when that throws, and does not tell it when the reader goes: each stream is wrapped once, here, so that it is
 * aborted when the connection closes, its credential ends or the daemon stops, says something every 15 s, and turns an
 * error into its end.
 */
export class Streams {
  readonly #log: { warn(fields: object, message: string): void };
  readonly #open = new Map<AbortController, Caller | undefined>();
  #streams = 0;
  readonly #heartbeatMs: number;

  constructor(log: { warn(fields: object, message: string): void }, heartbeatMs = HEARTBEAT_MS) {
    this.#log = log;
    this.#heartbeatMs = heartbeatMs;
  }

  get open(): number {
    return this.#streams;
  }

  /** Aborts when the connection closes, the caller's key changes or the daemon stops: for an answer that is long in coming. */
  whileAdmitted(caller: Caller, reply: FastifyReply): AbortSignal {
    return this.#admitted(caller, reply).signal;
  }

  /** Answers 200 with the messages of `source`; the headers go out at once. HEAD gets the headers alone. */
  answer(request: FastifyRequest, reply: FastifyReply, source: (signal: AbortSignal) => AsyncIterable<Message>): void {
    reply.header('X-Accel-Buffering', 'no').header('X-Content-Type-Options', 'nosniff');
    if (request.method === 'HEAD') {
      void reply.header('Content-Type', 'text/event-stream; charset=utf-8').header('Cache-Control', 'no-store').send();
      return;
    }
    const { caller } = request;
    const controller = this.#admitted(caller, reply);
    const events = this.#guarded(source(controller.signal), controller);
    const reader = { stalled: 0 };
    const beats = setInterval(() => {
      if (caller !== undefined && caller.validUntil <= Date.now()) controller.abort();
      else beat(reply.raw, reader);
    }, this.#heartbeatMs);
    this.#streams += 1;
    controller.signal.addEventListener('abort', () => {
      clearInterval(beats);
      this.#streams -= 1;
      // A stream that waits for its reader to take more is not asked again: it has to be told.
      void events.return(undefined);
    });
    keepFromCaches(reply);
    reply.sse(events);
  }

  #admitted(caller: Caller | undefined, reply: FastifyReply): AbortController {
    const controller = new AbortController();
    this.#open.set(controller, caller);
    controller.signal.addEventListener('abort', () => this.#open.delete(controller));
    reply.raw.once('close', () => controller.abort()).once('error', () => controller.abort());
    return controller;
  }

  /** Ends what a key has open, which has changed: its holders come back if they still may. */
  endOf(keyId: string): void {
    for (const [controller, caller] of this.#open) if (caller?.keyId === keyId) controller.abort();
  }

  /** Ends all streams; their readers may come back elsewhere or later. */
  close(): void {
    for (const controller of this.#open.keys()) controller.abort();
  }

  /** The messages as the package takes them; an error is logged and ends the stream. */
  async *#guarded(source: AsyncIterable<Message>, controller: AbortController): AsyncGenerator<EventMessage, void> {
    try {
      for await (const { id, event, data } of source) yield { id, event, data: JSON.stringify(data) };
    } catch (error) {
      if (!controller.signal.aborted) this.#log.warn({ err: error }, 'an event stream broke off');
    } finally {
      controller.abort();
    }
  }
}

/** Events are written whole, so a comment may go between any two writes. A full socket needs none: it has something to read. */
function beat(raw: ServerResponse, reader: { stalled: number }): void {
  reader.stalled = raw.writableNeedDrain ? reader.stalled + 1 : 0;
  if (reader.stalled >= STALLED_BEATS) raw.destroy();
  else if (reader.stalled === 0 && !raw.writableEnded) raw.write(': heartbeat\n\n');
}

/** The package sets `Cache-Control: no-cache` as it starts; a log must not be kept at all. */
function keepFromCaches({ raw }: FastifyReply): void {
  const setHeader = raw.setHeader.bind(raw);
  raw.setHeader = (name, value) => setHeader(name, name.toLowerCase() === 'cache-control' ? 'no-store' : value);
}

import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { ENDPOINTS, pathOf, type RouteName } from '../contract/endpoints.ts';
import type {
  Answer,
  DeliverySummary,
  Input,
  LifecycleEvent,
  LogEnd,
  LogEntry,
  StreamName,
} from '../contract/types.ts';
import { ApiError, UnreachableError } from './errors.ts';
import { accepted, bodyOf, type Exchange, exchange, jsonOf, type Target } from './http.ts';
import { type Reconnecting, resumed } from './stream.ts';

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Makes a start repeatable: the daemon takes the same key once. */
  readonly idempotencyKey?: string;
  /** Of a body that is neither JSON nor a flow file. */
  readonly contentType?: string;
}
export interface StreamOptions {
  readonly signal?: AbortSignal;
  /** Only what comes after this event id. */
  readonly after?: string | undefined;
  /** Called when the connection was lost, before every try to get it back. */
  readonly onReconnecting?: (state: Reconnecting) => void;
  /** Called whenever the stream was opened, the first time and again. */
  readonly onConnected?: () => void;
}

/** An entry of an instance's log, or its end. */
export type LogItem =
  | { readonly kind: 'entry'; readonly id: string; readonly entry: LogEntry }
  | { readonly kind: 'end'; readonly end: LogEnd };

/** What an address of a webhook answered. */
export interface Delivered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface Loose {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Exchange['query'];
  readonly body?: unknown;
}

const TRIES = 5;

/** A daemon's API, typed by the contract. Errors: ApiError, UnreachableError, or the signal's AbortError. */
export class Client {
  /** Asked again for every try: a daemon that restarts may come back at another port. */
  readonly #target: () => Target | Promise<Target>;

  constructor(target: () => Target | Promise<Target>) {
    this.#target = target;
  }

  /** Where the daemon is now. */
  async url(): Promise<string> {
    return (await this.#target()).url;
  }

  /** Requests that change nothing, or carry an idempotency key, are tried again while the daemon says 503. */
  async call<N extends Exclude<RouteName, StreamName>>(
    name: N,
    ...[input, options]: Record<never, never> extends Input<N>
      ? [input?: Input<N>, options?: CallOptions]
      : [input: Input<N>, options?: CallOptions]
  ): Promise<Answer<N>> {
    const ask = request(name, (input ?? {}) as Loose, options ?? {});
    const repeatable = ask.method === 'GET' || options?.idempotencyKey !== undefined;
    return withRetry(repeatable ? TRIES : 1, options?.signal, () => this.#once(ask, name === 'metrics')) as Promise<
      Answer<N>
    >;
  }

  async #once(ask: Exchange, text: boolean): Promise<unknown> {
    const target = await this.#target();
    const answer = await accepted(await exchange(target, ask), target.url);
    return text ? (await bodyOf(answer, target.url)).toString('utf8') : jsonOf(answer, target.url);
  }

  /**
   * Brings a delivery to a webhook's address as its sender made it, and without a credential: its signature is all that
   * speaks for it. What the daemon answers, whatever its status.
   */
  async deliver(
    path: string,
    { headers, ...rest }: Pick<Exchange, 'headers' | 'body' | 'signal' | 'timeoutMs'>,
  ): Promise<Delivered> {
    const { url, tls } = await this.#target();
    const ask: Exchange = { method: 'POST', path, ...rest, ...(headers && { headers }) };
    const answer = await exchange({ url, tls }, ask);
    return { status: answer.statusCode ?? 0, headers: answer.headers, body: await bodyOf(answer, url) };
  }

  /** The content of an uploaded file. */
  async download(fileId: string, signal?: AbortSignal): Promise<Buffer> {
    const target = await this.#target();
    const ask: Exchange = { method: 'GET', path: pathOf('downloadFile', { fileId }), signal };
    return bodyOf(await accepted(await exchange(target, ask), target.url), target.url);
  }

  /** An instance's log, history first and then live, over lost connections and restarts; ends after its `end`. */
  async *log(processInstanceId: string, options: StreamOptions = {}): AsyncGenerator<LogItem, void, void> {
    for await (const event of this.#stream(pathOf('streamLog', { processInstanceId }), options)) {
      if (event.event === 'log') yield { kind: 'entry', id: event.id ?? '', entry: JSON.parse(event.data) as LogEntry };
      if (event.event !== 'end') continue;
      yield { kind: 'end', end: JSON.parse(event.data) as LogEnd };
      return;
    }
  }

  /** Lifecycle events of the organization, from now on or after `after`; goes on until the signal aborts. */
  async *events(
    options: StreamOptions = {},
  ): AsyncGenerator<{ id: string | undefined; event: LifecycleEvent }, void, void> {
    for await (const event of this.#stream(pathOf('streamEvents', {}), options))
      yield { id: event.id, event: { type: event.event, data: JSON.parse(event.data) } as LifecycleEvent };
  }

  /** Webhook deliveries as they come, of one webhook or all; goes on until the signal aborts. */
  async *deliveries(
    webhookId: string | undefined,
    options: StreamOptions = {},
  ): AsyncGenerator<DeliverySummary, void, void> {
    const query = webhookId === undefined ? '' : `?webhookId=${encodeURIComponent(webhookId)}`;
    for await (const event of this.#stream(pathOf('streamDeliveries', {}) + query, options))
      yield JSON.parse(event.data) as DeliverySummary;
  }

  #stream(path: string, options: StreamOptions) {
    return resumed(async (lastEventId) => {
      const target = await this.#target();
      const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
      const headers = { accept: 'text/event-stream', 'cache-control': 'no-cache', ...resume };
      const answer = await exchange(target, { method: 'GET', path, headers, signal: options.signal });
      return { answer: await accepted(answer, target.url), url: target.url };
    }, options);
  }
}

function request(name: RouteName, input: Loose, options: CallOptions): Exchange {
  const once = options.idempotencyKey === undefined ? {} : { 'idempotency-key': options.idempotencyKey };
  const { headers, body } = carried(name, input.body, options.contentType);
  return {
    method: ENDPOINTS[name].method,
    path: pathOf(name, (input.params ?? {}) as never),
    query: input.query ?? {},
    headers: { ...headers, ...once },
    body,
    signal: options.signal,
  };
}

function carried(name: RouteName, body: unknown, contentType?: string): Pick<Exchange, 'headers' | 'body'> {
  if (body === undefined) return { headers: {}, body: undefined };
  if (body instanceof Uint8Array)
    return { headers: { 'content-type': contentType ?? 'application/octet-stream' }, body: Buffer.from(body) };
  const flow = name === 'publishFlow' || name === 'validateFlow';
  if (flow) return { headers: { 'content-type': 'application/yaml' }, body: body as string };
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

async function withRetry<T>(tries: number, signal: AbortSignal | undefined, attempt: () => Promise<T>): Promise<T> {
  for (let wait = 250; ; wait *= 2) {
    try {
      return await attempt();
    } catch (error) {
      signal?.throwIfAborted();
      tries -= 1;
      if (tries === 0 || !mayPass(error)) throw error;
      const asked = error instanceof ApiError ? (error.retryAfter ?? 0) * 1000 : 0;
      await delay(Math.min(Math.max(wait, asked), 5000), undefined, { signal });
    }
  }
}

/** Busy, restarting, or a connection that broke: not a daemon that isn't there. */
function mayPass(error: unknown): boolean {
  return error instanceof ApiError ? error.status === 503 : error instanceof UnreachableError && !error.refused;
}

import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import SmeeClient from 'smee-client';
import { type Client, plain } from '../../client/index.ts';
import type { Webhook } from '../../contract/types.ts';
import { isObject } from '../../engine/json.ts';
import { CliError, EXIT, usage } from '../exit.ts';
import { type PublicEndpoint, publicEndpoints, type TunnelEvents } from './endpoints.ts';
import { passedHeaders } from './gateway.ts';
import type { SmeeChoice } from './names.ts';
import { restoredBody, type SmeeEvent } from './smee-body.ts';

interface Parts {
  readonly client: Client;
  readonly choice: SmeeChoice;
  readonly webhooks: readonly Webhook[];
  readonly events: TunnelEvents;
}

const CONNECT_MS = 15_000;
/** A server that sends pings sends them every 30 s; silent for three of them, its connection is dead. */
const SILENCE_MS = 90_000;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;
/** How long a delivery waits for a daemon that restarts, and how many may wait. */
const DAEMON_MS = 60_000;
const DAEMON_LOOK_MS = 500;
const MAX_WAITING = 1000;
/** What a smee server adds to the headers of the request, or has undone in its body. */
const NOT_HEADERS = new Set(['body', 'bodyb', 'rawbody', 'query', 'timestamp', 'content-length', 'content-encoding']);

/**
 * The channel of an address on a server: always the same one, so that what was entered at the sender stays right; and made
 * from the address's token, so that nobody guesses it.
 */
const channelOf = (server: string, token: string): string =>
  `${server}/${createHash('sha256').update(`wfx smee channel\n${server}\n${token}`).digest('hex').slice(0, 32)}`;

/** Reads the channels of the webhooks' addresses until the signal aborts, and brings what is sent there to the daemon. */
export async function keepChannels({ client, choice, webhooks, events }: Parts, signal: AbortSignal): Promise<void> {
  const endpoints = webhooks.flatMap((webhook) => webhook.endpoints);
  if (choice.channel !== undefined && endpoints.length !== 1)
    throw usage(
      `A channel leads to one address, and there are ${endpoints.length}.`,
      'say of which webhook: --webhook NAME (and --environment NAME)',
    );
  const channelAt = new Map(
    endpoints.map(({ path, token }) => [path, choice.channel ?? channelOf(choice.server, token)]),
  );
  const told = publicEndpoints(webhooks, (path) => channelAt.get(path) ?? '');
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const state = new OpenChannels(told, events);
  const kept = [...channelAt].map(([path, channel]) => keepChannel({ client, path, channel, events, state }, both));
  try {
    await Promise.all(kept);
  } finally {
    stop.abort();
    await Promise.allSettled(kept);
  }
}

/** Tells that the tunnel is open when all of its channels are, and that it is not when the first of them is lost. */
class OpenChannels {
  readonly #all: readonly PublicEndpoint[];
  readonly #events: TunnelEvents;
  readonly #open = new Set<string>();
  constructor(all: readonly PublicEndpoint[], events: TunnelEvents) {
    this.#all = all;
    this.#events = events;
  }

  opened(channel: string): void {
    this.#open.add(channel);
    if (this.#open.size === this.#all.length) this.#events.opened(this.#all);
  }

  lost(channel: string, reason: string, waitMs: number): void {
    const wasWhole = this.#open.size === this.#all.length;
    this.#open.delete(channel);
    if (wasWhole) this.#events.lost(reason, waitMs);
  }
}

interface Channel {
  readonly client: Client;
  readonly path: string;
  readonly channel: string;
  readonly events: TunnelEvents;
  readonly state: OpenChannels;
}

async function keepChannel({ client, path, channel, events, state }: Channel, signal: AbortSignal): Promise<void> {
  const deliveries = new Deliveries({ client, path, events, signal });
  let openedOnce = false;
  let waitMs = FIRST_WAIT_MS;
  const onOpen = (): void => {
    openedOnce = true;
    waitMs = FIRST_WAIT_MS;
    state.opened(channel);
  };
  while (!signal.aborted) {
    const why = await listen(channel, onOpen, (event) => deliveries.add(event), signal);
    if (signal.aborted) break;
    if (!openedOnce)
      throw new CliError(EXIT.unreachable, `The smee channel ${channel} can't be read: ${why}.`, 'check the address');
    state.lost(channel, why, waitMs);
    await delay(waitMs, undefined, { signal }).catch(() => undefined);
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
  }
  await deliveries.settled;
}

/** Reads a channel once. Resolves with why it is no longer read. */
async function listen(
  channel: string,
  onOpen: () => void,
  onEvent: (event: SmeeEvent) => void,
  signal: AbortSignal,
): Promise<string> {
  const quiet = { info: () => undefined, error: () => undefined };
  // The package reads the channel; it would pass bodies on as the JSON that it makes of them, so that is done here.
  const smee = new SmeeClient({ source: channel, target: channel, logger: quiet, forward: false });
  const ended = new Promise<string>((resolve) => {
    const timer = setTimeout(() => resolve('no answer in time'), CONNECT_MS);
    smee.onopen = () => {
      clearTimeout(timer);
      onOpen();
    };
    smee.onmessage = ({ data }) => {
      const event = eventIn(data);
      if (event !== undefined) onEvent(event);
    };
    smee.onerror = ({ code, message }) => {
      clearTimeout(timer);
      const reason = (message ?? 'the connection was cut').replace(/^TypeError: (fetch failed: )?/, '');
      resolve(code === undefined ? plain(reason, 200) : `it answers with ${code}`);
    };
    signal.addEventListener('abort', () => resolve('stopped'), { once: true });
  });
  const started = smee.start().then(
    (source) => silenceOf(source, signal),
    () => ended,
  );
  try {
    return await Promise.race([ended, started]);
  } finally {
    await smee.stop();
  }
}

/** Resolves when a server that has sent pings sends them no more. */
function silenceOf(source: EventTarget, signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    source.addEventListener('ping', () => {
      clearTimeout(timer);
      if (!signal.aborted) timer = setTimeout(() => resolve('the server went silent'), SILENCE_MS).unref();
    });
  });
}

function eventIn(data: string): SmeeEvent | undefined {
  try {
    const event = JSON.parse(data);
    return isObject(event) && ('body' in event || 'bodyB' in event || 'rawbody' in event)
      ? (event as SmeeEvent)
      : undefined;
  } catch {
    return undefined;
  }
}

interface DeliveryParts {
  readonly client: Client;
  readonly path: string;
  readonly events: TunnelEvents;
  readonly signal: AbortSignal;
}

/** What a channel brought, on its way to the daemon: one after the other, as it came. */
class Deliveries {
  readonly #parts: DeliveryParts;
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();
  constructor(parts: DeliveryParts) {
    this.#parts = parts;
  }

  /** Resolves when none is under way. */
  get settled(): Promise<void> {
    return this.#last;
  }

  add(event: SmeeEvent): void {
    if (this.#waiting >= MAX_WAITING)
      return this.#parts.events.harmed(`A delivery was dropped: ${MAX_WAITING} are waiting for the daemon.`);
    this.#waiting += 1;
    this.#last = this.#last
      .then(() => this.#bring(event))
      .finally(() => {
        this.#waiting -= 1;
      });
  }

  async #bring(event: SmeeEvent): Promise<void> {
    const { signal, events } = this.#parts;
    const { body, exact } = restoredBody(event);
    if (!exact)
      events.harmed(
        `The smee server did not keep the bytes of a delivery (${sizeOf(event)} were sent, ${body.length} arrived), so that its signature can't hold.`,
      );
    const headers = { ...headersIn(event), 'content-length': String(body.length) };
    const until = performance.now() + DAEMON_MS;
    for (;;) {
      const status = await this.#tried(headers, body);
      if (status === 200 || signal.aborted) return;
      const mayPass = status === undefined || status === 429 || status >= 500;
      if (!mayPass || performance.now() > until)
        return events.harmed(
          status === undefined
            ? 'A delivery was dropped: the daemon does not answer.'
            : `A delivery was refused: ${status}.`,
        );
      await delay(DAEMON_LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** The status of the answer; undefined where there is none. */
  async #tried(headers: Record<string, string>, body: Buffer): Promise<number | undefined> {
    const { client, path, signal } = this.#parts;
    try {
      return (await client.deliver(path, { headers, body, signal })).status;
    } catch (error) {
      // Headers that no request can have are the sender's fault, and trying again would not help.
      return (error as Error).name === 'TypeError' ? 400 : undefined;
    }
  }
}

const sizeOf = (event: SmeeEvent): string => `${plain(String(event['content-length'] ?? 'unknown'), 20)} bytes`;

const headersIn = (event: SmeeEvent): Record<string, string> =>
  passedHeaders(
    Object.fromEntries(
      Object.entries(event).flatMap(([name, value]) =>
        typeof value === 'string' && !NOT_HEADERS.has(name.toLowerCase()) ? [[name.toLowerCase(), value]] : [],
      ),
    ),
  );

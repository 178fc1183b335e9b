import { type Client, plain, plainJson } from '../../client/index.ts';
import type { Environment, Webhook } from '../../contract/types.ts';
import { usage } from '../exit.ts';
import { untilInterrupted } from '../interrupt.ts';
import { printFields } from '../table.ts';
import type { PublicEndpoint, TunnelEvents } from '../tunnel/endpoints.ts';
import { type Choice, type NameOptions, tunnelNamed } from '../tunnel/names.ts';
import { keepTunnel } from '../tunnel/tunnel.ts';
import type { Wfx } from '../wfx.ts';
import { showLive } from './deliveries.ts';
import { allWebhooks, foundWebhook } from './registrations.ts';

export interface TunnelOptions extends NameOptions {
  readonly webhook?: string;
  readonly environment?: string;
}

/** Keeps a tunnel open and shows deliveries until Ctrl-C, or until the daemon stays away: a tunnel does not outlive it. */
export async function tunnel(wfx: Wfx, name: string | undefined, options: TunnelOptions): Promise<void> {
  const choice = tunnelNamed(name, options, process.env);
  const environment = options.environment === undefined ? undefined : wfx.environment(options.environment);
  const client = await wfx.client();
  const chosen = options.webhook === undefined ? undefined : await foundWebhook(client, options.webhook);
  const webhooks = only(environment, chosen === undefined ? await allWebhooks(client) : [chosen]);
  await untilInterrupted(async (interrupted) => {
    const stop = new AbortController();
    const signal = AbortSignal.any([interrupted, stop.signal]);
    const { connected, shown } = liveDeliveries(wfx, client, chosen?.id, signal);
    const kept = Promise.race([connected, shown]).then(() =>
      keepTunnel({ client, choice, webhooks, events: tellingOf(wfx, choice) }, signal),
    );
    try {
      await Promise.race([shown, kept]);
    } finally {
      stop.abort();
      await Promise.allSettled([shown, kept]);
    }
  });
}

function only(environment: Environment | undefined, webhooks: readonly Webhook[]): readonly Webhook[] {
  const left = webhooks
    .map((webhook) => ({
      ...webhook,
      endpoints: webhook.endpoints.filter((one) => environment === undefined || one.environment === environment),
    }))
    .filter(({ endpoints }) => endpoints.length > 0);
  if (left.length > 0) return left;
  if (webhooks.length === 0)
    throw usage('There are no webhooks to reach.', 'make one: wfx webhook create NAME --provider github');
  throw usage(
    `No webhook has an address of its own for ${environment}.`,
    'make one: wfx webhook create NAME --provider github --per-environment',
  );
}

/** Deliveries are watched before the tunnel opens, so that none comes in unseen. */
function liveDeliveries(wfx: Wfx, client: Client, webhookId: string | undefined, signal: AbortSignal) {
  let onConnected: () => void = () => undefined;
  const connected = new Promise<void>((resolve) => {
    onConnected = resolve;
  });
  return { connected, shown: showLive(wfx, client, { webhookId }, { signal, onConnected }) };
}

/** What a tunnel tells, shown: addresses are results, the rest stands beside them. */
export function tellingOf({ io, json }: Wfx, { name, kind }: Choice): TunnelEvents {
  let before: readonly PublicEndpoint[] | undefined;
  return {
    opened(endpoints) {
      const same = before !== undefined && plainJson(before) === plainJson(endpoints);
      if (same) return io.note(`The tunnel through ${plain(name)} is open again.`);
      if (before !== undefined) io.warn('the tunnel has another address now: enter it where the senders ask for it');
      before = endpoints;
      if (json) return io.print(plainJson({ tunnel: name, endpoints }));
      printFields(
        io,
        endpoints.map(({ webhook, environment, url }) => [
          environment === null ? webhook : `${webhook} (${environment})`,
          url,
        ]),
      );
      io.note(`Open through ${plain(name)}; deliveries show as they come (Ctrl-C closes it).`);
      if (kind === 'smee') {
        io.note('Who knows the address of a smee channel can read what is sent there.');
        io.note('BAD_SIGNATURE may be its doing: bodies are written anew on their way (docs/webhooks.md).');
      }
    },
    lost(reason, waitMs) {
      io.warn(`the tunnel is down: ${plain(reason)}; trying again in ${waitMs / 1000} s`);
    },
    harmed(what) {
      io.warn(plain(what));
    },
  };
}

import type { Client } from '../../client/index.ts';
import type { Webhook } from '../../contract/types.ts';
import { publicEndpoints, type TunnelEvents } from './endpoints.ts';
import { openGateway } from './gateway.ts';
import type { Choice } from './names.ts';
import { keepProgram } from './program.ts';
import { keepChannels } from './smee.ts';

export interface TunnelParts {
  readonly client: Client;
  readonly choice: Choice;
  /** Whose addresses are told. */
  readonly webhooks: readonly Webhook[];
  readonly events: TunnelEvents;
}

/**
 * Keeps a tunnel to the webhooks of a daemon open until the signal aborts, over losses of the tunnel and restarts of the
 * daemon; then it resolves, and nothing of it is left. Rejects with CliError when it can't be opened the first time.
 */
export async function keepTunnel(
  { client, choice, webhooks, events }: TunnelParts,
  signal: AbortSignal,
): Promise<void> {
  if (choice.kind === 'smee') return keepChannels({ client, choice, webhooks, events }, signal);
  const gateway = await openGateway(client);
  try {
    const opened = (url: string): void => events.opened(publicEndpoints(webhooks, (path) => url + path));
    await keepProgram(choice.program(gateway.port), { opened, lost: events.lost }, signal);
  } finally {
    await gateway.close();
  }
}

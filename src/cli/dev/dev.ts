import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { ApiError, type Client, plainJson } from '../../client/index.ts';
import type { DaemonFile } from '../daemon/found.ts';
import { usage } from '../exit.ts';
import { untilInterrupted } from '../interrupt.ts';
import { warningOfLosses } from '../reconnecting.ts';
import { type NameOptions, tunnelNamed } from '../tunnel/names.ts';
import { keepTunnel } from '../tunnel/tunnel.ts';
import { deliveryLine, newestDelivery } from '../webhook/deliveries.ts';
import { allWebhooks } from '../webhook/registrations.ts';
import { tellingOf } from '../webhook/tunnel.ts';
import type { Wfx } from '../wfx.ts';
import { FlowFolder } from './flow-folder.ts';
import { showRuns } from './runs.ts';
import { untilAborted, watchFolder } from './watch.ts';

export interface DevOptions extends NameOptions {
  readonly tunnel?: string;
}

/** Publishes the flows of a folder as they are saved and shows what happens, until Ctrl-C. Ends what it started. */
export async function dev(wfx: Wfx, folder: string, options: DevOptions): Promise<void> {
  const dir = resolve(folder);
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory())
    throw usage(`There is no folder ${folder}.`, 'wfx dev takes a folder of flows; wfx run FILE runs one file');
  const choice = options.tunnel === undefined ? undefined : tunnelNamed(options.tunnel, options, process.env);
  let started: DaemonFile | undefined;
  await untilInterrupted(async (interrupted) => {
    try {
      const onStarted = (daemon: DaemonFile): void => {
        started = daemon;
        wfx.io.note(wfx.io.paintNote('dim', `Started the daemon at ${daemon.url}; it ends with this command.`));
      };
      const client = await wfx.client({ start: true, onStarted });
      await work(wfx, client, { dir, folder, choice }, interrupted);
    } finally {
      if (started !== undefined) await end(wfx, started);
    }
  });
}

interface Work {
  readonly dir: string;
  readonly folder: string;
  readonly choice: ReturnType<typeof tunnelNamed> | undefined;
}

/** Everything goes on at once; the first that can't go on ends the others. */
async function work(wfx: Wfx, client: Client, { dir, folder, choice }: Work, interrupted: AbortSignal): Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([interrupted, stop.signal]);
  const flows = new FlowFolder(wfx, client, dir);
  const onReady = (): void =>
    wfx.io.note(`Watching ${folder} (${flows.size} ${flows.size === 1 ? 'flow' : 'flows'}); Ctrl-C stops.`);
  const onGone = (): void => wfx.io.warn(`${folder} is gone; its flows stay published. Waiting until it is back.`);
  const { next, failed } = oneByOne(signal);
  const onConnected = (): void => next(() => flows.sendUnsent());
  const parts = [
    failed,
    showRuns({ wfx, client, flows }, onConnected, signal),
    showDeliveries(wfx, client, signal),
    watchFolder({ dir, flows, ready: onReady, gone: onGone, next }, signal),
    ...(choice === undefined ? [] : [openTunnel(wfx, client, choice, signal)]),
  ];
  try {
    await Promise.race(parts.map((part) => part.then(() => untilAborted(signal))));
  } finally {
    stop.abort();
    await Promise.allSettled(parts);
  }
}

/** Does work after work, in the order in which it is asked for; `failed` resolves when the signal aborts. */
function oneByOne(signal: AbortSignal) {
  let last: Promise<void> = Promise.resolve();
  let broken: (error: unknown) => void = () => undefined;
  const failed = new Promise<void>((resolve, reject) => {
    broken = reject;
    void untilAborted(signal).then(() => last.then(resolve, reject));
  });
  const next = (work: () => Promise<void> | void): void => {
    last = last.then(() => (signal.aborted ? undefined : work()));
    last.catch(broken);
  };
  return { next, failed };
}

/** Of all webhooks. A key that may not see them still shows the rest. */
async function showDeliveries(wfx: Wfx, client: Client, signal: AbortSignal): Promise<void> {
  const { io, json } = wfx;
  const onReconnecting = warningOfLosses(wfx);
  try {
    const after = await newestDelivery(client, undefined);
    for await (const delivery of client.deliveries(undefined, { after, signal, onReconnecting }))
      io.print(json ? plainJson({ delivery }) : deliveryLine(io, delivery));
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    io.warn('deliveries are not shown: the key in use may not manage webhooks');
  }
}

/** To the addresses whose deliveries can start flows of DEVELOPMENT, or of all. */
async function openTunnel(wfx: Wfx, client: Client, choice: NonNullable<Work['choice']>, signal: AbortSignal) {
  const webhooks = (await allWebhooks(client))
    .map((one) => ({ ...one, endpoints: one.endpoints.filter(({ environment }) => environment !== 'PRODUCTION') }))
    .filter(({ endpoints }) => endpoints.length > 0);
  if (webhooks.length === 0)
    throw usage(
      'There is no webhook that a tunnel could lead to.',
      'make one: wfx webhook create NAME --per-environment --provider github',
    );
  await keepTunnel({ client, choice, webhooks, events: tellingOf(wfx, choice) }, signal);
}

/** Ends the daemon that was started here, unless it is another one by now. */
async function end(wfx: Wfx, started: DaemonFile): Promise<void> {
  const { readDaemonFile } = await import('../daemon/found.ts');
  const { stopDaemon } = await import('../daemon/stop.ts');
  const { dataDir } = wfx.settings;
  if (readDaemonFile(dataDir)?.pid !== started.pid) return;
  await stopDaemon(dataDir);
  wfx.io.note(wfx.io.paintNote('dim', 'Stopped the daemon.'));
}

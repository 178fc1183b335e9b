import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Test } from 'tap';
import { Client } from '../../src/client/client.ts';
import { readConfig } from '../../src/daemon/config.ts';
import { type Daemon, startDaemon } from '../../src/daemon/daemon.ts';
import type { JsonObject } from '../../src/engine/json.ts';
import { readCredential } from '../../src/secrets/index.ts';

/** A whole daemon with a folder of its own, in this process; stopped and removed after the test. */
export interface Live {
  readonly url: string;
  readonly home: string;
  readonly client: Client;
  /** Of the organization default. */
  readonly admin: string;
  readonly system: string;
  /** Publishes a flow of these nodes (YAML below `nodes:`), runs it to its end, and gives the instance with its log. */
  run(nodes: string, data?: JsonObject, more?: RunOptions): Promise<Ran>;
  publish(nodes: string, more?: RunOptions): Promise<string>;
  start(processId: string, data?: JsonObject): Promise<string>;
  /** Waits for the end of a run. */
  ended(instanceId: string): Promise<Ran>;
  /** Waits until the log of a run has an entry that fits. */
  logs(instanceId: string, pattern: RegExp): Promise<string>;
  restart(): Promise<Live>;
  stop(): Promise<void>;
}
export interface RunOptions {
  readonly id?: string;
  readonly name?: string;
  readonly variables?: string;
}
export interface Ran {
  readonly id: string;
  readonly stateCd: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
  readonly data: any;
  readonly error: { readonly code: string; readonly message: string; readonly nodeId: string } | undefined;
  readonly log: readonly string[];
}

process.env['WFX_KEYCHAIN'] = 'off';
let flows = 0;
export function newFlowId(): string {
  flows += 1;
  return `00000000-0000-4000-8000-${String(flows).padStart(12, '0')}`;
}

export async function live(t: Test, flags: readonly string[] = [], home = tempHome(t)): Promise<Live> {
  const config = readConfig(['--port', '0', '--data-dir', home, ...flags], { WFX_HOME: home });
  const daemon = await startDaemon(config, pino({ level: process.env['WFX_TEST_LOG'] ?? 'silent' }));
  const admin = (await readCredential('admin', home)) as string;
  const system = (await readCredential('system', home)) as string;
  return connected(t, { daemon, home, flags, admin, system });
}

export function tempHome(t: Test): string {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'wfx-live-')));
  t.teardown(() => rmSync(home, { recursive: true, force: true, maxRetries: 3 }));
  return home;
}

interface Opened {
  readonly daemon: Daemon;
  readonly home: string;
  readonly flags: readonly string[];
  readonly admin: string;
  readonly system: string;
}

function connected(t: Test, { daemon, home, flags, admin, system }: Opened): Live {
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= daemon.stop());
  t.teardown(stop);
  const runs = runsOf(new Client(() => ({ url: daemon.url, apiKey: admin })));
  const restart = async () => {
    await stop();
    return live(t, flags, home);
  };
  return { url: daemon.url, home, admin, system, stop, restart, ...runs };
}

/** What tests do with flows, over any daemon's API. */
export function runsOf(client: Client): Pick<Live, 'client' | 'run' | 'publish' | 'start' | 'ended' | 'logs'> {
  const publish: Live['publish'] = async (nodes, { id = newFlowId(), name = 'Test', variables = '{}' } = {}) => {
    const body = `id: ${id}\nname: ${name}\nvariables: ${variables}\nnodes:\n${nodes}\n`;
    await client.call('publishFlow', { body });
    return id;
  };
  const start: Live['start'] = async (processId, data = {}) =>
    (await client.call('execProcess', { body: { processId, data } })).processInstanceId;
  const ended: Live['ended'] = async (id) => {
    const log: string[] = [];
    for await (const item of client.log(id)) if (item.kind === 'entry') log.push(item.entry.message);
    const { stateCd, data, error } = await client.call('getInstance', { params: { processInstanceId: id } });
    return { id, stateCd, data, error: error as Ran['error'], log };
  };
  const logs: Live['logs'] = async (id, pattern) => {
    for await (const item of client.log(id))
      if (item.kind === 'entry' && pattern.test(item.entry.message)) return item.entry.message;
    throw new Error(`the log of ${id} never had ${pattern}`);
  };
  const run: Live['run'] = async (nodes, data, more) => ended(await start(await publish(nodes, more), data));
  return { client, publish, start, ended, logs, run };
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Test } from 'tap';
import { Client } from '../../src/client/client.ts';
import { readCredential } from '../../src/secrets/index.ts';
import { type Live, runsOf } from './live.ts';

const DAEMON = resolve(import.meta.dirname, '../../dist/daemon.js');

export interface Process extends ReturnType<typeof runsOf> {
  readonly url: string;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
}

/** A daemon in a process of its own, that can be killed; another one on the same home takes over. */
export async function daemonProcess(t: Test, home: string, flags: readonly string[] = []): Promise<Process> {
  const args = [DAEMON, '--port', '0', '--data-dir', home, ...flags];
  const env = { ...process.env, WFX_HOME: home, WFX_KEYCHAIN: 'off' };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  t.teardown(() => kill(child));
  const [message] = await once(child, 'message');
  const { ready, url, error } = message as { ready: boolean; url: string; error?: { message: string } };
  if (!ready) throw new Error(error?.message);
  const apiKey = (await readCredential('admin', home)) as string;
  const runs: Pick<Live, keyof ReturnType<typeof runsOf>> = runsOf(new Client(() => ({ url, apiKey })));
  return { ...runs, url, kill: () => kill(child) };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

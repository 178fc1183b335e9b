import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export interface Daemon {
  readonly child: ChildProcess;
  readonly home: string;
  readonly url: string;
  readonly port: number;
  /** The admin key. */
  readonly key: string;
}

/** The built daemon on a data folder of its own. */
export async function startDaemon(): Promise<Daemon> {
  const home = mkdtempSync(join(tmpdir(), 'wfx-bench-'));
  const env = { ...process.env, WFX_HOME: home, WFX_KEYCHAIN: 'off' };
  const child = fork(resolve(import.meta.dirname, '../dist/daemon.js'), ['--port', '0'], {
    env,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  const { admin } = JSON.parse(readFileSync(join(home, 'credentials.json'), 'utf8')) as { admin: string };
  return { child, home, url, port: Number(new URL(url).port), key: admin };
}

/** Ends it, and removes its data. */
export async function endDaemon({ child, home }: Daemon): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
  rmSync(home, { recursive: true, force: true });
}

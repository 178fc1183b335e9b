import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { makeFolders } from '../../home.ts';
import { CliError, EXIT, usage } from '../exit.ts';
import { type DaemonFile, daemonLog, findDaemon, isAlive } from './found.ts';

export const DEFAULT_PORT = 7117;

/** A daemon that recovers a long journal is slow to be ready, not broken. */
const READY_MS = 120_000;
const LOCKED_MS = 30_000;

export interface StartOptions {
  /** Flags for the daemon itself, as they were given. */
  readonly flags: readonly string[];
  /** Takes a free port where the usual one is in use, instead of failing. */
  readonly anyPort: boolean;
}

/**
 * Starts a daemon in the background, or finds the one that runs already. Resolves when it takes requests; where two are
 * started at once, one wins the data folder and the other call finds it.
 */
export async function startDaemon(
  dataDir: string,
  options: StartOptions,
): Promise<{ daemon: DaemonFile; started: boolean }> {
  const deadline = performance.now() + LOCKED_MS;
  let { flags } = options;
  for (;;) {
    const found = await findDaemon(dataDir);
    if (found.state === 'running') return { daemon: found.daemon, started: false };
    const failure = await launch(dataDir, flags);
    if (failure === undefined) return { daemon: await running(dataDir), started: true };
    if (failure.code === 'EADDRINUSE' && options.anyPort && !flags.includes('--port'))
      flags = [...flags, '--port', '0'];
    else if (failure.code !== 'LOCKED' || performance.now() > deadline) throw failureToStart(failure, dataDir);
    else await whileLocked(dataDir, Number(/process (\d+)/.exec(failure.message)?.[1]), deadline);
  }
}

async function launch(dataDir: string, flags: readonly string[]): Promise<Failed | undefined> {
  const log = openLog(dataDir);
  const child = spawn(process.execPath, daemonArguments(dataDir, flags), {
    detached: true,
    stdio: ['ignore', log, log, 'ipc'],
    cwd: dataDir,
    env: daemonEnvironment(),
  });
  closeSync(log);
  return readiness(child);
}

/**
 * Another daemon holds the folder: one that somebody else starts just now and that is not ready yet, or one that is
 * stopping. Nothing tells other processes of either, so both are looked for until one has happened.
 */
async function whileLocked(dataDir: string, holder: number, deadline: number): Promise<void> {
  while (performance.now() < deadline && isAlive(holder)) {
    if ((await findDaemon(dataDir)).state === 'running') return;
    await delay(50);
  }
}

/** The arguments to start the daemon with, after `node`. */
export function daemonArguments(dataDir: string, flags: readonly string[]): string[] {
  return [...process.execArgv, daemonEntry(), '--data-dir', dataDir, ...flags];
}

/** The daemon's program: `dist/daemon.js` in a build, whose parts lie in `dist/chunks`; its source otherwise. */
function daemonEntry(): string {
  const here = fileURLToPath(import.meta.url);
  if (here.endsWith('.ts')) return join(dirname(here), '../../daemon/main.ts');
  const folder = dirname(here);
  return join(basename(folder) === 'chunks' ? dirname(folder) : folder, 'daemon.js');
}

/** What the caller speaks with, and to whom, is not the daemon's business. */
export function daemonEnvironment(): NodeJS.ProcessEnv {
  const { WFX_API_KEY: _key, WFX_URL: _url, ...rest } = process.env;
  return rest;
}

function openLog(dataDir: string): number {
  try {
    makeFolders(dataDir);
    return openSync(daemonLog(dataDir), 'a', 0o600);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    const why =
      {
        EACCES: 'no permission',
        EROFS: 'read-only file system',
        ENOTDIR: 'it is no folder',
        EEXIST: 'it is no folder',
        ENOENT: 'no folder can be made there',
        ENOSPC: 'the disk is full',
      }[code] ?? code;
    throw new CliError(
      EXIT.unreachable,
      `The data folder ${dataDir} can't be written to (${why}).`,
      'choose another one: WFX_HOME, or --data-dir',
    );
  }
}

/** Why a daemon did not come up. */
interface Failed {
  readonly code: string;
  readonly message: string;
}

/** Waits until the daemon says that it is ready, or why it is not: its one message over IPC, or its end. */
function readiness(child: ChildProcess): Promise<Failed | undefined> {
  return new Promise((resolve) => {
    const settle = (failure: Failed | undefined): void => {
      clearTimeout(timer);
      child.removeAllListeners();
      if (child.connected) child.disconnect();
      child.unref();
      resolve(failure);
    };
    const timer = setTimeout(
      () => settle({ code: 'TIMEOUT', message: `it was not ready after ${READY_MS / 1000} s` }),
      READY_MS,
    );
    child.once('message', (message) => settle(failureIn(message)));
    child.once('error', (error) => settle({ code: 'SPAWN', message: error.message }));
    child.once('exit', (code, signal) =>
      settle({ code: 'EXIT', message: `it ended at once (${signal ?? `exit code ${code}`})` }),
    );
  });
}

function failureIn(message: unknown): Failed | undefined {
  const { ready, error } = message as { ready?: boolean; error?: { code?: string; message?: string } | string };
  if (ready === true) return undefined;
  if (typeof error === 'string') return { code: 'FAILED', message: error };
  return { code: error?.code ?? 'FAILED', message: error?.message ?? 'it did not say why' };
}

async function running(dataDir: string): Promise<DaemonFile> {
  const found = await findDaemon(dataDir);
  if (found.state === 'running') return found.daemon;
  throw failureToStart({ code: 'GONE', message: 'it started, and then no longer answered' }, dataDir);
}

function failureToStart({ code, message }: Failed, dataDir: string): Error {
  const [first = message] = message.split('\n', 1);
  if (code === 'USAGE') return usage(`The daemon did not start: ${first}`, 'wfx daemon start --help shows its options');
  return new CliError(EXIT.unreachable, `The daemon did not start: ${first}`, `its log: ${daemonLog(dataDir)}`);
}

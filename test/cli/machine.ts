import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Test } from 'tap';

/** The built program, as a user starts it. */
export const BIN = resolve(import.meta.dirname, '../../bin/wfx.js');
export const FLOWS = resolve(import.meta.dirname, '../../flows');

interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** stdout as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely, and fail where they differ
  readonly json: () => any;
}
interface Given {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly cwd?: string;
}
type Wfx = (args: readonly string[], given?: Given) => Promise<Result>;

export interface Machine {
  readonly home: string;
  /** An empty folder for files. */
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
  /** Runs a command to its end. */
  readonly wfx: Wfx;
  /** Starts a command and leaves it running. */
  readonly begin: (args: readonly string[], given?: Given) => Running;
}

/** A user with a home of their own and no keychain; its daemon is stopped and its files are removed after the test. */
export function machine(t: Test): Machine {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'wfx-cli-')));
  const [home, dir] = [join(root, 'home'), join(root, 'work')];
  mkdirSync(dir);
  const { WFX_API_KEY: _key, WFX_URL: _url, WFX_ENVIRONMENT: _environment, CI: _ci, ...outer } = process.env;
  const env = { ...outer, WFX_HOME: home, WFX_KEYCHAIN: 'off', TZ: 'UTC' };
  const begin = (args: readonly string[], given: Given = {}): Running =>
    new Running(args, { cwd: dir, ...given, env: { ...env, ...given.env } });
  const wfx: Wfx = (args, given) => begin(args, given).result;
  t.teardown(async () => {
    await wfx(['daemon', 'stop']);
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  });
  return { home, dir, env, wfx, begin };
}

/** A command that runs. */
class Running {
  readonly child: ChildProcess;
  readonly result: Promise<Result>;
  #stdout = '';
  #stderr = '';
  readonly #waiters = new Set<() => void>();

  constructor(
    args: readonly string[],
    { env, input, cwd }: Given & { readonly env: NodeJS.ProcessEnv; readonly cwd: string },
  ) {
    this.child = spawn(process.execPath, [BIN, ...args], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
    this.child.stdin?.on('error', () => undefined).end(input ?? '');
    this.child.stdout?.setEncoding('utf8').on('data', (text) => this.#add('stdout', text));
    this.child.stderr?.setEncoding('utf8').on('data', (text) => this.#add('stderr', text));
    this.result = once(this.child, 'close').then(([code]) => {
      const stdout = this.#stdout;
      return { code, stdout, stderr: this.#stderr, json: () => JSON.parse(stdout) };
    });
  }

  #add(stream: 'stdout' | 'stderr', text: string): void {
    if (stream === 'stdout') this.#stdout += text;
    else this.#stderr += text;
    for (const waiter of this.#waiters) waiter();
  }

  /** Resolves when the command has said something that fits; rejects when it ends without. */
  async says(pattern: RegExp): Promise<RegExpMatchArray> {
    const heard = new Promise<RegExpMatchArray>((resolve) => {
      const look = (): void => {
        const match = (this.#stdout + this.#stderr).match(pattern);
        if (match !== null) resolve(match);
      };
      this.#waiters.add(look);
      look();
    });
    const ended = this.result.then((result) => {
      const match = (result.stdout + result.stderr).match(pattern);
      if (match !== null) return match;
      throw new Error(`ended with ${result.code} and never said ${pattern}: ${result.stdout}${result.stderr}`);
    });
    return Promise.race([heard, ended]);
  }
}

/** An HTTP server of the test's own; answers its address. */
export async function serve(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

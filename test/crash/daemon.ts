import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Test } from 'tap';
import { ApiError, Client, UnreachableError } from '../../src/client/index.ts';

const DAEMON = resolve(import.meta.dirname, '../../dist/daemon.js');
const KEPT_LINES = 2000;

export interface Life {
  readonly flags?: readonly string[];
  /** What runs the daemon, e.g. `strace` with its arguments. */
  readonly under?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A line of the daemon's log. */
export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A daemon in a process of its own, on a data folder that outlives it. */
export class Daemon {
  readonly home: string;
  /** Asks whichever life of the daemon is the newest. */
  readonly client: Client;
  /** What the newest life logged. */
  log: LogLine[] = [];
  /** How often it was started. */
  lives = 0;
  #child: ChildProcess | undefined;
  /** The daemon's own process, also when it runs under another one. */
  #pid: number | undefined;
  #target = { url: 'http://127.0.0.1:1', apiKey: '' };
  #killed = false;
  #isUp: () => void = () => undefined;
  #up: Promise<void> = this.#down();

  /** On a folder of its own, or on `home`. A folder whose test failed is kept. */
  constructor(t: Test, home?: string) {
    this.home = home ?? realpathSync(mkdtempSync(join(tmpdir(), 'wfx-crash-')));
    this.client = new Client(() => this.#target);
    t.teardown(async () => {
      await this.kill();
      if (t.passing()) rmSync(this.home, { recursive: true, force: true, maxRetries: 3 });
      else t.comment(`the data folder is kept: ${this.home}`);
    });
  }

  get pid(): number {
    if (this.#pid === undefined) throw new Error('the daemon does not run');
    return this.#pid;
  }

  get target(): { readonly url: string; readonly apiKey: string } {
    return this.#target;
  }

  /** Resolves when it takes requests; at once while it does. */
  get up(): Promise<void> {
    return this.#up;
  }

  /** Starts it; resolves when it takes requests, and rejects when it ends before that. */
  async start(life: Life = {}): Promise<Client> {
    this.#begin(life);
    const child = this.#child as ChildProcess;
    const [message] = (await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code, signal]) => Promise.reject(new Error(this.#told(code ?? signal)))),
    ])) as [{ ready: boolean; url: string; pid: number; error?: { message: string } }];
    if (!message.ready) throw new Error(`the daemon did not start: ${message.error?.message}`);
    this.#pid = message.pid;
    const { admin } = JSON.parse(readFileSync(join(this.home, 'credentials.json'), 'utf8')) as { admin: string };
    this.#target = { url: message.url, apiKey: admin };
    this.#isUp();
    return this.client;
  }

  /** Begins a life, and does not wait for it to take requests. */
  begin(life: Life = {}): void {
    this.#begin(life);
    this.#child?.on('message', ({ pid }: { pid: number }) => {
      this.#pid = pid;
    });
  }

  #begin({ flags = [], under = [], env = {} }: Life): void {
    const [program = '', ...args] = [
      ...under,
      process.execPath,
      DAEMON,
      '--port',
      '0',
      '--data-dir',
      this.home,
      ...flags,
    ];
    const child = spawn(program, args, {
      env: { ...process.env, WFX_HOME: this.home, WFX_KEYCHAIN: 'off', ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child = child;
    this.#pid = under.length === 0 ? child.pid : undefined;
    this.#killed = false;
    this.lives += 1;
    const log: LogLine[] = [];
    this.log = log;
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream as NodeJS.ReadableStream }).on('line', (line) => {
        log.push(parsed(line));
        if (log.length > KEPT_LINES) log.splice(0, KEPT_LINES / 2);
      });
    child.once('exit', () => {
      this.#up = this.#down();
    });
  }

  #down(): Promise<void> {
    return new Promise((resolve) => {
      this.#isUp = resolve;
    });
  }

  signal(signal: NodeJS.Signals): void {
    process.kill(this.pid, signal);
  }

  /** Resolves with the exit code, or the signal, of the newest life when it is over. */
  async over(): Promise<number | NodeJS.Signals | null> {
    const child = this.#child;
    if (child === undefined) return null;
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return child.exitCode ?? child.signalCode;
  }

  /** SIGKILL; resolves when the process is gone. Rejects when it had ended by itself. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#killed) return;
    this.#killed = true;
    if (child.exitCode === 0 || child.signalCode === 'SIGKILL') return;
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(this.#told(child.exitCode ?? child.signalCode));
    const gone = once(child, 'exit');
    if (this.#pid !== undefined) process.kill(this.#pid, 'SIGKILL');
    else child.kill('SIGKILL');
    await gone;
  }

  /** SIGTERM; resolves with the exit code. */
  async stop(): Promise<number | NodeJS.Signals | null> {
    this.signal('SIGTERM');
    const code = await this.over();
    this.#killed = true;
    return code;
  }

  #told(code: number | string | null): string {
    return `the daemon ended with ${code}; last it said: ${JSON.stringify(this.log.slice(-3))}`;
  }

  /** Resolves with the first line of the newest life that fits, also one of those to come. */
  async said(pattern: RegExp): Promise<LogLine> {
    for (;;) {
      const line = this.log.find(({ msg }) => pattern.test(msg));
      if (line !== undefined) return line;
      if (this.#child?.exitCode !== null || this.#child.signalCode !== null)
        throw new Error(`it never said ${pattern}: ${JSON.stringify(this.log.slice(-3))}`);
      await Promise.race([once(this.#child.stdout as NodeJS.ReadableStream, 'data'), once(this.#child, 'exit')]);
      await settled();
    }
  }
}

function parsed(line: string): LogLine {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return { level: 0, msg: line };
  }
}

/** Lets what has already come in by sockets and pipes be read. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((done) => setImmediate(done));
}

/**
 * Asks until there is an answer that is not the daemon's absence or its disk's trouble: what a careful client does. `unsure`
 * is told before every repetition, because what went unanswered may have happened.
 */
export async function insist<T>(daemon: Daemon, ask: () => Promise<T>, unsure?: () => void): Promise<T> {
  for (;;) {
    try {
      await daemon.up;
      return await ask();
    } catch (error) {
      if (!isAbsence(error)) throw error;
      if (!(error instanceof ApiError)) unsure?.();
      await new Promise((done) => setTimeout(done, 20));
    }
  }
}

/** No answer, or one which says that nothing was accepted. */
export const isAbsence = (error: unknown): boolean =>
  error instanceof UnreachableError || (error instanceof ApiError && error.status === 503);

/** The code of the error that a request is answered with; `unreachable` without an answer, undefined for a success. */
export const codeOf = (answer: Promise<unknown>): Promise<string | undefined> =>
  answer.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof ApiError) return error.code;
      if (error instanceof UnreachableError) return 'unreachable';
      throw error;
    },
  );

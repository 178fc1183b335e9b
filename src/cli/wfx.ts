import { Client, type Target, UnreachableError } from '../client/index.ts';
import type { Environment } from '../contract/types.ts';
import { VERSION } from '../version.ts';
import { type DaemonFile, findDaemon, healthAt, readDaemonFile } from './daemon/found.ts';
import { CliError, EXIT } from './exit.ts';
import type { Io } from './io.ts';
import type { Session } from './login/session.ts';
import { environmentOf, type GlobalOptions, type Settings, settingsOf } from './settings.ts';

/** What a request is made with. */
export type Credential = { readonly apiKey: string } | { readonly token: string };

interface ClientOptions {
  readonly start?: boolean;
  /** Instead of saying that a daemon was started, which goes on after the command. */
  readonly onStarted?: (daemon: DaemonFile) => void;
  /** Asked for every request, as a token is renewed from time to time. */
  readonly credential?: () => Promise<Credential | undefined>;
}

/** What a command has at hand. Settings are read, and the daemon is looked for, only when they are asked for. */
export class Wfx {
  readonly io: Io;
  readonly #options: () => GlobalOptions;
  #settings: Settings | undefined;
  #session: Session | undefined;
  #key: Promise<string | undefined> | undefined;

  constructor(io: Io, options: () => GlobalOptions) {
    this.io = io;
    this.#options = options;
  }

  get settings(): Settings {
    this.#settings ??= settingsOf(this.#options(), this.io.env);
    return this.#settings;
  }

  /** `--output json` was asked for. */
  get json(): boolean {
    return this.#options().output === 'json';
  }

  /** The environment that a command's `--environment`, else the settings name. */
  environment(option: string | undefined): Environment | undefined {
    return option === undefined ? this.settings.environment : environmentOf(option, '--environment');
  }

  /**
   * A client of the daemon that the settings point to, which answers. With `start`, a local one is started where none runs,
   * and `onStarted` is told of it.
   */
  async client({
    start = false,
    onStarted,
    credential = () => this.credential(),
  }: ClientOptions = {}): Promise<Client> {
    const { address } = this.settings;
    if (address.kind === 'local') await this.#localDaemon(start, onStarted);
    else
      await this.#remoteDaemon(address.url, address.kind === 'context' ? `the context ${address.name}` : address.from);
    await credential();
    return new Client(async () => this.#target(await credential()));
  }

  async #localDaemon(start: boolean, onStarted: ClientOptions['onStarted']): Promise<void> {
    const { dataDir } = this.settings;
    const found = await findDaemon(dataDir);
    if (found.state === 'running') return this.#warnOfSkew(found.daemon.version);
    if (found.state === 'silent')
      throw new CliError(
        EXIT.unreachable,
        `The daemon (process ${found.daemon.pid}) does not answer at ${found.daemon.url}.`,
        'it may still be starting; wfx daemon logs shows what it does',
      );
    if (!start) throw new CliError(EXIT.unreachable, 'No daemon is running.', 'start one: wfx daemon start');
    const { startDaemon } = await import('./daemon/start.ts');
    const { daemon, started } = await startDaemon(dataDir, { anyPort: true, flags: [] });
    if (!started) return;
    if (onStarted !== undefined) return onStarted(daemon);
    this.io.note(this.io.paintNote('dim', `Started the daemon at ${daemon.url} (wfx daemon stop ends it).`));
  }

  async #remoteDaemon(url: string, from: string): Promise<void> {
    const { version, problem } = await healthAt({ url, tls: this.#certificateAt(url) });
    if (version === undefined)
      throw new CliError(
        EXIT.unreachable,
        `No daemon is where ${from} points: ${problem}.`,
        'check the address, and that the daemon runs there',
      );
    this.#warnOfSkew(version);
  }

  #warnOfSkew(version: string): void {
    if (version === VERSION) return;
    const restart = this.settings.address.kind === 'local' ? '; restart it: wfx daemon stop && wfx daemon start' : '';
    this.io.warn(`the daemon is wfx ${version}, this command is wfx ${VERSION}${restart}`);
  }

  /**
   * A local daemon that restarts may come back at another port, so its file is read each time. While there is none, nobody
   * is asked: whoever listens at its old port must not get its key.
   */
  #target(credential: Credential | undefined): Target {
    const { address, dataDir } = this.settings;
    if (address.kind !== 'local') return { url: address.url, tls: this.#certificateAt(address.url), ...credential };
    const local = readDaemonFile(dataDir);
    if (local === undefined) throw new UnreachableError(undefined, 'the daemon is not running', true);
    return { url: local.url, tls: local.tls, ...credential };
  }

  /** The certificate of the local daemon, where that is what the address leads to. */
  #certificateAt(url: string): Target['tls'] {
    const local = readDaemonFile(this.settings.dataDir);
    return local !== undefined && sameLoopback(local.url, url) ? local.tls : undefined;
  }

  /**
   * What is sent: WFX_API_KEY, the token of who signed in there, the context's key, or the local daemon's admin key, which
   * never leaves this machine.
   */
  async credential(): Promise<Credential | undefined> {
    const { apiKey } = this.settings;
    if (apiKey !== undefined) return { apiKey };
    this.#session ??= await this.#signedIn();
    if (this.#session !== undefined) return { token: await this.#session.token() };
    this.#key ??= this.#storedKey();
    const key = await this.#key;
    return key === undefined ? undefined : { apiKey: key };
  }

  async #signedIn(): Promise<Session | undefined> {
    const { placeOf, readLogin } = await import('./login/logins.ts');
    const place = placeOf(this.settings);
    const login = readLogin(place);
    if (login === undefined) return undefined;
    const { Session } = await import('./login/session.ts');
    return new Session(place, login);
  }

  async #storedKey(): Promise<string | undefined> {
    const { address, home, dataDir } = this.settings;
    const { readCredential } = await import('../secrets/index.ts');
    if (address.kind === 'context') return readCredential(address.credential, home);
    const local = readDaemonFile(dataDir)?.url;
    const isLocal = address.kind === 'local' || (local !== undefined && sameLoopback(local, address.url));
    return isLocal ? readCredential('admin', dataDir) : undefined;
  }
}

/** Both name the same port of this machine. */
function sameLoopback(one: string, other: string): boolean {
  const [a, b] = [new URL(one), new URL(other)];
  const loopback = (url: URL): boolean => ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  return a.port === b.port && a.protocol === b.protocol && loopback(a) && loopback(b);
}

import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { shownTime } from '../../terminal/shown.ts';
import { VERSION } from '../../version.ts';
import { daemonLog, findDaemon, healthAt } from '../daemon/found.ts';
import { CliError, EXIT, usage } from '../exit.ts';
import { examples } from '../help.ts';
import { printFields } from '../table.ts';
import type { Wfx } from '../wfx.ts';

interface StartOptions {
  readonly foreground?: true;
  readonly host?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly port?: string;
  readonly allowCommands?: true;
  readonly insecure?: true;
}

export function add(command: Command, wfx: Wfx): void {
  command
    .command('start')
    .description(
      'Start the daemon in the background, and wait until it takes requests. Finds the one that runs already.',
    )
    .option('--foreground', 'run it here, with its log on stdout, until Ctrl-C')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--port <number>', 'port to listen on; 0 picks a free one (default: 7117)')
    .option('--allow-commands', 'let flows run commands of this machine (serviceTask, service: command)')
    .option('--tls-cert <file>', 'certificate (PEM): speak HTTPS')
    .option('--tls-key <file>', 'its private key (PEM)')
    .option('--insecure', 'allow an address that others can reach, without TLS')
    .addHelpText(
      'after',
      examples(
        ['wfx daemon start', 'in the background'],
        ['wfx daemon start --port 0 --data-dir /tmp/try', 'a second one, on a free port'],
        ['wfx daemon start --foreground', 'for systemd, containers and debugging'],
      ),
    )
    .action((options: StartOptions) => start(wfx, options));
  command
    .command('stop')
    .description('Stop the daemon. Requests and the journal are finished first; runs go on at the next start.')
    .addHelpText('after', examples(['wfx daemon stop', 'also fine when none runs']))
    .action(() => stop(wfx));
  command
    .command('status')
    .description(
      'Say whether the daemon runs, and where. Exits with 0 also when it does not: ask -o json for `running`.',
    )
    .addHelpText('after', examples(['wfx daemon status -o json', '{running, url, pid, version, dataDir, startedAt}']))
    .action(() => status(wfx));
  command
    .command('logs')
    .description("Print the daemon's own log.")
    .option('-f, --follow', 'go on with what comes')
    .option('-n, --lines <number>', 'how many of the last lines', '100')
    .addHelpText(
      'after',
      examples(['wfx daemon logs --follow', 'watch it'], ['wfx daemon logs -o json -n 1000', 'as it is, JSON lines']),
    )
    .action(async (options: { readonly follow?: true; readonly lines: string }) => {
      const { printDaemonLog } = await import('../daemon/log.ts');
      const lines = Number(options.lines);
      if (!Number.isInteger(lines) || lines < 0) throw usage(`--lines takes a whole number, not “${options.lines}”.`);
      await printDaemonLog(wfx, daemonLog(wfx.settings.dataDir), lines, options.follow === true);
    });
}

function flagsOf({ host, port, allowCommands, insecure, tlsCert, tlsKey }: StartOptions): string[] {
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) < 65536))
    throw usage(`--port takes a number from 0 to 65535, not “${port}”.`);
  return [
    ...(host === undefined ? [] : ['--host', host]),
    ...(port === undefined ? [] : ['--port', port]),
    ...(allowCommands === true ? ['--allow-commands'] : []),
    ...(insecure === true ? ['--insecure'] : []),
    ...(tlsCert === undefined ? [] : ['--tls-cert', resolve(tlsCert)]),
    ...(tlsKey === undefined ? [] : ['--tls-key', resolve(tlsKey)]),
  ];
}

async function start(wfx: Wfx, options: StartOptions): Promise<void> {
  const { startDaemon } = await import('../daemon/start.ts');
  const { dataDir } = wfx.settings;
  const flags = flagsOf(options);
  if (options.foreground === true) return runHere(dataDir, flags);
  const { daemon, started } = await startDaemon(dataDir, { flags, anyPort: false });
  if (wfx.json) return wfx.io.json({ running: true, started, ...daemon });
  if (started) wfx.io.note(`The daemon runs at ${daemon.url} (process ${daemon.pid}, data in ${daemon.dataDir}).`);
  else
    wfx.io.note(
      `The daemon runs already, at ${daemon.url} (process ${daemon.pid}).${flags.length > 0 ? ' It keeps its settings: stop it first to change them.' : ''}`,
    );
}

/** Becomes the daemon, as far as one process can become another: same terminal, same signals, same exit code. */
async function runHere(dataDir: string, flags: readonly string[]): Promise<void> {
  const { daemonArguments, daemonEnvironment } = await import('../daemon/start.ts');
  const found = await findDaemon(dataDir);
  if (found.state === 'running')
    throw new CliError(
      EXIT.usage,
      `A daemon runs already, at ${found.daemon.url} (process ${found.daemon.pid}).`,
      'stop it first: wfx daemon stop',
    );
  const child = spawn(process.execPath, daemonArguments(dataDir, flags), {
    stdio: 'inherit',
    env: daemonEnvironment(),
  });
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on('SIGTERM', pass);
  // The terminal sends Ctrl-C to both; this process only waits for the daemon's end.
  process.on('SIGINT', () => undefined);
  process.exitCode = await new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? EXIT.failed)));
}

async function stop(wfx: Wfx): Promise<void> {
  const { stopDaemon } = await import('../daemon/stop.ts');
  const stopped = await stopDaemon(wfx.settings.dataDir);
  if (wfx.json) return wfx.io.json({ running: false, stopped: stopped !== undefined });
  wfx.io.note(stopped === undefined ? 'No daemon is running.' : `Stopped the daemon (process ${stopped.pid}).`);
}

async function status(wfx: Wfx): Promise<void> {
  const { address, dataDir } = wfx.settings;
  if (address.kind !== 'local') return remoteStatus(wfx, address.url);
  const { state, daemon } = await findDaemon(dataDir);
  if (wfx.json) return wfx.io.json({ running: state === 'running', state, ...(daemon ?? { dataDir }) });
  if (daemon === undefined) return wfx.io.print(`The daemon is not running (data in ${dataDir}).`);
  wfx.io.print(
    state === 'running'
      ? wfx.io.paint('green', 'The daemon is running.')
      : wfx.io.paint('red', 'The daemon does not answer.'),
  );
  printFields(wfx.io, [
    ['url', daemon.url],
    ['process', String(daemon.pid)],
    ['version', daemon.version === VERSION ? daemon.version : `${daemon.version} (this command is ${VERSION})`],
    ['started', shownTime(daemon.startedAt)],
    ['data', daemon.dataDir],
    ['log', daemonLog(dataDir)],
  ]);
}

async function remoteStatus(wfx: Wfx, url: string): Promise<void> {
  const { version, problem } = await healthAt({ url });
  const running = version !== undefined;
  if (wfx.json) return wfx.io.json({ running, url, ...(running ? { version } : {}) });
  wfx.io.print(running ? `wfx ${version} answers at ${url}.` : `No daemon there: ${problem}.`);
}

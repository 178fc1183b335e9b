import { statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { parseCommandString } from 'execa';
import { usage } from '../exit.ts';
import type { Program } from './program.ts';

/** How a tunnel is made: through channels of a smee server, or by a program that leads to a local port. */
export type Choice =
  | SmeeChoice
  | { readonly kind: 'program'; readonly name: string; readonly program: (port: number) => Program };
export interface SmeeChoice {
  readonly kind: 'smee';
  readonly name: string;
  /** `https://smee.io` */
  readonly server: string;
  /** Where it is given; else each address gets a channel of its own. */
  readonly channel: string | undefined;
}

export interface NameOptions {
  /** The address where the program does not print it. */
  readonly publicUrl?: string;
  /** Which of several addresses that are printed it is. */
  readonly urlPattern?: string;
  /** ssh: the port over there. */
  readonly remotePort?: string;
}

export const TUNNEL_NAMES =
  'cloudflared, ngrok, smee, https://smee.io/CHANNEL, ssh:USER@HOST, or a command with {port} in it';
const SMEE = 'https://smee.io';
const SSH_PORT = '80';

/**
 * The tunnel that a text names: `cloudflared`, `ngrok`, `smee`, the address of a smee server or channel, `ssh:USER@HOST`, or a
 * command line that holds `{port}` or `{url}`. Undefined takes the first program that is there; nobody's events go through
 * a public smee server unasked.
 */
export function tunnelNamed(text: string | undefined, options: NameOptions, env: NodeJS.ProcessEnv): Choice {
  const name = text?.trim() ?? installed(env);
  const pattern = patternOf(options.urlPattern);
  const publicUrl = options.publicUrl === undefined ? undefined : originOf(options.publicUrl, '--public-url');
  const told = { publicUrl, pattern };
  if (options.remotePort !== undefined && !name.startsWith('ssh:'))
    throw usage('--remote-port belongs to a tunnel by ssh.', 'for example: wfx webhook tunnel ssh:me@example.com');
  if (name === 'smee') return { kind: 'smee', name, server: SMEE, channel: undefined };
  if (/^https?:\/\//i.test(name)) return smeeAt(name);
  if (name === 'cloudflared') return { kind: 'program', name, program: (port) => cloudflared(port, told) };
  if (name === 'ngrok') return { kind: 'program', name, program: (port) => ngrok(port, told) };
  if (name.startsWith('ssh:')) {
    const [host, remotePort] = [hostOf(name), portOf(options.remotePort ?? SSH_PORT)];
    return { kind: 'program', name: `ssh to ${host}`, program: (port) => ssh(host, remotePort, port, told) };
  }
  if (/\{(port|url)\}/.test(name)) {
    if (/["']/.test(name))
      throw usage(
        'A command for a tunnel takes no quotes.',
        'put a backslash before a blank, or the command into a script',
      );
    const [file = '', ...args] = parseCommandString(name);
    return { kind: 'program', name: file, program: (port) => command(file, args, port, told) };
  }
  throw usage(`There is no tunnel “${name}”.`, `it is one of ${TUNNEL_NAMES}`);
}

function installed(env: NodeJS.ProcessEnv): string {
  const found = ['cloudflared', 'ngrok'].find((name) => onPath(name, env));
  if (found !== undefined) return found;
  throw usage(
    'Neither cloudflared nor ngrok is installed.',
    `install one, or say which tunnel to use: wfx webhook tunnel NAME (${TUNNEL_NAMES})`,
  );
}

function onPath(name: string, env: NodeJS.ProcessEnv): boolean {
  const endings = process.platform === 'win32' ? (env['PATHEXT'] ?? '.EXE').split(';') : [''];
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const files = folders.flatMap((folder) => endings.map((ending) => join(folder, name + ending)));
  return files.some((file) => statSync(file, { throwIfNoEntry: false })?.isFile() === true);
}

function smeeAt(text: string): Choice {
  if (!URL.canParse(text)) throw usage(`“${text}” is no address of a smee channel.`, `for example: ${SMEE}/CHANNEL`);
  const { origin, pathname } = new URL(text);
  const channel = pathname.replace(/^\/|\/$/g, '');
  if (channel !== '' && !/^[\w-]{1,128}$/.test(channel))
    throw usage(`“${text}” is no address of a smee channel.`, `for example: ${SMEE}/CHANNEL`);
  return { kind: 'smee', name: 'smee', server: origin, channel: channel === '' ? undefined : `${origin}/${channel}` };
}

function originOf(text: string, option: string): string {
  if (URL.canParse(text)) {
    const { protocol, origin, pathname } = new URL(text);
    if (/^https?:$/.test(protocol)) return origin + pathname.replace(/\/+$/, '');
  }
  throw usage(`${option}: “${text}” is no address.`, 'for example: https://hooks.example.com');
}

function patternOf(text: string | undefined): RegExp | undefined {
  if (text === undefined) return undefined;
  try {
    return new RegExp(text);
  } catch (error) {
    throw usage(`--url-pattern is no regular expression: ${(error as Error).message}.`);
  }
}

/** What begins with a dash would be an option of ssh. */
function hostOf(name: string): string {
  const host = name.startsWith('ssh://') ? name : name.slice('ssh:'.length);
  if (host !== '' && !host.startsWith('-') && !/\s/.test(host)) return host;
  throw usage(`“${name}” names no host.`, 'for example: ssh:me@example.com or ssh://me@example.com:2222');
}

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port > 0 && port < 65536) return port;
  throw usage(`--remote-port takes a number from 1 to 65535, not “${text}”.`);
}

interface Told {
  readonly publicUrl: string | undefined;
  readonly pattern: RegExp | undefined;
}

function cloudflared(port: number, { publicUrl, pattern }: Told): Program {
  const own = /https:\/\/(?!api\.)[\w-]+\.trycloudflare\.com/;
  return {
    file: 'cloudflared',
    args: ['tunnel', '--no-autoupdate', '--url', `http://127.0.0.1:${port}`],
    addressIn: (line) => publicAddress(publicUrl, pattern ?? own, line),
    install:
      'it is free and needs no account: https://developers.cloudflare.com/cloudflare-one/connections/connect-networks/downloads/',
  };
}

function ngrok(port: number, { publicUrl, pattern }: Told): Program {
  return {
    file: 'ngrok',
    args: ['http', `127.0.0.1:${port}`, '--log', 'stdout', '--log-format', 'logfmt'],
    addressIn: (line) => publicAddress(publicUrl, pattern ?? /started tunnel.*\burl="?(https?:\/\/[^\s"]+)/, line),
    install: 'see https://ngrok.com/download',
  };
}

/**
 * A forwarded port of another machine. With a public address that is known nothing runs over there (`-N`), and ssh itself
 * tells when it is open; services that print an address do it as the remote command.
 */
function ssh(host: string, remotePort: number, port: number, { publicUrl, pattern }: Told): Program {
  const options = ['BatchMode=yes', 'ExitOnForwardFailure=yes', 'ServerAliveInterval=15', 'ServerAliveCountMax=3'];
  const said = options.flatMap((option) => ['-o', option]);
  const forward = ['-T', '-R', `${remotePort}:127.0.0.1:${port}`];
  const args = publicUrl === undefined ? [...said, ...forward] : [...said, '-v', '-N', ...forward];
  const printed = addressFinder(port, host.replace(/^.*@|^ssh:\/\/|:\d+$/g, ''));
  return {
    file: 'ssh',
    args: [...args, '--', host],
    addressIn: (line) => {
      if (publicUrl !== undefined) return /remote forward success/.test(line) ? publicUrl : undefined;
      return pattern === undefined ? printed(line) : publicAddress(undefined, pattern, line);
    },
    trouble: (line) => !line.startsWith('debug1:') && !line.startsWith('OpenSSH_'),
    install: 'install an OpenSSH client',
  };
}

function command(file: string, args: readonly string[], port: number, { publicUrl, pattern }: Told): Program {
  const filled = (text: string): string =>
    text.replaceAll('{port}', String(port)).replaceAll('{url}', `http://127.0.0.1:${port}`);
  const printed = addressFinder(port, '');
  return {
    file: filled(file),
    args: args.map(filled),
    addressIn: (line) =>
      pattern === undefined && publicUrl === undefined ? printed(line) : publicAddress(publicUrl, pattern, line),
    install: 'check the command, and that it is on the PATH',
  };
}

/** The known address at the first line that is printed (or that fits), or else what the pattern finds. */
function publicAddress(known: string | undefined, pattern: RegExp | undefined, line: string): string | undefined {
  const found = pattern?.exec(line);
  if (known !== undefined) return pattern === undefined || found ? known : undefined;
  const address = found?.[1] ?? found?.[0];
  return address !== undefined && URL.canParse(address) ? originOf(address, '--url-pattern') : undefined;
}

/** An address without a path, and where it ends. */
const ADDRESS = /https?:\/\/[\w-]+(?:\.[\w-]+)*(?::\d+)?(?=[./]?(?:[\s"'`,;|)\]>]|$))/g;
const NOT_A_TUNNEL = /^(www|docs?|help|admin|dashboard|console|status|api|support|blog|community|app)\./;

/**
 * Finds the address among what a program prints: the first that leads to a host alone. Links to pages have paths; and what
 * is said of the local end, or of the service's own site, is no tunnel.
 */
function addressFinder(port: number, service: string): (line: string) => string | undefined {
  return (line) => {
    for (const [text] of line.matchAll(ADDRESS)) {
      const url = URL.canParse(text) ? new URL(text) : undefined;
      if (url === undefined || url.port === String(port)) continue;
      if (url.hostname === service || NOT_A_TUNNEL.test(url.hostname)) continue;
      return url.origin;
    }
    return undefined;
  };
}

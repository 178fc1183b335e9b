import { spawn } from 'node:child_process';

type Env = Readonly<Record<string, string | undefined>>;

/** The program that opens an address here, and what it is told before the address; undefined: there is no browser. */
export function browserOf(env: Env, platform: NodeJS.Platform): readonly [string, ...string[]] | undefined {
  const { BROWSER: chosen = '', DISPLAY: x = '', WAYLAND_DISPLAY: wayland = '', CI: ci = '' } = env;
  if (chosen !== '') return [chosen];
  if (ci !== '' || env['SSH_CONNECTION'] !== undefined) return undefined;
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return x !== '' || wayland !== '' ? ['xdg-open'] : undefined;
}

/** Whether it begins is not waited for: the address is printed too. */
export function openIn([program, ...first]: readonly [string, ...string[]], address: string): void {
  spawn(program, [...first, address], { detached: true, stdio: 'ignore' })
    .on('error', () => undefined)
    .unref();
}

import { mkdirSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import envPaths from 'env-paths';

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The folder that holds wfx's data and settings: `WFX_HOME`, or the platform's convention (`~/.local/share/wfx` on
 * Linux, `~/Library/Application Support/wfx` on macOS, `%LOCALAPPDATA%\wfx\Data` on Windows). Absolute; it need not exist.
 */
export function homeDir(env: Env = process.env): string {
  const set = env['WFX_HOME'];
  return set === undefined || set === '' ? envPaths('wfx', { suffix: '' }).data : resolve(set);
}

/** Makes the folder, readable by its owner alone, and answers its path without symbolic links. */
export function madeHome(home: string): string {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  return realpathSync(home);
}

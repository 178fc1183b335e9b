import { existsSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
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
  makeFolders(home);
  return realpathSync(home);
}

/**
 * Makes a folder and those missing above it, for their owner alone, and answers those made, topmost first; throws what
 * `mkdir` throws. Step by step, because Node's `recursive` tries for ever where a folder that is there answers ENOENT, as
 * /proc does.
 */
export function makeFolders(path: string): string[] {
  const folder = resolve(path);
  const above = dirname(folder);
  const made = above === folder || existsSync(above) ? [] : makeFolders(above);
  try {
    mkdirSync(folder, { mode: 0o700 });
    return [...made, folder];
  } catch (error) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return made;
    throw error;
  }
}

/** Whether everybody on this machine may write into the folder, and so put settings or code of their own there. */
export function isOpenToAll(folder: string): boolean {
  if (process.platform === 'win32') return false;
  return ((statSync(folder, { throwIfNoEntry: false })?.mode ?? 0) & 0o002) !== 0;
}

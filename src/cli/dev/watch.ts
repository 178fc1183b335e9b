import { statSync } from 'node:fs';
import { sep } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { watch } from 'chokidar';
import type { FlowFolder } from './flow-folder.ts';

/** A file that has not grown for this long is written; a save in several steps is one. */
const SETTLED_MS = 80;
/** A file that is gone may come back under its own name (a save) or another one (a rename). */
const RENAME_MS = 400;
/** How often it is looked whether the folder itself is there: watchers don't always tell. */
const LOOK_MS = 300;
const FLOW_FILE = /\.(ya?ml|json)$/i;
const NOT_OURS = new Set(['node_modules', 'dist']);

interface Folder {
  readonly dir: string;
  readonly flows: FlowFolder;
  /** Told when all that is there at first was looked at. */
  readonly ready: () => void;
  readonly gone: () => void;
  /** Does work when what was asked for before is done. */
  readonly next: (work: () => Promise<void> | void) => void;
}

/**
 * Watches a folder until the signal aborts: what is there first, then each change. One that is gone is waited for. Rejects when it
 * can't be watched.
 */
export async function watchFolder(folder: Folder, signal: AbortSignal): Promise<void> {
  const { dir, flows, next, gone } = folder;
  while (!signal.aborted) {
    await watchUntilGone(folder, signal);
    if (signal.aborted) return;
    next(() => flows.vanished());
    next(gone);
    await untilNot(undefined, dir, signal);
  }
}

/** Waits for as long as a folder is the given one (undefined: as there is none), or until the signal aborts. */
async function untilNot(identity: string | undefined, dir: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && identityOf(dir) === identity)
    await pause(LOOK_MS, undefined, { signal }).catch(() => undefined);
}

/** Of the folder that is there now, since another one may be made under its name. */
function identityOf(dir: string): string | undefined {
  const stats = statSync(dir, { throwIfNoEntry: false });
  return stats?.isDirectory() === true ? `${stats.ino} ${stats.birthtimeMs}` : undefined;
}

async function watchUntilGone({ dir, flows, ready, next }: Folder, signal: AbortSignal): Promise<void> {
  const identity = identityOf(dir);
  const watcher = watch('.', {
    cwd: dir,
    ignored: (path, stats) => isNotOurs(path, dir) || (stats?.isFile() === true && !FLOW_FILE.test(path)),
    awaitWriteFinish: { stabilityThreshold: SETTLED_MS, pollInterval: 20 },
    atomic: true,
  });
  let telling: NodeJS.Timeout | undefined;
  const removed = (path: string): void => {
    next(() => flows.removed(path));
    clearTimeout(telling);
    telling = setTimeout(() => next(() => flows.tellOfDeleted()), RENAME_MS);
  };
  const failed = new Promise<never>((_, reject) => {
    watcher
      .on('add', (path) => next(() => flows.changed(path)))
      .on('change', (path) => next(() => flows.changed(path)))
      .on('unlink', removed)
      .on('ready', () => next(ready))
      .on('error', reject);
  });
  try {
    await Promise.race([failed, untilNot(identity, dir, signal)]);
  } finally {
    clearTimeout(telling);
    await watcher.close();
  }
}

export const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    if (signal.aborted) done();
    signal.addEventListener('abort', () => done(), { once: true });
  });

/** Hidden folders, and those that programs fill. */
function isNotOurs(path: string, dir: string): boolean {
  const inside = path.startsWith(dir) ? path.slice(dir.length) : path;
  return inside
    .split(/[/\\]/)
    .some((part) => NOT_OURS.has(part) || (part.startsWith('.') && part !== '.' && part !== sep));
}

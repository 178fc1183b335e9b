import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import type { Handler } from '../index.ts';
import { handlerName, isHandlerFile, type LoadedHandler, loadHandler } from './load.ts';

export interface FolderLog {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Handlers by name, as they are now. */
export interface HandlerFolder {
  readonly names: readonly string[];
  get(name: string): Handler | undefined;
  /** Resolves when the files that were there at first are loaded. */
  readonly ready: Promise<void>;
  /** Calls `listener` after each change; returns what ends that. */
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}

/** How long a file must be left alone: editors write in several steps. */
const SETTLED_MS = 50;

/**
 * Loads the handler files of a folder, and again whenever they, or files of the folder that they import, are saved. A file
 * that is broken says so, and its handler stays as it was. Sub folders hold what handlers import, no handlers.
 */
export function watchHandlers(folder: string, log: FolderLog): HandlerFolder {
  const loaded = new Map<string, LoadedHandler>();
  const listeners = new Set<() => void>();
  let turn = Promise.resolve();

  const inTurn = (change: () => Promise<void>): void => {
    turn = turn.then(change).then(() => {
      for (const listener of listeners) listener();
    });
  };

  async function load(path: string): Promise<void> {
    try {
      const handler = await loadHandler(path);
      const others = [...loaded].some(([other, { name }]) => other !== path && name === handler.name);
      if (others) throw new Error(`${path}: another file is the handler '${handler.name}' already; rename one of them`);
      loaded.set(path, handler);
      log.info({ handler: handler.name, path }, 'handler loaded');
    } catch (error) {
      const kept = loaded.has(path) ? '; its last good version stays in use' : '';
      log.error({ path, reason: (error as Error).message }, `a handler file is broken${kept}`);
    }
  }

  const changed = (path: string): void =>
    inTurn(async () => {
      const importing = [...loaded].filter(([, { files }]) => files.includes(path)).map(([own]) => own);
      const own = isTop(folder, path) && isHandlerFile(path) ? [path] : [];
      for (const each of new Set([...own, ...importing])) await load(each);
    });
  const removed = (path: string): void =>
    inTurn(async () => {
      if (loaded.delete(path)) log.info({ handler: handlerName(path), path }, 'handler removed');
    });

  const watcher: FSWatcher = watch(folder, {
    ignored: (path) => path !== folder && (basename(path).startsWith('.') || basename(path) === 'node_modules'),
    ignoreInitial: true,
    awaitWriteFinish: { stabilityThreshold: SETTLED_MS, pollInterval: 10 },
  });
  const loadAll = async (): Promise<void> => {
    const names = (await readdir(folder).catch(() => [])).filter(isHandlerFile).sort();
    for (const name of names) await load(join(folder, name));
  };
  const ready = new Promise<void>((resolve) => watcher.once('ready', resolve)).then(() => {
    inTurn(loadAll);
    return turn;
  });
  watcher.on('add', changed).on('change', changed).on('unlink', removed);
  watcher.on('error', (error) => log.error({ err: error, folder }, 'the handlers folder cannot be watched'));

  const find = (name: string) => [...loaded.values()].find((handler) => handler.name === name)?.handler;
  return {
    get names() {
      return [...loaded.values()].map(({ name }) => name).sort();
    },
    get: find,
    ready,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      listeners.clear();
      await watcher.close();
      await turn;
    },
  };
}

const isTop = (folder: string, path: string): boolean => !/[\\/]/.test(path.slice(folder.length + 1));

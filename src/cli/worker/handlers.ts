import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { watchHandlers } from '../../handlers/folder.ts';
import { type LoadedHandler, loadHandler } from '../../handlers/load.ts';
import type { Handler } from '../../index.ts';
import { usage } from '../exit.ts';
import type { Io } from '../io.ts';

/** What a worker can do, as of now. */
export interface Handlers {
  readonly names: readonly string[];
  get(name: string): Handler | undefined;
  onChange(listener: () => void): void;
  close(): Promise<void>;
}

/** Loads handler files, and those of a folder for as long as the worker runs. A file that can't be loaded is a usage error. */
export async function openHandlers(io: Io, files: readonly string[], dir: string | undefined): Promise<Handlers> {
  const named = new Map<string, LoadedHandler>();
  for (const file of files) {
    if (!existsSync(file)) throw usage(`There is no file ${file}.`);
    const handler = await loadHandler(file).catch((error: Error) => {
      throw usage(error.message);
    });
    if (named.has(handler.name)) throw usage(`Two files are the handler ${handler.name}: rename ${file}.`);
    named.set(handler.name, handler);
  }
  const folder = dir === undefined ? undefined : await openFolder(io, dir);
  return {
    get names() {
      return [...new Set([...named.keys(), ...(folder?.names ?? [])])];
    },
    get: (name) => named.get(name)?.handler ?? folder?.get(name),
    onChange: (listener) => void folder?.onChange(listener),
    close: async () => folder?.close(),
  };
}

async function openFolder(io: Io, dir: string) {
  if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) throw usage(`There is no folder ${dir}.`);
  const folder = watchHandlers(resolve(dir), {
    info: (fields, message) => io.note(`${message}: ${(fields as { handler: string }).handler}`),
    error: (fields, message) => io.warn(`${message}: ${(fields as { reason?: string }).reason ?? dir}`),
  });
  await folder.ready;
  return folder;
}

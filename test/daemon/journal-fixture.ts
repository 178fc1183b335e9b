import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { openJournal } from '../../src/daemon/journal/index.ts';
import type { Frame, InstanceEvents, JournalPort, Recovery, StoredFrame } from '../../src/daemon/ports.ts';
import type { Json, JsonObject } from '../../src/engine/json.ts';

export interface Opened {
  readonly journal: JournalPort;
  readonly recovery: Recovery;
  readonly entries: readonly JsonObject[];
  readonly frames: readonly StoredFrame[];
  readonly warnings: readonly string[];
}

/** Opens a journal and reads what it recovers, as a daemon does before it appends. */
export async function opened(dir: string, segmentBytes?: number): Promise<Opened> {
  const warnings: string[] = [];
  const log = { info: () => undefined, warn: (_: object, message: string) => warnings.push(message) };
  const { journal, recovery } = await openJournal({ dir, log, ...(segmentBytes && { segmentBytes }) });
  try {
    const entries = await all(recovery.checkpoint);
    return { journal, recovery, entries, frames: await all(recovery.frames), warnings };
  } catch (error) {
    await journal.close();
    throw error;
  }
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** A frame with one fact, which says `value`. */
export const factFrame = (value: Json): Frame => ({
  at: 1_700_000_000_000,
  instances: [],
  facts: [{ collection: 'notes', key: 'k', value }],
});

export const instanceFrame = (...instances: InstanceEvents[]): Frame => ({
  at: 1_700_000_000_000,
  instances,
  facts: [],
});

/** What the frames of `factFrame` say, in order. */
export const valuesOf = (frames: readonly Frame[]): Json[] =>
  frames.flatMap((frame) => frame.facts.map((fact) => fact.value));

/** Every file of a folder with its content. */
export async function contentOf(dir: string): Promise<Record<string, string>> {
  const content: Record<string, string> = {};
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    if (entry.isFile()) content[entry.name] = (await readFile(path.join(dir, entry.name))).toString('base64');
  }
  return content;
}

/** Where each record of a segment begins, and where the last one ends. */
export function boundariesOf(segment: Buffer): number[] {
  const boundaries = [48];
  for (let at = 48; at < segment.length; ) {
    at += 20 + segment.readUInt32LE(at + 4);
    boundaries.push(at);
  }
  return boundaries;
}

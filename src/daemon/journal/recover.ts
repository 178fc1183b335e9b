import { constants } from 'node:fs';
import { access, type FileHandle, open, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from '../durable-folder.ts';
import { StorageError } from '../ports.ts';
import { type CheckpointFile, checkCheckpoint, checkpointFile, frameInName } from './checkpoint.ts';
import { readUpTo, syncData, UNFINISHED, writeAll } from './durable-file.ts';
import { CorruptJournalError, storageError } from './errors.ts';
import { HEADER_BYTES } from './format.ts';
import type { Log } from './log.ts';
import { type Fault, SegmentScan } from './scan.ts';
import { createSegment, numberInName, readSegment, type SealedSegment, type Segment, segmentFile } from './segment.ts';
import { assertTorn, type Cut, cutTail, setAside } from './tail.ts';

/** A journal that may be appended to, as it is on disk. */
export interface Recovered {
  readonly sealed: readonly SealedSegment[];
  /** The newest segment; its `bytes` end with the last durable record. */
  readonly active: Segment;
  readonly lastFrame: number;
  readonly checkpoint: CheckpointFile | undefined;
  /** Size of the records after the checkpoint. */
  readonly bytesSinceCheckpoint: number;
  readonly cut: Cut | undefined;
}

interface Listing {
  readonly segments: readonly number[];
  readonly indexes: readonly number[];
  /** Frame numbers, newest first. */
  readonly checkpoints: readonly number[];
  readonly unfinished: readonly string[];
}

/**
 * Checks everything in `dir` that has to be replayed, and only then repairs: cuts a torn tail, takes away what a crash
 * left half made, makes the first segment of a new journal. CorruptJournalError (nothing was modified), StorageError.
 */
export async function recover(dir: string, log: Log): Promise<Recovered> {
  await prepareFolder(dir);
  const listing = await list(dir);
  const { segments, unborn } = await readSegments(dir, listing);
  const checkpoint = await newestValid(dir, listing.checkpoints, log);
  const frames = await checkFrames(segments, checkpoint?.upTo ?? 0);
  if (checkpoint !== undefined && frames.last < checkpoint.upTo) {
    const newest = segmentFile(dir, segments.length + 1);
    throw new CorruptJournalError(newest, 0, `is missing: ${checkpoint.file} holds frames that no segment has`);
  }
  for (const name of listing.unfinished) await removeUnfinished(path.join(dir, name));
  const aside = unborn && (await setAside(unborn.file, unborn.bytes));
  const cut = (await repair(segments.at(-1), frames)) ?? aside;
  const active = segments.at(-1) ?? (await createSegment(dir, 1, 1));
  return {
    sealed: segments.slice(0, -1).map((segment, at) => seal(segment, segments[at + 1] as Segment)),
    active: { ...active, bytes: segments.length === 0 ? active.bytes : frames.end },
    lastFrame: frames.last,
    checkpoint,
    bytesSinceCheckpoint: frames.bytesAfter,
    cut,
  };
}

const seal = (segment: Segment, next: Segment): SealedSegment => ({ ...segment, lastFrame: next.firstFrame - 1 });

async function prepareFolder(dir: string): Promise<void> {
  try {
    await makeFolder(path.resolve(dir));
    await access(dir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if (['EEXIST', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw storageError('used', dir, error);
    const remedy = 'make it writable or choose another with --data-dir';
    throw new StorageError(`The data folder ${dir} cannot be written (${(error as Error).message}): ${remedy}.`, {
      cause: error,
    });
  }
}

async function list(dir: string): Promise<Listing> {
  const entries = await readdir(dir, { withFileTypes: true }).catch((error) => {
    throw storageError('read', dir, error);
  });
  const names = entries.map((entry) => entry.name).sort();
  const numbers = (ending: 'log' | 'idx') =>
    names.map((name) => numberInName(name, ending)).filter((number) => number !== undefined);
  return {
    segments: numbers('log'),
    indexes: numbers('idx'),
    checkpoints: names
      .map(frameInName)
      .filter((frame) => frame !== undefined)
      .toReversed(),
    unfinished: entries.filter((entry) => entry.isFile() && entry.name.endsWith(UNFINISHED)).map((entry) => entry.name),
  };
}

/** All segments in order, and the newest one apart when a crash interrupted its making. */
async function readSegments(dir: string, listing: Listing) {
  const newest = Math.max(0, ...listing.segments.slice(-1), ...listing.indexes.slice(-1));
  const segments: Segment[] = [];
  let unborn: { readonly file: string; readonly bytes: number } | undefined;
  for (let number = 1; number <= newest; number += 1) {
    const file = segmentFile(dir, number);
    if (!listing.segments.includes(number)) throw new CorruptJournalError(file, 0, 'is missing');
    const segment = await readSegment(dir, number);
    if (segment !== undefined) segments.push(segment);
    else if (number < newest) throw new CorruptJournalError(file, 0, 'is empty');
    else unborn = { file, bytes: (await stat(file)).size };
  }
  assertAscending(segments);
  return { segments, unborn };
}

function assertAscending(segments: readonly Segment[]): void {
  let least = 1;
  for (const { file, firstFrame, segment } of segments) {
    const fits = segment === 1 ? firstFrame === 1 : firstFrame >= least;
    if (!fits) throw new CorruptJournalError(file, 0, `begins with frame ${firstFrame}, which cannot follow`);
    least = firstFrame + 1;
  }
}

async function newestValid(dir: string, frames: readonly number[], log: Log): Promise<CheckpointFile | undefined> {
  for (const upTo of frames) {
    const checkpoint = { file: checkpointFile(dir, upTo), upTo };
    const problem = await checkCheckpoint(checkpoint).catch((error: Error) => `cannot be read (${error.message})`);
    if (problem === undefined) return checkpoint;
    log.warn({ file: checkpoint.file }, `a checkpoint ${problem}: replaying from an older one`);
  }
  return undefined;
}

interface CheckedFrames {
  /** Number of the last frame, 0 for none. */
  readonly last: number;
  /** In the newest segment: where its last batch begins, where its last record ends, and what follows that. */
  readonly lastBatch: number;
  readonly end: number;
  readonly torn: Fault | undefined;
  /** Size of the records after the checkpoint. */
  readonly bytesAfter: number;
}

/** Checks every record of every segment that holds frames after `upTo`. */
async function checkFrames(segments: readonly Segment[], upTo: number): Promise<CheckedFrames> {
  let checked: CheckedFrames = { last: 0, lastBatch: HEADER_BYTES, end: HEADER_BYTES, torn: undefined, bytesAfter: 0 };
  for (const [at, segment] of segments.entries()) {
    const next = segments[at + 1];
    if (next !== undefined && next.firstFrame <= upTo + 1) continue;
    const { scan, bytesAfter } = await checkSegment(segment, next, upTo);
    checked = {
      last: scan.expected - 1,
      lastBatch: scan.lastBatch,
      end: scan.position,
      torn: scan.fault,
      bytesAfter: checked.bytesAfter + bytesAfter,
    };
  }
  return checked;
}

async function checkSegment(segment: Segment, next: Segment | undefined, upTo: number) {
  const handle = await openFor('read', segment.file, 'r');
  try {
    const scan = new SegmentScan(handle, segment.bytes, segment.firstFrame);
    let bytesAfter = 0;
    for (let records = await scan.next(); records !== undefined; records = await scan.next()) {
      for (const record of records) if (record.number > upTo) bytesAfter += record.bytes;
    }
    if (next !== undefined) scan.assertReached(segment.file, next.firstFrame - 1);
    else if (scan.fault) await assertTorn(handle, segment.file, segment.bytes, scan.fault, scan.expected);
    return { scan, bytesAfter };
  } catch (error) {
    throw storageError('read', segment.file, error);
  } finally {
    await handle.close();
  }
}

/**
 * Makes the newest segment end with its last whole record, durably. The last batch may have been read from memory only
 * (the process died before its sync, or the sync failed), so it is written again before anything is built on it.
 */
async function repair(newest: Segment | undefined, frames: CheckedFrames): Promise<Cut | undefined> {
  if (newest === undefined) return undefined;
  const cut = frames.torn && (await cutTail(newest.file, frames.end, newest.bytes));
  const handle = await openFor('written', newest.file, 'r+');
  try {
    const batch = Buffer.allocUnsafe(frames.end - frames.lastBatch);
    await readUpTo(handle, batch, batch.length, frames.lastBatch);
    await writeAll(handle.fd, batch, batch.length, frames.lastBatch);
    await syncData(handle.fd);
  } catch (error) {
    throw storageError('written', newest.file, error);
  } finally {
    await handle.close();
  }
  return cut;
}

const openFor = (doing: string, file: string, flags: string): Promise<FileHandle> =>
  open(file, flags).catch((error) => {
    throw storageError(doing, file, error);
  });

const removeUnfinished = (file: string): Promise<void> =>
  rm(file, { force: true }).catch((error) => {
    throw storageError('removed', file, error);
  });

/**
 * How many frames and events the journal makes durable in a second, for a number of callers that each wait for one frame
 * before they append the next; beside a bare loop of write and fdatasync with the same bytes.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { openJournal } from '../src/daemon/journal/index.ts';
import type { Frame } from '../src/daemon/ports.ts';

const EVENTS_PER_FRAME = 22;
const SECONDS = 3;
const quiet = { info: () => undefined, warn: () => undefined };

function frameOf(serial: number): Frame {
  const events = Array.from({ length: EVENTS_PER_FRAME }, (_, at) => ({
    type: at % 2 === 0 ? 'nodeEntered' : 'nodeCompleted',
    version: 1,
    node: `step${at >> 1}`,
    token: at,
    activation: `step${at >> 1}:0`,
  }));
  const id = `0193${serial.toString(16).padStart(8, '0')}-7000-8000-000000000000`;
  return { at: Date.now(), instances: [{ id, seq: 1, events, ended: { stateCd: 1 } }], facts: [] };
}

function report(what: string, frames: number, seconds: number): void {
  const rate = Math.round(frames / seconds);
  console.log(
    `${what.padEnd(28)} ${rate.toLocaleString('en')} frames/s  ${(rate * EVENTS_PER_FRAME).toLocaleString('en')} events/s`,
  );
}

function bareLoop(dir: string): void {
  const bytes = Buffer.from(JSON.stringify(frameOf(0)));
  const file = openSync(path.join(dir, 'bare'), 'w');
  const begin = performance.now();
  let frames = 0;
  for (; performance.now() - begin < SECONDS * 1000; frames += 1) {
    writeSync(file, bytes);
    fdatasyncSync(file);
  }
  report('bare write + fdatasync', frames, (performance.now() - begin) / 1000);
  closeSync(file);
}

async function appenders(dir: string, count: number): Promise<void> {
  const { journal, recovery } = await openJournal({ dir: path.join(dir, String(count)), log: quiet });
  for await (const _ of recovery.frames);
  const begin = performance.now();
  let frames = 0;
  const appender = async (): Promise<void> => {
    while (performance.now() - begin < SECONDS * 1000) {
      await journal.append(frameOf(frames));
      frames += 1;
    }
  };
  await Promise.all(Array.from({ length: count }, appender));
  report(`journal, ${count} at a time`, frames, (performance.now() - begin) / 1000);
  await journal.close();
}

const dir = await mkdtemp(path.join(process.cwd(), '.bench-journal-'));
try {
  bareLoop(dir);
  for (const count of [1, 8, 64]) await appenders(dir, count);
} finally {
  await rm(dir, { recursive: true });
}

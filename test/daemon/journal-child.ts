/**
 * Appends to the journal in argv[2], 8 frames at a time, and says of each that was acknowledged `acked <n>`; writes a
 * checkpoint now and then. After a StorageError it says `failed <message>`, reads back what was acknowledged, and opens the
 * journal again until that works. Ends after argv[4] failures, but not before frame 200.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { openJournal } from '../../src/daemon/journal/index.ts';
import { type Recovery, StorageError } from '../../src/daemon/ports.ts';
import { all, instanceFrame } from './journal-fixture.ts';

const [dir, segmentBytes, failuresToStop] = [
  process.argv[2] as string,
  Number(process.argv[3]),
  Number(process.argv[4]),
];
const say = (line: string) => process.stdout.write(`${line}\n`);

const { journal, recovery } = await openJournal({
  dir,
  segmentBytes,
  log: { info: () => undefined, warn: () => undefined },
});
let seq = await lastSeq(recovery);
let acked = seq;
let failures = 0;

async function lastSeq({ checkpoint, frames }: Recovery): Promise<number> {
  let last = 0;
  for await (const entry of checkpoint) last = entry['acked'] as number;
  for await (const frame of frames) last = frame.number;
  return last;
}

async function appendSome(): Promise<void> {
  const appends = Array.from({ length: 8 }, async () => {
    seq += 1;
    acked = await journal.append(instanceFrame({ id: 'a', seq, events: [{ seq, text: 'x'.repeat(200) }] }));
    say(`acked ${acked}`);
  });
  const results = await Promise.allSettled(appends);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  if (acked % 5 === 0) await journal.checkpoint(acked, [{ acked }]);
}

async function reopened(): Promise<number> {
  for (;;) {
    try {
      return await lastSeq(await journal.reopen());
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      say(`still failing ${error.message}`);
      await sleep(20);
    }
  }
}

for (;;) {
  try {
    await appendSome();
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    say(`failed ${error.message}`);
    say(`readable ${(await all(journal.history('a'))).length}`);
    failures += 1;
    seq = await reopened();
    say(`reopened ${seq} ${acked}`);
  }
  if (failures >= failuresToStop && acked >= 200) break;
}
await journal.close();
say('closed');

import { existsSync, readFileSync } from 'node:fs';
import { appendFile, cp, mkdir, readdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import t, { type Test } from 'tap';
import { CorruptJournalError, openJournal } from '../../src/daemon/journal/index.ts';
import { type JournalPort, StorageError } from '../../src/daemon/ports.ts';
import type { Json } from '../../src/engine/json.ts';
import { tempFolder } from '../folder.ts';
import { all, contentOf, factFrame, instanceFrame, opened, valuesOf } from './journal-fixture.ts';

const quiet = { info: () => undefined, warn: () => undefined };
const uuid = (time: number, serial: number) =>
  `${time.toString(16).padStart(8, '0')}-0000-7000-8000-${serial.toString(16).padStart(12, '0')}`;

t.test('what was appended is there after opening again, string by string', async (t) => {
  const dir = tempFolder(t);
  const conformance = process.env['WFX_CONFORMANCE_DIR'] ?? path.resolve('../shared/conformance');
  const naughty = path.join(conformance, 'naughty-strings.json');
  const strings: string[] = [
    '',
    '\0',
    '\ud800',
    '\udfff\ud800',
    '\u2028\ufeff',
    '"\\\n\r',
    '\u{1f600}',
    'x'.repeat(3 << 20),
  ];
  if (existsSync(naughty)) strings.push(...JSON.parse(readFileSync(naughty, 'utf8')).strings);
  else t.comment(`${naughty} is absent: a short list is used`);
  const values: Json[] = [...strings, JSON.parse('{"__proto__": {"a": 1}, "constructor": null}'), Object.keys(strings)];
  const { journal } = await opened(dir);
  await Promise.all(values.map((value) => journal.append(factFrame(value))));
  await journal.append(instanceFrame({ id: '__proto__', seq: 1, events: [{ n: 1 }], ended: {} }));
  await journal.close();

  const again = await opened(dir);
  const found = again.frames.slice(0, -1);
  t.equal(JSON.stringify(valuesOf(found)), JSON.stringify(values));
  t.same(
    again.frames.map((frame) => frame.number),
    Array.from({ length: values.length + 1 }, (_, at) => at + 1),
  );
  t.match(await all(again.journal.history('__proto__')), [
    { id: '__proto__', seq: 1, events: [{ n: 1 }], frame: values.length + 1 },
  ]);
  t.notOk(again.recovery.cut);
  await again.journal.close();
});

t.test('frames become durable in the order of the calls, those of one moment with one sync', async (t) => {
  const { journal } = await opened(tempFolder(t));
  const order: number[] = [];
  const appends = Array.from({ length: 500 }, async (_, at) => order.push(await journal.append(factFrame(at))));
  t.equal(journal.stats.pending, 500);
  await journal.flushed();
  t.equal(journal.stats.pending, 0);
  await Promise.all(appends);
  t.same(
    order,
    Array.from({ length: 500 }, (_, at) => at + 1),
  );
  t.equal(journal.stats.syncs, 1);
  t.equal(journal.stats.frames, 500);
  await journal.flushed();
  await journal.close();
  await journal.close();
  await t.rejects(journal.append(factFrame(0)), /is closed/);
});

t.test('a burst larger than one batch becomes durable in several', async (t) => {
  const dir = tempFolder(t);
  const { journal } = await opened(dir);
  const appends = Array.from({ length: 20 }, () => journal.append(factFrame('y'.repeat(1 << 20))));
  await journal.flushed();
  t.equal(journal.stats.pending, 0);
  await Promise.all(appends);
  t.ok(journal.stats.syncs > 1 && journal.stats.syncs < 10, `${journal.stats.syncs} syncs`);
  await journal.close();
  const again = await opened(dir);
  t.equal(again.frames.length, 20);
  t.equal(again.journal.stats.bytesSinceCheckpoint, again.journal.stats.bytes - 48);
  await again.journal.close();
});

t.test('a frame that is no JSON, or too large, is refused at once and alone', async (t) => {
  const { journal } = await opened(tempFolder(t));
  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  t.throws(() => journal.append(factFrame(cycle as Json)), TypeError);
  t.throws(() => journal.append(factFrame('z'.repeat(65 << 20))), RangeError);
  t.equal(await journal.append(factFrame('next')), 1);
  await journal.close();
});

t.test('appending before the recovered frames were read is refused', async (t) => {
  const { journal, recovery } = await openJournal({ dir: tempFolder(t), log: quiet });
  await t.rejects(journal.append(factFrame(1)), /frames were not read to the end/);
  await all(recovery.frames);
  t.equal(await journal.append(factFrame(1)), 1);
  await t.rejects(journal.reopen(), /Only a journal that failed/);
  await journal.close();
});

const INSTANCES = 40;
const STEPS = 5;

/** Interleaves the lives of 40 instances, each 5 frames of 2 events; odd ones end. Small segments: dozens of them. */
async function livedJournal(dir: string): Promise<JournalPort> {
  const { journal } = await opened(dir, 2000);
  for (let round = 0; round < INSTANCES + STEPS; round += 1) {
    const frame = [];
    for (let step = 0; step < STEPS; step += 1) {
      const serial = round - step;
      if (serial < 0 || serial >= INSTANCES) continue;
      const events = [
        { step, n: 0 },
        { step, n: 1 },
      ];
      const end = step === STEPS - 1 && serial % 2 === 1 ? { ended: { stateCd: 1, serial } } : {};
      frame.push({ id: uuid(serial, serial), seq: step * 2 + 1, events, ...end });
    }
    await journal.append(instanceFrame(...frame));
  }
  return journal;
}

async function checkLives(t: Test, journal: JournalPort): Promise<void> {
  for (let serial = 0; serial < INSTANCES; serial += 1) {
    const id = uuid(serial, serial);
    const parts = await all(journal.history(id));
    t.same(
      parts.flatMap((part) => part.events),
      Array.from({ length: STEPS * 2 }, (_, at) => ({ step: at >> 1, n: at % 2 })),
    );
    const later = await all(journal.history(id, 6));
    t.equal(later[0]?.seq, 6);
    t.same(
      later.flatMap((part) => part.events.map((event) => [event['step'], event['n']])),
      [
        [2, 1],
        [3, 0],
        [3, 1],
        [4, 0],
        [4, 1],
      ],
    );
    t.same(await all(journal.history(id, 11)), []);
    const ended = serial % 2 === 1 ? { id, ended: { stateCd: 1, serial } } : undefined;
    t.same(await journal.endedInstance(id), ended);
    t.same(parts.at(-1)?.ended, ended?.ended);
  }
  for (const unknown of ['', 'zzz', uuid(3, 9), uuid(999, 0)]) {
    t.same(await all(journal.history(unknown)), []);
    t.equal(await journal.endedInstance(unknown), undefined);
  }
}

async function checkEnded(t: Test, journal: JournalPort): Promise<void> {
  const odd = Array.from({ length: INSTANCES / 2 }, (_, at) => uuid(INSTANCES - 1 - 2 * at, INSTANCES - 1 - 2 * at));
  t.same(
    (await all(journal.ended())).map((instance) => instance.id),
    odd,
  );
  const paged: string[] = [];
  for (let before: string | undefined; ; before = paged.at(-1)) {
    const page: string[] = [];
    for await (const { id } of journal.ended(before)) {
      page.push(id);
      if (page.length === 3) break;
    }
    if (page.length === 0) break;
    paged.push(...page);
  }
  t.same(paged, odd);
  t.same(await all(journal.ended(uuid(1, 1))), []);
}

t.test('history and ended instances across segments, while open and after opening again', async (t) => {
  const dir = tempFolder(t);
  const journal = await livedJournal(dir);
  t.ok(journal.stats.segments > 5, `${journal.stats.segments} segments`);
  await checkLives(t, journal);
  await checkEnded(t, journal);
  await journal.close();
  t.equal((await readdir(dir)).filter((name) => name.endsWith('.idx')).length, journal.stats.segments - 1);

  const again = await opened(dir, 2000);
  t.equal(again.journal.stats.segments, journal.stats.segments);
  t.equal(again.journal.stats.bytes, journal.stats.bytes);
  await checkLives(t, again.journal);
  await checkEnded(t, again.journal);
  await again.journal.close();
});

t.test('ended instances come newest id first, wherever and in whatever order they ended', async (t) => {
  const dir = tempFolder(t);
  const { journal } = await opened(dir, 20_000);
  const ids = Array.from({ length: 1009 }, (_, at) => uuid(at, at));
  const shuffled = ids.map((_, at) => ids[(at * 387) % ids.length] as string);
  const alive = { id: uuid(500, 9), seq: 1, events: [{}] };
  for (let at = 0; at < ids.length; at += 50) {
    const ends = shuffled
      .slice(at, at + 50)
      .map((id) => journal.append(instanceFrame({ id, seq: 1, events: [], ended: { id } })));
    await Promise.all([...ends, journal.append(instanceFrame({ ...alive, seq: at / 50 + 1 }))]);
  }
  await journal.close();
  t.ok(journal.stats.segments > 5, `${journal.stats.segments} segments`);

  const again = await opened(dir);
  const newestFirst = ids.toReversed().map((id) => ({ id, ended: { id } }));
  t.same(await all(again.journal.ended()), newestFirst);
  for (const at of [0, 1, 500, 1007, 1008]) {
    t.same(await all(again.journal.ended(newestFirst[at]?.id)), newestFirst.slice(at + 1));
  }
  t.same(await all(again.journal.ended(alive.id)), newestFirst.slice(509));
  await again.journal.close();
});

t.test('an index that is missing, damaged or another segment’s is made again', async (t) => {
  const dir = tempFolder(t);
  await (await livedJournal(dir)).close();
  const indexes = (await readdir(dir)).filter((name) => name.endsWith('.idx'));
  const whole = readFileSync(path.join(dir, indexes[1] as string));
  const damages: Record<string, (file: string) => Promise<void>> = {
    missing: (file) => rm(file),
    empty: (file) => truncate(file, 0),
    'cut short': (file) => truncate(file, whole.length - 1),
    'with more behind': (file) => appendFile(file, 'x'),
    'with a damaged block': (file) => writeFile(file, flipped(whole, 10)),
    'with a damaged footer': (file) => writeFile(file, flipped(whole, whole.length - 40)),
    'of another segment': (file) => cp(path.join(dir, indexes[2] as string), file),
  };
  for (const [what, damage] of Object.entries(damages)) {
    await damage(path.join(dir, indexes[1] as string));
    const { journal } = await opened(dir, 2000);
    await Promise.all([checkLives(t, journal), checkEnded(t, journal)]);
    await journal.close();
    t.ok(readFileSync(path.join(dir, indexes[1] as string)).equals(whole), `${what}: made again`);
  }
});

t.test('history reads what is durable while appends go on', async (t) => {
  const { journal } = await opened(tempFolder(t), 4000);
  let durable = await journal.append(instanceFrame({ id: 'a', seq: 1, events: [{ seq: 1 }] }));
  const writing = (async () => {
    for (let seq = 2; seq <= 300; seq += 1) {
      await journal.append(instanceFrame({ id: 'a', seq, events: [{ seq }] }));
      durable = seq;
    }
  })();
  while (durable < 300) {
    const before = durable;
    const seen = (await all(journal.history('a'))).flatMap((part) => part.events.map((event) => event['seq']));
    t.ok(seen.length >= before);
    t.same(
      seen,
      Array.from({ length: seen.length }, (_, at) => at + 1),
    );
  }
  await writing;
  t.equal((await all(journal.history('a', 250))).length, 51);
  await journal.close();
});

t.test('frames after a number, across segments, up to the newest when reading begins', async (t) => {
  const dir = tempFolder(t);
  const journal = await livedJournal(dir);
  const numbers = async (after: number) => (await all(journal.frames(after))).map(({ number }) => number);
  const newest = journal.stats.frames;
  const from = (first: number) => Array.from({ length: newest - first + 1 }, (_, at) => first + at);
  for (const after of [-1, 0, 1, 17, newest - 1]) t.same(await numbers(after), from(Math.max(after, 0) + 1));
  t.same(await numbers(newest), []);
  const reading = journal.frames(newest - 2)[Symbol.asyncIterator]();
  t.equal((await reading.next()).value?.number, newest - 1);
  await journal.append(factFrame(1));
  t.equal((await reading.next()).value?.number, newest);
  t.equal((await reading.next()).done, true, 'what came later is not in it');
  await journal.close();
});

t.test('events with a gap between them are corruption', async (t) => {
  const { journal } = await opened(tempFolder(t));
  await journal.append(instanceFrame({ id: 'a', seq: 1, events: [{}] }));
  await journal.append(instanceFrame({ id: 'a', seq: 3, events: [{}] }));
  await t.rejects(all(journal.history('a')), CorruptJournalError);
  await journal.close();
});

t.test('checkpoints bound what is replayed; the two newest are kept', async (t) => {
  const dir = tempFolder(t);
  const { journal } = await opened(dir, 500);
  for (let n = 1; n <= 30; n += 1) {
    await journal.append(factFrame(n));
    if (n % 10 !== 0) continue;
    const big = 'v'.repeat(n === 20 ? 2 << 20 : 1);
    const writing = journal.checkpoint(n, [{ n, big }, { text: '\n\ud800' }]);
    if (n === 30) await journal.append(factFrame(31));
    await writing;
  }
  t.ok(journal.stats.bytesSinceCheckpoint < 200, 'only the frame that came meanwhile');
  await journal.checkpoint(5, [{ older: 'than the newest' }]);
  await t.rejects(journal.checkpoint(99, []), RangeError);
  await t.rejects(journal.checkpoint(31, throwing()), /no entries/);
  await journal.append(factFrame(32));
  await journal.close();
  t.same(await checkpointsIn(dir), ['checkpoint-0000000000000020.ckpt', 'checkpoint-0000000000000030.ckpt']);

  const again = await opened(dir, 500);
  t.same(again.entries, [{ n: 30, big: 'v' }, { text: '\n\ud800' }]);
  t.same(valuesOf(again.frames), [31, 32]);
  t.ok(again.journal.stats.bytesSinceCheckpoint > 0);
  await again.journal.close();
});

t.test('a checkpoint without entries is one', async (t) => {
  const dir = tempFolder(t);
  const { journal } = await opened(dir);
  await journal.append(factFrame(1));
  await journal.checkpoint(1, []);
  await journal.close();
  const again = await opened(dir);
  t.same([again.entries, again.frames, again.warnings], [[], [], []]);
  await again.journal.close();
});

t.test('a damaged checkpoint is passed over for an older one, or for all frames', async (t) => {
  const dir = tempFolder(t);
  const { journal } = await opened(dir, 500);
  for (let n = 1; n <= 20; n += 1) {
    await journal.append(factFrame(n));
    if (n % 10 === 0) await journal.checkpoint(n, [{ n }, { n: -n }]);
  }
  await journal.close();
  const [older, newer] = (await checkpointsIn(dir)).map((name) => path.join(dir, name)) as [string, string];
  const whole = readFileSync(newer);
  for (let at = 0; at < whole.length; at += 1) {
    await writeFile(newer, at % 2 === 0 ? flipped(whole, at) : whole.subarray(0, at));
    const found = await opened(dir, 500);
    t.same(found.entries, [{ n: 10 }, { n: -10 }]);
    t.same(valuesOf(found.frames), [11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
    t.equal(found.warnings.length, 1);
    await found.journal.close();
  }
  await writeFile(older, whole);
  const found = await opened(dir, 500);
  t.same([found.entries.length, found.frames.length, found.warnings.length], [0, 20, 2]);
  await found.journal.close();
});

t.test('what a crash leaves half made is cleared away', async (t) => {
  const dir = tempFolder(t);
  const { journal } = await opened(dir, 500);
  for (let n = 1; n <= 20; n += 1) await journal.append(factFrame(n));
  await journal.checkpoint(20, [{ n: 20 }]);
  const newest = journal.stats.segments;
  await journal.close();
  const before = await contentOf(dir);
  for (const name of [`0000000${newest + 1}.log`, '00000001.idx', 'checkpoint-0000000000000021.ckpt']) {
    await writeFile(path.join(dir, `${name}.tmp`), 'half');
  }
  const again = await opened(dir, 500);
  t.same([again.entries, again.frames], [[{ n: 20 }], []]);
  await again.journal.close();
  t.same(await contentOf(dir), before);
});

t.test('files that are lost, foreign or too new are refused, and nothing is changed', async (t) => {
  const source = path.join(tempFolder(t), 'source');
  const { journal } = await opened(source, 500);
  for (let n = 1; n <= 20; n += 1) await journal.append(factFrame(n));
  await journal.checkpoint(20, [{ n: 20 }]);
  const last = `0000000${journal.stats.segments}.log`;
  const next = `0000000${journal.stats.segments + 1}.log`;
  await journal.close();
  const tooNew = readFileSync(path.join(source, last));
  tooNew.writeUInt32LE(2, 8);
  tooNew.writeUInt32LE(crc32(tooNew.subarray(0, 44)), 44);

  const cases: readonly [string, RegExp, (dir: string) => Promise<unknown>][] = [
    ['a segment lost', /00000002\.log is missing/, (dir) => rm(path.join(dir, '00000002.log'))],
    ['the first segment lost', /00000001\.log is missing/, (dir) => rm(path.join(dir, '00000001.log'))],
    ['the newest segment lost', /\.log is missing/, (dir) => rm(path.join(dir, last))],
    [
      'the newest index and segment lost',
      /is missing/,
      async (dir) => {
        await rm(path.join(dir, last));
        await rm(
          path.join(
            dir,
            last.replace(/\d\.log/, (end) => `${Number(end[0]) - 1}.idx`),
          ),
        );
      },
    ],
    ['an older segment emptied', /00000002\.log is empty/, (dir) => truncate(path.join(dir, '00000002.log'), 0)],
    [
      'a copy of a segment',
      /is a copy of segment 1/,
      (dir) => cp(path.join(dir, '00000001.log'), path.join(dir, next)),
    ],
    ['a foreign file', /is no journal segment/, (dir) => writeFile(path.join(dir, next), 'hello '.repeat(20))],
    ['a short foreign file', /is no journal segment/, (dir) => writeFile(path.join(dir, next), 'hello')],
    ['a newer format', /has journal format 2/, (dir) => writeFile(path.join(dir, last), tooNew)],
    ['a folder for a file', /folder stands where a file belongs/, (dir) => mkdir(path.join(dir, next))],
    ['a dangling link', /cannot be read/, (dir) => symlink('nowhere', path.join(dir, next))],
  ];
  for (const [what, message, damage] of cases) {
    const dir = path.join(tempFolder(t), 'damaged');
    await cp(source, dir, { recursive: true });
    await damage(dir);
    const before = await contentOf(dir);
    await t.rejects(openJournal({ dir, log: quiet }), message, what);
    t.same(await contentOf(dir), before, `${what}: nothing changed`);
    await rm(dir, { recursive: true });
  }
});

t.test('a newest segment whose making was interrupted is made anew', async (t) => {
  const source = path.join(tempFolder(t), 'source');
  const { journal } = await opened(source);
  await journal.append(factFrame(1));
  await journal.close();
  const header = readFileSync(path.join(source, '00000001.log')).subarray(0, 48);
  for (const left of [Buffer.alloc(0), Buffer.alloc(4096), header.subarray(0, 5), header.subarray(0, 47)]) {
    const dir = path.join(tempFolder(t), 'interrupted');
    await cp(source, dir, { recursive: true });
    await writeFile(path.join(dir, '00000002.log'), left);
    const found = await opened(dir, 100);
    t.same(valuesOf(found.frames), [1]);
    t.equal(found.recovery.cut?.bytes, left.length);
    t.ok(readFileSync(found.recovery.cut?.copy as string).equals(left));
    await found.journal.append(factFrame(2));
    await found.journal.append(factFrame(3));
    await found.journal.close();
    const again = await opened(dir, 100);
    t.same(valuesOf(again.frames), [1, 2, 3]);
    await again.journal.close();
    await rm(dir, { recursive: true });
  }
});

t.test('a journal folder that is none, or takes no writes, is a StorageError', async (t) => {
  const dir = tempFolder(t, { file: 'x' });
  await t.rejects(openJournal({ dir: path.join(dir, 'file'), log: quiet }), StorageError);
  await t.rejects(openJournal({ dir: path.join(dir, 'file', 'journal'), log: quiet }), StorageError);
  const deep = await opened(path.join(dir, 'made', 'on', 'the', 'way'));
  await deep.journal.close();
  const moved = path.join(dir, 'moved');
  await rename(path.join(dir, 'made'), moved);
  await (await opened(path.join(moved, 'on', 'the', 'way'))).journal.close();
});

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] as number) ^ 4;
  return copy;
}

// biome-ignore lint/correctness/useYield: it throws before its first entry, as a state that cannot be written would
function* throwing(): Generator<never> {
  throw new Error('no entries');
}

const checkpointsIn = async (dir: string): Promise<string[]> =>
  (await readdir(dir)).filter((name) => name.endsWith('.ckpt')).sort();

import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';
import { CorruptJournalError, DataDirInUseError, lockDataDir, openJournal } from '../../src/daemon/journal/index.ts';
import type { Json } from '../../src/engine/json.ts';
import { tempFolder } from '../folder.ts';
import { all, boundariesOf, contentOf, factFrame, instanceFrame, opened, valuesOf } from './journal-fixture.ts';

const quiet = { info: () => undefined, warn: () => undefined };
const FIRST = '00000001.log';

/** A journal of frames 1 to `count`, each a batch of its own. Returns its folder and its one segment. */
async function source(t: Test, count: number): Promise<{ dir: string; file: string; bytes: Buffer; ends: number[] }> {
  const dir = path.join(tempFolder(t), 'source');
  const { journal } = await opened(dir);
  for (let n = 1; n <= count; n += 1) await journal.append(factFrame(n));
  await journal.close();
  const bytes = readFileSync(path.join(dir, FIRST));
  return { dir, file: path.join(dir, FIRST), bytes, ends: boundariesOf(bytes) };
}

/** Opens the journal with `bytes` as its segment: `survivors` are there, the tail is cut and kept, appending goes on. */
async function assertCut(t: Test, file: string, bytes: Buffer, survivors: Json[], cutAt: number): Promise<void> {
  const dir = path.dirname(file);
  await writeFile(file, bytes);
  const found = await opened(dir);
  t.same(valuesOf(found.frames), survivors);
  const { cut } = found.recovery;
  if (cutAt === bytes.length) {
    t.equal(cut, undefined);
  } else {
    t.match(cut, { bytes: bytes.length - cutAt, file });
    t.ok(cut !== undefined && readFileSync(cut.copy).equals(bytes.subarray(cutAt)), 'the copy holds what was cut');
    if (cut !== undefined) await rm(cut.copy);
  }
  await found.journal.append(factFrame('after'));
  await found.journal.close();
  const again = await opened(dir);
  t.same(valuesOf(again.frames), [...survivors, 'after']);
  t.equal(again.recovery.cut, undefined);
  await again.journal.close();
}

/** Opening the journal with `bytes` as its segment is refused, naming the file and `offset`; nothing is changed. */
async function assertRefused(t: Test, file: string, bytes: Buffer, offset: number, what: string): Promise<void> {
  const dir = path.dirname(file);
  await writeFile(file, bytes);
  const before = await contentOf(dir);
  await t.rejects(openJournal({ dir, log: quiet }), { name: 'CorruptJournalError', file, offset }, what);
  t.same(await contentOf(dir), before, `${what}: nothing changed`);
}

const without = (bytes: Buffer, from: number, to: number) =>
  Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);

t.test('a write torn at any byte is cut, and everything before it is kept', async (t) => {
  const { file, bytes, ends } = await source(t, 3);
  const start = ends[2] as number;
  for (let size = start; size < bytes.length; size += 1)
    await assertCut(t, file, bytes.subarray(0, size), [1, 2], start);
  await assertCut(t, file, bytes, [1, 2, 3], bytes.length);
});

t.test('what else a crash may leave behind the last record is cut', async (t) => {
  const { file, bytes, ends } = await source(t, 3);
  const older = bytes.subarray((ends[0] as number) + 7, ends[2]);
  const unfinished = bytes.subarray(ends[2], bytes.length - 1);
  const tails = {
    'one zero': Buffer.alloc(1),
    'a block of zeros': Buffer.alloc(4096),
    'zeros over several windows': Buffer.alloc(3 << 20),
    ones: Buffer.alloc(4096, 0xff),
    text: Buffer.from('not a record '.repeat(100)),
    'half of an older block': Buffer.concat([older, Buffer.alloc(100)]),
    'a torn record, then zeros': Buffer.concat([unfinished, Buffer.alloc(5000)]),
  };
  for (const [what, tail] of Object.entries(tails)) {
    t.comment(what);
    await assertCut(t, file, Buffer.concat([bytes, tail]), [1, 2, 3], bytes.length);
  }
});

t.test('a bit flipped in the header or in acknowledged records is refused', async (t) => {
  const { file, bytes, ends } = await source(t, 3);
  for (let at = 0; at < (ends[2] as number); at += 1) {
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] as number) ^ (1 << (at % 8));
    const start = at < 48 ? 0 : ends.findLast((end) => end <= at);
    await assertRefused(t, file, damaged, start as number, `bit ${at % 8} of byte ${at}`);
  }
});

t.test('records that were lost, doubled or swapped are refused', async (t) => {
  const { file, bytes, ends } = await source(t, 4);
  const [first, second, third, fourth, end] = ends as [number, number, number, number, number];
  const record = (from: number, to: number) => bytes.subarray(from, to);
  const doubled = Buffer.concat([bytes.subarray(0, third), record(second, third), bytes.subarray(third)]);
  const swapped = Buffer.concat([
    bytes.subarray(0, second),
    record(third, fourth),
    record(second, third),
    record(fourth, end),
  ]);
  await assertRefused(t, file, without(bytes, first, second), first, 'the first lost');
  await assertRefused(t, file, without(bytes, second, third), second, 'one lost');
  await assertRefused(t, file, doubled, third, 'one doubled');
  await assertRefused(t, file, Buffer.concat([bytes, record(fourth, end)]), end, 'the last doubled');
  await assertRefused(t, file, swapped, second, 'two swapped');
  await assertRefused(t, file, without(bytes, second + 30, second + 31), second, 'a byte lost');
  await assertRefused(
    t,
    file,
    Buffer.concat([bytes.subarray(0, second), Buffer.alloc(700), bytes.subarray(second)]),
    second,
    'zeros between',
  );
});

t.test('sectors that a crash left out of the last, unsynced batch make it torn; damage in it does not', async (t) => {
  const dir = path.join(tempFolder(t), 'source');
  const { journal } = await opened(dir);
  await journal.append(factFrame('synced'));
  await Promise.all(Array.from({ length: 20 }, (_, at) => journal.append(factFrame(`${at} ${'b'.repeat(300)}`))));
  t.equal(journal.stats.syncs, 2);
  await journal.close();
  const file = path.join(dir, FIRST);
  const bytes = readFileSync(file);
  const ends = boundariesOf(bytes);
  for (let sector = 1; sector * 512 < bytes.length - 512; sector += 1) {
    const holed = Buffer.from(bytes).fill(0, sector * 512, sector * 512 + 512);
    const torn = ends.findLastIndex((end) => end <= sector * 512);
    const survivors = ['synced', ...Array.from({ length: torn - 1 }, (_, at) => `${at} ${'b'.repeat(300)}`)];
    await assertCut(t, file, holed, survivors, ends[torn] as number);
  }
  const damaged = Buffer.from(bytes);
  damaged[(ends[5] as number) + 60] = 0x41;
  await assertRefused(t, file, damaged, ends[5] as number, 'a byte of an acknowledged batch');

  await writeFile(file, bytes);
  const more = await opened(dir);
  await more.journal.append(factFrame('later'));
  await more.journal.close();
  const holed = Buffer.from(readFileSync(file)).fill(0, 1024, 1536);
  const start = ends.findLast((end) => end <= 1024);
  await assertRefused(t, file, holed, start as number, 'a sector of a batch that another one followed');
});

t.test('damage in a sealed segment: refused when it is replayed, reported when it is read', async (t) => {
  const dir = path.join(tempFolder(t), 'source');
  const { journal } = await opened(dir, 600);
  for (let seq = 1; seq <= 20; seq += 1) await journal.append(instanceFrame({ id: 'a', seq, events: [{ seq }] }));
  await journal.close();
  const file = path.join(dir, FIRST);
  const bytes = readFileSync(file);
  const ends = boundariesOf(bytes);
  const damaged = Buffer.from(bytes);
  damaged[(ends[1] as number) + 50] = 0;
  await assertRefused(t, file, damaged, ends[1] as number, 'a byte');
  await assertRefused(t, file, bytes.subarray(0, bytes.length - 1), ends.at(-2) as number, 'a torn end');
  await assertRefused(t, file, bytes.subarray(0, ends.at(-2)), ends.at(-2) as number, 'a lost end');
  await assertRefused(t, file, Buffer.concat([bytes, Buffer.alloc(10)]), bytes.length, 'zeros behind');

  await writeFile(file, bytes);
  const whole = await opened(dir, 600);
  await whole.journal.checkpoint(20, []);
  await whole.journal.close();
  await writeFile(file, damaged);
  const found = await opened(dir, 600);
  await t.rejects(all(found.journal.history('a')), { name: 'CorruptJournalError', file, offset: ends[1] });
  await rm(path.join(dir, '00000001.idx'));
  const again = await opened(dir, 600);
  await t.rejects(all(again.journal.history('a')), CorruptJournalError, 'without an index too');
  await Promise.all([found.journal.close(), again.journal.close()]);
});

/** A process whose files are all used by one thread, for strace counts the calls of each thread apart. */
interface Child {
  readonly process: ChildProcessWithoutNullStreams;
  readonly lines: string[];
  /** Resolves with the `nth` line, past or to come, that begins with `start`; undefined when the process ends before. */
  saying(start: string, nth?: number): Promise<string | undefined>;
  readonly ended: Promise<number | null>;
}

function started(command: string, args: string[]): Child {
  const child = spawn(command, args, { env: { ...process.env, UV_THREADPOOL_SIZE: '1' } });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => lines.push(line));
  child.stderr.on('data', (chunk) => lines.push(`stderr ${chunk}`));
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const saying = (start: string, nth = 1) =>
    new Promise<string | undefined>((resolve) => {
      const look = () => {
        const line = lines.filter((said) => said.startsWith(start))[nth - 1];
        if (line !== undefined) resolve(line);
      };
      look();
      reader.on('line', look);
      void ended.then(() => resolve(undefined));
    });
  return { process: child, lines, saying, ended };
}

const CHILD = ['--import=tsx', path.resolve('test/daemon/journal-child.ts')];

/** Every frame that the child said was acknowledged is there, and the events have neither gap nor double. */
async function assertAcked(t: Test, dir: string, lines: readonly string[]): Promise<void> {
  const acked = Math.max(0, ...lines.filter((line) => line.startsWith('acked')).map((line) => Number(line.slice(6))));
  const { journal, entries, frames } = await opened(dir);
  const [before, last] = [Number(entries[0]?.['acked'] ?? 0), journal.stats.frames];
  t.ok(last >= acked, `${acked} acknowledged, ${last} found`);
  t.same(
    frames.map((frame) => frame.number),
    Array.from({ length: last - before }, (_, at) => before + at + 1),
  );
  const events = (await all(journal.history('a'))).flatMap((part) => part.events.map((event) => event['seq']));
  t.same(
    events,
    Array.from({ length: last }, (_, at) => at + 1),
  );
  await journal.close();
}

t.test('everything that was acknowledged is there after kill -9, whenever it comes', async (t) => {
  const dir = path.join(tempFolder(t), 'journal');
  for (let round = 1; round <= 8; round += 1) {
    const child = started(process.execPath, [...CHILD, dir, '20000', '1']);
    await child.saying('acked', (round * 37) % 100);
    child.process.kill('SIGKILL');
    await child.ended;
    await assertAcked(t, dir, child.lines);
  }
});

const strace = spawnSync('strace', ['-qq', '-e', 'inject=fsync:error=EIO:when=9999', 'true']).status === 0;
const skip = strace ? false : 'strace is absent or may not trace here';

/** The child with its calls on the journal's folder and first segments tampered with: strace's `inject`. */
function tampered(dir: string, calls: string, fault: string, segmentBytes: number, failures: number): Child {
  const numbers = [1, 2, 3, 4].map((number) => path.join(dir, `0000000${number}.log`));
  const paths = [dir, ...numbers, ...numbers.map((file) => `${file}.tmp`), path.join(dir, 'probe.tmp')].flatMap(
    (file) => ['-P', file],
  );
  const tamper = ['-e', `trace=${calls}`, '-e', `inject=${calls}:${fault}`];
  const child = [process.execPath, ...CHILD, dir, String(segmentBytes), String(failures)];
  return started('strace', ['-f', '-qq', '-o', '/dev/null', ...paths, ...tamper, ...child]);
}

t.test('a disk that fails: nothing acknowledged is lost, and the journal opens again', { skip }, async (t) => {
  const faults: readonly [what: string, calls: string, fault: string][] = [
    ['no space for one write', 'pwrite64', 'error=ENOSPC:when=25'],
    ['one failed sync', 'fdatasync', 'error=EIO:when=25'],
    ['failed syncs while opening again', 'fdatasync,fsync', 'error=EIO:when=12..15'],
    ['no new segment', 'rename', 'error=ENOSPC:when=2'],
    ['no writes for a while', 'pwrite64', 'error=EROFS:when=20..25'],
  ];
  for (const [what, calls, fault] of faults) {
    const dir = path.join(tempFolder(t), 'journal');
    await (await opened(dir)).journal.close();
    const child = tampered(dir, calls, fault, 20000, 1);
    const status = await child.ended;
    t.equal(status, 0, `${what}: ${child.lines.filter((line) => !line.startsWith('acked')).join(' | ')}`);
    const failed = child.lines.findIndex((line) => line.startsWith('failed'));
    const acked = child.lines.slice(0, failed).filter((line) => line.startsWith('acked')).length;
    t.ok(child.lines.includes(`readable ${acked}`), 'history goes on, and shows what was acknowledged and no more');
    t.ok(child.lines.includes(`reopened ${acked} ${acked}`), 'what was rejected is gone');
    if (what === 'no writes for a while') {
      t.ok(
        child.lines.some((line) => line.startsWith(`still failing ${dir} cannot be written (EROFS`)),
        'and that is said',
      );
    }
    await assertAcked(t, dir, child.lines);
  }
});

t.test('the last batch, which may be in memory only, is written again before it is built on', { skip }, async (t) => {
  const { dir, bytes, ends } = await source(t, 3);
  const child = tampered(dir, 'pwrite64', 'error=EIO:when=1', 20_000, 0);
  t.not(await child.ended, 0);
  t.match(child.lines.join(), /StorageError: .*00000001\.log cannot be written \(EIO/);
  t.ok(readFileSync(path.join(dir, FIRST)).equals(bytes));
  const found = await opened(dir);
  t.equal(found.frames.length, ends.length - 1);
  await found.journal.close();
});

t.test('kill -9 at one call after the other that makes something durable', { skip }, async (t) => {
  for (const calls of ['fdatasync', 'fsync', 'rename', 'pwrite64']) {
    for (const nth of calls === 'rename' ? [1, 2, 3] : [1, 2, 4, 7, 11]) {
      const dir = path.join(tempFolder(t), 'journal');
      const child = tampered(dir, calls, `signal=KILL:when=${nth}`, 12_000, 0);
      await child.ended;
      t.notOk(child.lines.includes('closed'), `killed at ${calls} ${nth}`);
      await assertAcked(t, dir, child.lines);
    }
  }
});

const prlimit = spawnSync('prlimit', ['--version']).status === 0 ? false : 'prlimit is absent';

t.test('a file that may not grow: refused until it may, without a restart', { skip: prlimit }, async (t) => {
  const dir = path.join(tempFolder(t), 'journal');
  // A test runner's preload may end a process at SIGXFSZ, which node ignores by itself.
  const child = started('env', ['-u', 'NODE_OPTIONS', process.execPath, ...CHILD, dir, '9000000', '1']);
  const limit = (bytes: string) => spawnSync('prlimit', ['--pid', String(child.process.pid), `--fsize=${bytes}:`]);
  await child.saying('acked');
  limit('1000001');
  t.match(await child.saying('failed'), /00000001\.log cannot be written \(EFBIG.*raise the limit/);
  limit('unlimited');
  t.equal(await child.ended, 0, `${child.lines.at(-1)}`);
  await assertAcked(t, dir, child.lines);
});

const LOCKER = `
  import { lockDataDir } from ${JSON.stringify(path.resolve('src/daemon/journal/index.ts'))};
  process.stdin.once('data', () => lockDataDir(process.argv[1]).then(
    () => console.log('locked'),
    (error) => { console.log(error.name + ' ' + error.pid); process.exit(); },
  ));
  console.log('ready');
`;
const locker = (dir: string) => started(process.execPath, ['--import=tsx', '--input-type=module', '-e', LOCKER, dir]);

t.test('one process has a data folder; kill -9 of it frees the folder at once', async (t) => {
  const dir = path.join(tempFolder(t), 'data');
  const mine = await lockDataDir(dir);
  await t.rejects(lockDataDir(dir), new DataDirInUseError(dir, process.pid), 'the same process again');
  const other = locker(dir);
  await other.saying('ready');
  other.process.stdin.write('go');
  t.equal(await other.saying('DataDirInUseError'), `DataDirInUseError ${process.pid}`);
  await other.ended;
  await cp(dir, `${dir}-copy`, { recursive: true });
  await (await lockDataDir(`${dir}-copy`)).release();
  await mine.release();

  const holder = locker(dir);
  await holder.saying('ready');
  holder.process.stdin.write('go');
  await holder.saying('locked');
  await t.rejects(lockDataDir(dir), { name: 'DataDirInUseError', pid: holder.process.pid as number });
  holder.process.kill('SIGKILL');
  await holder.ended;
  const next = await lockDataDir(dir);
  await next.release();
  t.same(await readdir(path.join(dir, 'lock')), []);
});

t.test('of several that start at the same time over a dead one’s lock, exactly one has the folder', async (t) => {
  const dir = path.join(tempFolder(t), 'data');
  const dead = locker(dir);
  await dead.saying('ready');
  dead.process.stdin.write('go');
  await dead.saying('locked');
  dead.process.kill('SIGKILL');
  await dead.ended;
  const racers = Array.from({ length: 4 }, () => locker(dir));
  await Promise.all(racers.map((racer) => racer.saying('ready')));
  for (const racer of racers) racer.process.stdin.write('go');
  const said = await Promise.all(
    racers.map((racer) => Promise.race([racer.saying('locked'), racer.saying('DataDir')])),
  );
  t.equal(said.filter((line) => line === 'locked').length, 1, `${said}`);
  for (const racer of racers) racer.process.kill('SIGKILL');
  await Promise.all(racers.map((racer) => racer.ended));
});

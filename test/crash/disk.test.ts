import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { begin, finish, opened } from './asking.ts';
import { codeOf, type Daemon, insist } from './daemon.ts';
import { ASK, flowFile } from './flows.ts';
import { exported, idsOf, instanceOf, logOf } from './oracle.ts';

t.setTimeout(120_000);

/** Enough for a few starts, and less than what the daemon writes to see whether the disk takes writes again. */
const ROOM_BYTES = 4000;
const SEGMENT = '00000001.log';

const segmentOf = ({ home }: Daemon): string => join(home, 'journal', SEGMENT);

/** A program that runs with these arguments; where it does not, the tests that need it say so. */
const runs = (name: string, ...args: readonly string[]): boolean =>
  spawnSync(name, args, { stdio: 'ignore' }).status === 0;

const withoutPrlimit = runs('prlimit', '--fsize=100000:', 'true') ? false : 'needs prlimit';
const withoutStrace = runs('strace', '-f', '-qq', '-o', '/dev/null', 'true')
  ? false
  : 'needs strace, and leave to trace';

/** Exactly what was acknowledged is there, now and after a crash, and works. */
async function onlyAcknowledged(t: Test, daemon: Daemon, ids: readonly string[]): Promise<void> {
  t.same(
    (await idsOf(daemon.client)).sort(),
    [...ids].sort(),
    'what was acknowledged is there, what was refused is not',
  );
  const before = await exported(daemon.client);
  await daemon.kill();
  await daemon.start();
  t.ok((await exported(daemon.client)) === before, 'and a crash changes nothing');
  t.equal(await finish(daemon, ids[0] as string, 'old'), 'old', 'what waited before the fault goes on');
  t.equal(await finish(daemon, ids.at(-1) as string, 'new'), 'new', 'and what began after it');
}

t.test(
  'a full disk refuses what changes anything, and nothing else; with space it goes on by itself',
  {
    skip: withoutPrlimit,
  },
  async (t) => {
    const { daemon, sink } = await opened(t);
    const { client } = daemon;
    const ids = [await begin(daemon, sink, 'first')];
    const watched = await begin(daemon, sink, 'watched');
    ids.push(watched);
    const reading = logOf(client, watched);
    limitFiles(daemon, `${statSync(segmentOf(daemon)).size + ROOM_BYTES}:`);

    let code: string | undefined;
    for (let at = 0; code === undefined && at < 100; at += 1)
      code = await codeOf(begin(daemon, sink, `filling ${at}`).then((id) => ids.push(id)));
    t.equal(code, 'STORAGE_UNAVAILABLE');
    t.ok(ids.length > 2, 'there was some room');
    t.equal(await codeOf(begin(daemon, sink, 'more')), 'STORAGE_UNAVAILABLE', 'a start');
    const task = { processInstanceId: watched, nodeId: 'ask', action: 'COMPLETE', data: { inputValue: 'x' } } as const;
    t.equal(await codeOf(client.call('submitTask', { body: task })), 'STORAGE_UNAVAILABLE', 'a task');
    t.equal(
      await codeOf(client.call('publishFlow', { body: flowFile(ASK, 2) })),
      'STORAGE_UNAVAILABLE',
      'a new version',
    );
    t.equal((await fetch(`${daemon.target.url}/health/ready`)).status, 503, 'it says that it is not ready');
    t.equal((await fetch(`${daemon.target.url}/health/live`)).status, 200, 'it lives');
    for (const id of ids) if ((await instanceOf(client, id)).stateCd !== 0) t.fail(`${id} does not wait any more`);
    t.equal((await readSome(daemon, watched)).length > 0, true, 'logs can be read');

    limitFiles(daemon, 'unlimited:');
    ids.push(await insist(daemon, () => begin(daemon, sink, 'after')));
    t.equal(daemon.lives, 1, 'nobody started it again');
    t.equal(await finish(daemon, watched, 'watched'), 'watched');
    const items = await reading;
    t.equal(items.at(-1)?.kind, 'end', 'a reader from before sees the end');
    t.same(items, await logOf(client, watched), 'and has missed nothing');
    t.same(leftovers(daemon), [], 'nothing half made is left');
    await onlyAcknowledged(t, daemon, ids);
  },
);

const FAULTS = [
  ['no space for one write', 'pwrite64', 'ENOSPC'],
  ['no quota for one write', 'pwrite64', 'EDQUOT'],
  ['a write that fails in the device', 'pwrite64', 'EIO'],
  ['a sync that fails', 'fdatasync', 'EIO'],
] as const;
/** The first is the start's own, which makes the last batch durable again. */
const FAILING = 4;

for (const [name, call, error] of process.env['WFX_CRASH_FAULTS'] === 'all' ? FAULTS : [FAULTS[0], FAULTS[3]])
  t.test(`${name} (${error}): its requests are refused and did not happen`, { skip: withoutStrace }, async (t) => {
    const { daemon, sink } = await opened(t);
    await daemon.kill();
    const fault = ['-e', `trace=${call}`, '-e', `inject=${call}:error=${error}:when=${FAILING}`];
    await daemon.start({ under: ['strace', '-f', '-qq', '-o', '/dev/null', '-P', segmentOf(daemon), ...fault] });
    const ids: string[] = [];
    const codes: (string | undefined)[] = [];
    for (let at = 0; at < 2 * FAILING && !codes.includes('STORAGE_UNAVAILABLE'); at += 1)
      codes.push(await codeOf(begin(daemon, sink, String(at)).then((id) => ids.push(id))));
    t.equal(codes.at(-1), 'STORAGE_UNAVAILABLE');
    t.ok(ids.length > 0, 'the ones before were taken');
    ids.push(await insist(daemon, () => begin(daemon, sink, 'after')));
    await onlyAcknowledged(t, daemon, ids);
  });

/** Sets how large a file the daemon may write (`soft:hard` in bytes), which is as a full disk to it. */
function limitFiles({ pid }: Daemon, limit: string): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), `--fsize=${limit}`], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`prlimit: ${stderr}`);
}

/** The log of a run that goes on, as far as it is told at once. */
async function readSome({ client }: Daemon, id: string): Promise<string[]> {
  for await (const item of client.log(id)) return [item.kind];
  return [];
}

const leftovers = ({ home }: Daemon): string[] => {
  return readdirSync(home, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.tmp'));
};

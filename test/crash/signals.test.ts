import { execFile } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import t from 'tap';
import { begin, finish, opened } from './asking.ts';
import { codeOf, Daemon } from './daemon.ts';
import { exported, idsOf, instanceOf, logOf } from './oracle.ts';
import { randomFrom, seedOf } from './random.ts';
import { openSink, type Sink } from './sink.ts';

t.setTimeout(120_000);

const SEED = seedOf('WFX_CRASH_SEED');
/** Kills of a daemon that recovers; WFX_CRASH_RECOVERIES=50 tries harder. */
const RECOVERIES = Number(process.env['WFX_CRASH_RECOVERIES'] ?? 4);
const REQUESTS = 100;
const TIMERS = 10;
const TIMED = '5d8f3a52-1f0e-4b7e-9a0e-3b1d9f6c2a05';
const COMMANDS = '5d8f3a52-1f0e-4b7e-9a0e-3b1d9f6c2a06';

const TIMED_FLOW = `
id: ${TIMED}
name: Timed
nodes:
  start: { type: startEvent, next: pause }
  pause: { type: intermediateCatchEvent, timer: PT0.3S, next: call }
  call: { type: serviceTask, service: http, request: { method: POST, url: "{sink}" }, next: end }
  end: { type: endEvent }
`;

const overdue: Readonly<Record<string, (daemon: Daemon) => Promise<void>>> = {
  'a daemon that was stopped and continued': async (daemon) => {
    daemon.signal('SIGSTOP');
    await delay(700);
    daemon.signal('SIGCONT');
  },
  'a daemon that was killed': async (daemon) => {
    await daemon.kill();
    await delay(700);
    await daemon.start();
  },
};

for (const [name, away] of Object.entries(overdue))
  t.test(`${name} lets timers that are overdue fire, each once`, async (t) => {
    const daemon = new Daemon(t);
    const sink = await openSink(t);
    await daemon.start();
    await daemon.client.call('publishFlow', { body: TIMED_FLOW });
    const body = { processId: TIMED, data: { sink: sink.url } };
    const starts = Array.from({ length: TIMERS }, () => daemon.client.call('execProcess', { body }));
    const ids = (await Promise.all(starts)).map(({ processInstanceId }) => processInstanceId);
    await away(daemon);
    for (const id of ids) {
      await logOf(daemon.client, id);
      const { stateCd, nodes } = await instanceOf(daemon.client, id);
      t.same([stateCd, nodes.filter(({ nodeId }) => nodeId === 'call').length, callsOf(sink, id)], [1, 1, 1], id);
    }
  });

/** How many calls of a run reached the outside; the ones that a kill interrupted are repeated under the same key. */
const callsOf = (sink: Sink, id: string): number => [...sink.calls.keys()].filter((key) => key.startsWith(id)).length;

for (const signals of [1, 2])
  t.test(`${signals} SIGTERM amid ${REQUESTS} requests: each is done or was refused`, async (t) => {
    const { daemon, sink } = await opened(t);
    const acknowledged: string[] = [];
    const asked = Array.from({ length: REQUESTS }, (_, at) =>
      codeOf(begin(daemon, sink, String(at)).then((id) => acknowledged.push(id))),
    );
    await Promise.race(asked);
    for (let sent = 0; sent < signals; sent += 1) daemon.signal('SIGTERM');
    const code = await daemon.over();
    const codes = new Set(await Promise.all(asked));
    if (signals === 1) t.equal(code, 0, 'it ends in good order');
    for (const code of codes) t.match(code ?? 'done', /^(done|unreachable|SHUTTING_DOWN)$/);
    await daemon.start();
    const ids = await idsOf(daemon.client);
    t.same(
      acknowledged.filter((id) => !ids.includes(id)),
      [],
      'what was acknowledged is there',
    );
    const numbers = await Promise.all(ids.map(async (id) => (await instanceOf(daemon.client, id)).correlationKey));
    t.equal(new Set(numbers).size, numbers.length, 'nothing is there twice');
    t.equal(await finish(daemon, acknowledged[0] as string, 'on'), 'on', 'and it goes on');
  });

t.test(`kill -9 ${RECOVERIES} times while it recovers (WFX_CRASH_SEED=${SEED})`, async (t) => {
  const { daemon, sink } = await opened(t);
  for (let at = 0; at < 50; at += 1) await begin(daemon, sink, String(at));
  const before = await exported(daemon.client);
  await daemon.kill();
  const size = journalBytes(daemon);
  const random = randomFrom(SEED);
  for (let time = 0; time < RECOVERIES; time += 1) {
    daemon.begin();
    await delay(100 + random() * 900);
    await daemon.kill();
  }
  t.equal(journalBytes(daemon), size, 'the journal does not grow');
  await daemon.start();
  t.ok((await exported(daemon.client)) === before, 'nothing changed');
});

const journalBytes = ({ home }: Daemon): number => {
  const names = readdirSync(join(home, 'journal')).filter((name) => name.endsWith('.log'));
  return names.reduce((sum, name) => sum + statSync(join(home, 'journal', name)).size, 0);
};

t.test(
  'a copy of the folder, as it is at any moment, is a daemon of its own with all that was acknowledged',
  async (t) => {
    const { daemon, sink } = await opened(t);
    const ids: string[] = [];
    for (let at = 0; at < 20; at += 1) ids.push(await begin(daemon, sink, `before ${at}`));
    let copied = false;
    const working = (async () => {
      for (let at = 0; !copied; at += 1) ids.push(await begin(daemon, sink, `meanwhile ${at}`));
    })();
    await delay(100);
    const copy = `${daemon.home}-copy`;
    const acknowledged = await whileStopped(daemon, async () => {
      await promisify(execFile)('cp', ['-R', daemon.home, copy]);
      return [...ids];
    });
    copied = true;
    await working;
    const restored = new Daemon(t, copy);
    await restored.start();
    const there = await idsOf(restored.client);
    t.same(
      acknowledged.filter((id) => !there.includes(id)),
      [],
    );
    t.equal(await finish(restored, ids[0] as string, 'copy'), 'copy');
    t.equal(await finish(daemon, ids[0] as string, 'first'), 'first', 'both go on, each for itself');
  },
);

/** What a snapshot of the file system sees: nothing moves while `act` is at work. */
async function whileStopped<T>(daemon: Daemon, act: () => Promise<T>): Promise<T> {
  daemon.signal('SIGSTOP');
  try {
    return await act();
  } finally {
    daemon.signal('SIGCONT');
  }
}

t.test('commands that are killed, hang or write without end fail alone', async (t) => {
  const daemon = new Daemon(t);
  await daemon.start({ flags: ['--allow-commands'] });
  await daemon.client.call('publishFlow', { body: COMMANDS_FLOW });
  const ending = async (script: string, limit: string) => {
    const body = { processId: COMMANDS, data: { script, limit } };
    const { processInstanceId } = await daemon.client.call('execProcess', { body });
    await logOf(daemon.client, processInstanceId);
    return instanceOf(daemon.client, processInstanceId);
  };
  const [killed, hanging, loud] = await Promise.all([
    ending('kill -9 $$', 'PT1M'),
    ending('sleep 1000', 'PT3S'),
    ending('head -c 200000000 /dev/zero | tr "\\0" x', 'PT1M'),
  ]);
  t.same([killed.stateCd, killed.error?.code], [2, 'COMMAND_FAILED']);
  t.same([hanging.stateCd, hanging.error?.code], [2, 'TIMEOUT']);
  t.equal(loud.stateCd, 1);
  const { stdout } = loud.data['out'] as { stdout: string };
  t.equal(stdout.length, 1024 * 1024, 'the first MiB is kept');
  t.equal(daemon.lives, 1);
});

const COMMANDS_FLOW = `
id: ${COMMANDS}
name: Commands
nodes:
  start: { type: startEvent, next: run }
  run:
    type: serviceTask
    service: command
    command: [sh, -c, "{script}"]
    timeout: "{limit}"
    result: out
    next: end
  end: { type: endEvent }
`;

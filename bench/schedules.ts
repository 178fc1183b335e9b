import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const FLOWS = 100;
const PER_FLOW = 100;
const SECONDS = 20;

/** CPU time of a daemon that has nothing to do, with no schedules and with 10,000 of them, and how long it takes to start. */
export async function benchSchedules(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'wfx-bench-'));
  const rows = [];
  rows.push(await idle(home, 0, false));
  await idle(home, 0, true);
  rows.push(await idle(home, FLOWS * PER_FLOW, false));
  console.table(rows);
  rmSync(home, { recursive: true, force: true });
}

async function idle(home: string, schedules: number, publishing: boolean) {
  const began = performance.now();
  const child = fork(resolve(import.meta.dirname, '../dist/daemon.js'), ['--port', '0'], {
    env: { ...process.env, WFX_HOME: home, WFX_KEYCHAIN: 'off' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  const ready = performance.now() - began;
  const { admin } = JSON.parse(readFileSync(join(home, 'credentials.json'), 'utf8')) as { admin: string };
  if (publishing) for (let n = 0; n < FLOWS; n += 1) await publish(url, admin, n);
  const cpu = publishing ? 0 : await cpuSeconds(url, admin);
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
  const share = `${((cpu / SECONDS) * 100).toFixed(2)} %`;
  return { schedules, 'ready after': `${ready.toFixed(0)} ms`, 'CPU while idle': share };
}

/** Schedules of one month in every timezone of a list: none is due while this runs. */
async function publish(url: string, key: string, n: number): Promise<void> {
  const month = ((new Date().getUTCMonth() + 6) % 12) + 1;
  const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata'];
  const triggers = Array.from(
    { length: PER_FLOW },
    (_, m) =>
      `{ type: schedule, cron: "${m % 60} ${n % 24} ${1 + (m % 28)} ${month} *", timezone: ${zones[m % zones.length]} }`,
  );
  const id = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
  const body = `id: ${id}\nname: Flow ${n}\ntriggers: [${triggers}]\nnodes: { start: { type: startEvent } }\n`;
  const headers = { 'x-api-key': key, 'content-type': 'application/yaml' };
  const answer = await fetch(`${url}/process/publish`, { method: 'POST', headers, body });
  if (!answer.ok) throw new Error(await answer.text());
}

async function cpuSeconds(url: string, key: string): Promise<number> {
  const read = async () => {
    const answer = await fetch(`${url}/metrics`, { headers: { 'x-api-key': key } });
    return Number(/^process_cpu_seconds_total (\S+)$/m.exec(await answer.text())?.[1]);
  };
  // What the start left behind is done by then.
  await delay(3000);
  const before = await read();
  await delay(SECONDS * 1000);
  return (await read()) - before;
}

if (import.meta.url === `file://${process.argv[1]}`) await benchSchedules();

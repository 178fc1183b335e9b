import { execFileSync } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WriteStream } from 'node:tty';
import { spawn } from '@lydell/node-pty';
import { render } from 'ink';
import { createElement } from 'react';
import type { Client } from '../src/client/index.ts';
import type { InstanceSummary } from '../src/contract/types.ts';
import { App } from '../src/tui/app.ts';
import { Frames } from '../src/tui/frames.ts';
import { Prepared, PreparedLines } from '../src/tui/prepared.ts';
import { Settings } from '../src/tui/settings.ts';
import { Shell } from '../src/tui/shell.tsx';

/**
 * The terminal app: the time from its start to its first screen beside bare node (goal: at most 400 ms more), and the time
 * of a frame and the memory with 100 runs and with 100,000 (goal: the same frame time). Run after a build.
 */
const home = mkdtempSync(join(tmpdir(), 'wfx-tui-'));
const env = { ...process.env, WFX_HOME: home, WFX_KEYCHAIN: 'off', TERM: 'xterm-256color', CI: '' };
const median = (values: readonly number[], at = 0.5): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * at)] ?? Number.NaN;

function firstScreen(args: readonly string[], until: RegExp): Promise<number> {
  const start = performance.now();
  const child = spawn(process.execPath, [...args], { cols: 80, rows: 24, env });
  return new Promise((resolve, reject) => {
    let text = '';
    const done = (): void => {
      resolve(performance.now() - start);
      child.kill('SIGKILL');
    };
    child.onData((part) => {
      text += part;
      if (until.test(text)) done();
    });
    child.onExit(() => (until.source === '(?:)' ? done() : reject(new Error(text))));
  });
}

async function startUp(): Promise<void> {
  execFileSync(process.execPath, ['bin/wfx.js', 'daemon', 'start', '--port', '0'], { env, stdio: 'ignore' });
  const [bare, tui]: [number[], number[]] = [[], []];
  for (let run = -1; run < 11; run += 1) {
    const one = await firstScreen(['-e', 'console.log(0)'], /0/);
    const other = await firstScreen(['bin/wfx.js', 'tui'], /STATE/);
    if (run >= 0) {
      bare.push(one);
      tui.push(other);
    }
  }
  const more = median(tui) - median(bare);
  console.table({
    'node -e': { 'median ms': Math.round(median(bare)) },
    'wfx tui, first screen': { 'median ms': Math.round(median(tui)), 'more than node': Math.round(more), goal: 400 },
  });
}

/** A client that answers with `count` runs, and has no events. */
function clientOf(count: number): Client {
  const runs = Array.from({ length: count }, (_, i) => runOf(count - i));
  const call = async (_: string, { query }: { query: { limit: number; cursor?: string } }) => {
    const from = query.cursor === undefined ? 0 : Number(query.cursor);
    const next = from + query.limit;
    // As the wire would give it: texts of its own for each row.
    const items = JSON.parse(JSON.stringify(runs.slice(from, next)));
    return { items, nextCursor: next < count ? String(next) : null };
  };
  const events = async function* () {
    await new Promise(() => undefined);
  };
  return { call, events } as unknown as Client;
}

const runOf = (n: number): InstanceSummary => ({
  processInstanceId: `01a1fd00-0000-7000-8000-${n.toString(16).padStart(12, '0')}`,
  processId: `0d2c7a52-4f5e-4c0e-9a57-${String(n % 20).padStart(12, '0')}`,
  processName: `Flow ${n % 20}`,
  processVersion: '1',
  stateCd: (n % 4) as 0 | 1 | 2 | 3,
  startTime: new Date(1_790_000_000_000 + n * 1000).toISOString(),
  environment: 'PRODUCTION',
  organizationId: 'default',
  correlationKey: `order-${n}`,
  trigger: { type: 'api' },
  ...(n % 4 === 2 && { error: { code: 'HTTP_500', message: 'the server answered 500', nodeId: 'ship' } }),
});

async function frames(count: number, columns: number, rows: number): Promise<Record<string, number>> {
  let bytes = 0;
  const terminal = Object.assign(new EventEmitter(), {
    columns,
    rows,
    isTTY: true,
    write: (text: string) => {
      bytes += text.length;
      return true;
    },
  }) as unknown as WriteStream;
  const client = clientOf(count);
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const app = new App({
    client,
    settings: new Settings(home, {}),
    readOnly: false,
    place: '',
    exit: () => undefined,
  });
  app.start('runs');
  const prepared = new Prepared();
  const stdout = new Frames(terminal, prepared) as unknown as NodeJS.WriteStream;
  const ink = render(createElement(PreparedLines, { value: prepared }, createElement(Shell, { app })), {
    stdout,
    debug: true,
    patchConsole: false,
    exitOnCtrlC: false,
  });
  app.key({ name: 'G', text: 'G' });
  while (!app.screen.note?.startsWith(`${count}`) || app.screen.note.includes('…'))
    await new Promise((wake) => setTimeout(wake, 20));
  const times: number[] = [];
  bytes = 0;
  const keys = ['k', 'pageup', 'j', 'pagedown', 'g', 'G'];
  for (let i = 0; i < 600; i += 1) {
    const name = keys[i % keys.length] as string;
    const start = performance.now();
    app.key({ name, text: '' });
    // React draws in a microtask.
    await new Promise((drawn) => setImmediate(drawn));
    times.push(performance.now() - start);
  }
  globalThis.gc?.();
  const heap = process.memoryUsage().heapUsed - before;
  app.stop();
  ink.unmount();
  const two = (value: number): number => Number(value.toFixed(2));
  return {
    'median ms': two(median(times)),
    'p99 ms': two(median(times, 0.99)),
    'bytes a frame': Math.round(bytes / times.length),
    'heap MB': two(heap / 1024 / 1024),
  };
}

try {
  await startUp();
  const rows: Record<string, Record<string, number>> = {};
  await frames(100, 80, 24);
  for (const [columns, lines] of [
    [80, 24],
    [250, 80],
  ] as const)
    for (const count of [100, 100_000])
      rows[`${count.toLocaleString('en')} runs, ${columns}x${lines}`] = await frames(count, columns, lines);
  console.table(rows);
} finally {
  execFileSync(process.execPath, ['bin/wfx.js', 'daemon', 'stop'], { env, stdio: 'ignore' });
  rmSync(home, { recursive: true, force: true });
}
process.exit();

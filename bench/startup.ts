import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * How long commands take to start, beside node itself. Goals: `--version` within 1.6 times bare node, a command that talks
 * to the daemon within 2.5 times. Run after a build: node --import=tsx bench/startup.ts [runs]
 */
const runs = Number(process.argv[2] ?? 30);
const home = mkdtempSync(join(tmpdir(), 'wfx-startup-'));
const env = { ...process.env, WFX_HOME: home, WFX_KEYCHAIN: 'off' };
const wfx = (...args: string[]): string[] => ['bin/wfx.js', ...args];

function once(args: readonly string[]): number {
  const start = process.hrtime.bigint();
  const { status, stderr } = spawnSync(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const ms = Number(process.hrtime.bigint() - start) / 1e6;
  if (status !== 0) throw new Error(`${args.join(' ')} exits with ${status}: ${stderr}`);
  return ms;
}

/** Interleaved, so that a busy moment of the machine hits all alike; medians, so that it counts for little. */
function measured(commands: readonly (readonly string[])[]): number[] {
  const times = commands.map(() => [] as number[]);
  for (let run = -2; run < runs; run += 1)
    for (const [at, args] of commands.entries()) {
      const ms = once(args);
      if (run >= 0) times[at]?.push(ms);
    }
  return times.map((list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? Number.NaN);
}

try {
  execFileSync(process.execPath, wfx('daemon', 'start', '--port', '0'), { env, stdio: 'ignore' });
  const rows: readonly (readonly [name: string, args: readonly string[], goal: number])[] = [
    ['node -e 0', ['-e', '0'], 1],
    ['wfx --version', wfx('--version'), 1.6],
    ['wfx --help', wfx('--help'), 2.5],
    ['wfx flow list', wfx('flow', 'list'), 2.5],
    ['wfx instance list', wfx('instance', 'list'), 2.5],
  ];
  const medians = measured(rows.map(([, args]) => args));
  const bare = medians[0] ?? Number.NaN;
  console.table(
    Object.fromEntries(
      rows.map(([name, , goal], at) => {
        const median = medians[at] ?? Number.NaN;
        return [
          name,
          { 'median ms': Number(median.toFixed(1)), 'times node': Number((median / bare).toFixed(2)), goal },
        ];
      }),
    ),
  );
} finally {
  execFileSync(process.execPath, wfx('daemon', 'stop'), { env, stdio: 'ignore' });
  rmSync(home, { recursive: true, force: true });
}

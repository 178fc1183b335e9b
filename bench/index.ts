import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Each benchmark in a process of its own, one after the other: what one leaves behind does not slow the next. */
const BENCHMARKS = [
  'engine',
  'runtime',
  'waiting',
  'journal',
  'http',
  'limits',
  'startup',
  'script',
  'webhooks',
  'schedules',
  'tui',
];

const wanted = process.argv.slice(2);
for (const name of wanted.length > 0 ? wanted : BENCHMARKS) {
  process.stdout.write(`\n${name}\n`);
  const { status } = spawnSync(
    process.execPath,
    ['--expose-gc', '--import=tsx', join(import.meta.dirname, `${name}.ts`)],
    {
      stdio: 'inherit',
    },
  );
  if (status !== 0) process.exitCode = 1;
}

// Runs the tests with tap and closes with one plain line, `N passed, N failed`, whatever happened.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const tap = spawn(process.execPath, ['node_modules/.bin/tap', 'run', '--reporter=tap', ...process.argv.slice(2)], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
let passed = 0;
let failed = 0;
let skipped = 0;
for await (const line of createInterface({ input: tap.stdout })) {
  const at = /^ *(not )?ok \d+ (.*)$/.exec(line);
  const top = line.startsWith('ok ') || line.startsWith('not ok ');
  if (at === null) {
    if (failed > 0 || /^ *(#|---|\.\.\.)/.test(line) === false) process.stdout.write(`${line}\n`);
    continue;
  }
  const leaf = !/\{$/.test(line) && !top;
  if (leaf && /# SKIP/i.test(line)) skipped += 1;
  else if (leaf && at[1] === undefined) passed += 1;
  else if (at[1] !== undefined) {
    if (leaf) failed += 1;
    process.stdout.write(`${line}\n`);
  }
  if (top) process.stdout.write(`${line}\n`);
}
const code = await new Promise((resolve) => {
  if (tap.exitCode !== null) resolve(tap.exitCode);
  else tap.on('exit', (exit) => resolve(exit ?? 1));
});
if (code !== 0 && failed === 0) failed = 1;
process.stdout.write(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`);
process.exitCode = code === 0 ? 0 : 1;

// Runs the tests with tap; prints a line for each file, failures in full, and closes with `N passed, N failed`.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

// As installed, tap would take its TypeScript plugin out only for the second run, and compile each file of the first one.
const PLUGINS = 'node_modules/@tapjs/test/test-built/dist/esm/index.js';
if (!existsSync(PLUGINS) || readFileSync(PLUGINS, 'utf8').includes('@tapjs/typescript'))
  spawnSync(process.execPath, ['node_modules/.bin/tap', 'build'], { stdio: ['ignore', 'ignore', 'inherit'] });

const tap = spawn(process.execPath, ['node_modules/.bin/tap', 'run', '--reporter=tap', ...process.argv.slice(2)], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const exited = new Promise((resolve) => tap.on('exit', (code) => resolve(code ?? 1)));

const count = { passed: 0, failed: 0, skipped: 0 };
let lastIndent = 0;
let diagnostic = false;

for await (const line of createInterface({ input: tap.stdout })) {
  const result = /^( *)(not )?ok \d+(.*)$/.exec(line);
  if (result === null) {
    if (diagnostic) process.stdout.write(`${line}\n`);
    if (/^ *\.\.\.$/.test(line)) diagnostic = false;
    if (/^ *Bail out!/.test(line)) process.stdout.write(`${line}\n`);
    continue;
  }
  const [, { length: indent }, not, rest] = result;
  // What is less indented than the line before sums up what that belonged to.
  const sums = indent < lastIndent;
  lastIndent = indent;
  const skipped = / # SKIP/i.test(rest);
  if (!sums) count[skipped ? 'skipped' : not === undefined ? 'passed' : 'failed'] += 1;
  diagnostic = not !== undefined;
  if (not !== undefined || indent === 0 || skipped) process.stdout.write(`${line}\n`);
}

const code = await exited;
if (code !== 0 && count.failed === 0) count.failed = 1;
const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : '';
process.stdout.write(`\n${count.passed} passed, ${count.failed} failed${skipped}\n`);
process.exitCode = code === 0 ? 0 : 1;

#!/usr/bin/env node
import { existsSync } from 'node:fs';
import module from 'node:module';

const program = new URL('../dist/cli.js', import.meta.url);
if (existsSync(program)) {
  // Node.js 22 and later keep compiled code between starts.
  module.enableCompileCache?.();
  await import(program);
} else {
  process.stderr.write('error: wfx is not built yet.\n  hint: run `npm install`, or `npm run build`, in its folder\n');
  process.exitCode = 1;
}

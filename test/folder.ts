import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

/** Texts of files by name; folders within as objects. */
export interface Files {
  readonly [name: string]: string | Files;
}

/**
 * A new folder, removed after the test. tap's own `t.testdir()` is removed before the teardowns run that close what
 * still writes there; this one goes after everything that was opened in it.
 */
export function tempFolder(t: Test, files: Files = {}): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'wfx-test-')));
  t.teardown(() => rmSync(dir, { recursive: true, force: true, maxRetries: 3 }));
  fill(dir, files);
  return dir;
}

function fill(dir: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(dir, name);
    if (typeof content === 'string') {
      writeFileSync(path, content);
    } else {
      mkdirSync(path);
      fill(path, content);
    }
  }
}

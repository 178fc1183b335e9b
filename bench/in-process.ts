import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openJournal } from '../src/daemon/journal/index.ts';
import type { JournalPort, Work } from '../src/daemon/ports.ts';
import type { Runtime } from '../src/daemon/runtime/door.ts';
import { openRuntime } from '../src/daemon/runtime/index.ts';
import { compile } from '../src/engine/parse.ts';

const idle: Work = { start() {}, abort() {}, running: 0, queued: 0, close: async () => {} };
const silent = { info() {}, warn() {}, error: console.error };

export interface InProcess {
  readonly runtime: Runtime;
  readonly journal: JournalPort;
  readonly start: (data?: Readonly<Record<string, string>>) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

/** A runtime on a real journal in a new folder, for one flow; no HTTP and no outside work. */
export async function inProcess(source: string): Promise<InProcess> {
  const dir = await mkdtemp(join(tmpdir(), 'wfx-bench-'));
  const { flow, problems } = compile(source);
  if (flow === undefined) throw new Error(problems[0]?.message);
  const { journal, recovery } = await openJournal({ dir, log: silent });
  const runtime = await openRuntime({
    journal,
    recovery,
    work: idle,
    log: silent,
    definitions: () => ({
      flow: () => flow,
      active: () => ({ version: '1', organizationId: 'bench' }),
      environmentValue: () => undefined,
    }),
  });
  const fixed = { organizationId: 'bench', processId: flow.id, version: '1', environment: 'PRODUCTION' } as const;
  return {
    runtime,
    journal,
    start: (data = {}) => runtime.start({ ...fixed, data, trigger: { type: 'api' } }),
    close: async () => {
      await runtime.close();
      await journal.close();
      await rm(dir, { recursive: true });
    },
  };
}

/** Runs `act` for 0 to `count` - 1 by `clients` callers at once. */
export async function repeat(count: number, clients: number, act: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const client = async () => {
    while (next < count) {
      const i = next;
      next += 1;
      await act(i);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
}

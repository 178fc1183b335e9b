import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openJournal } from '../src/daemon/journal/index.ts';
import { openRuntime } from '../src/daemon/runtime/index.ts';
import type { Work } from '../src/daemon/work/index.ts';
import { compile } from '../src/engine/parse.ts';
import { linearFlow } from './flows.ts';

const RUNS = 20_000;
const AT_ONCE = 256;
const idle: Work = { start() {}, abort() {}, running: 0, queued: 0, close: async () => {} };
const silent = { info() {}, warn() {}, error: console.error };

/** Durable node transitions a second in one process without HTTP: the 10-node linear flow, every commit fdatasync'ed. */
export async function benchRuntime(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'wfx-bench-'));
  const flow = compile(linearFlow).flow;
  if (flow === undefined) throw new Error('the flow of the benchmark does not compile');
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
  const start = () =>
    runtime.start({
      organizationId: 'bench',
      processId: flow.id,
      version: '1',
      environment: 'PRODUCTION',
      data: {},
      trigger: { type: 'api' },
    });
  const cpu = process.cpuUsage();
  const began = performance.now();
  let left = RUNS;
  const client = async () => {
    while (left > 0) {
      left -= 1;
      await start();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const transitions = runtime.stats.transitions;
  console.table({
    'in process, 10-node linear flow': {
      'executions/s': Math.round(RUNS / seconds),
      'node transitions/s': Math.round(transitions / seconds),
      'cores used': ((user + system) / 1e6 / seconds).toFixed(2),
      'group commits': journal.stats.syncs,
    },
  });
  await runtime.close();
  await journal.close();
  await rm(dir, { recursive: true });
}

if (import.meta.url === `file://${process.argv[1]}`) await benchRuntime();

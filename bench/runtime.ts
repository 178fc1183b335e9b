import { linearFlow } from './flows.ts';
import { inProcess, repeat } from './in-process.ts';

const RUNS = 20_000;
const AT_ONCE = 256;

/** Durable node transitions a second in one process without HTTP: the 10-node linear flow, every commit fdatasync'ed. */
const { runtime, journal, start, close } = await inProcess(linearFlow);
await repeat(2000, AT_ONCE, () => start());
const warm = runtime.stats.transitions;
const syncs = journal.stats.syncs;
const cpu = process.cpuUsage();
const began = performance.now();
await repeat(RUNS, AT_ONCE, () => start());
const seconds = (performance.now() - began) / 1000;
const { user, system } = process.cpuUsage(cpu);
console.table({
  'in process, 10-node linear flow': {
    'executions/s': Math.round(RUNS / seconds),
    'node transitions/s': Math.round((runtime.stats.transitions - warm) / seconds),
    'µs CPU an execution': Math.round((user + system) / RUNS),
    'group commits': journal.stats.syncs - syncs,
  },
});
await close();

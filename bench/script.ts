import type { Outcome } from '../src/daemon/ports.ts';
import { createWork } from '../src/daemon/work/index.ts';

const SCRIPTS = 4000;
const AT_ONCE = 64;
const MiB = 1024 * 1024;

/** Evaluations a second on the sandbox's threads, each in a fresh context, and what the first one costs. */
async function benchScript(): Promise<void> {
  const work = createWork({
    settings: { allowCommands: false, maxConcurrent: AT_ONCE },
    environment: () => ({ values: () => undefined, secrets: [] }),
    log: console,
  });
  const variables = { items: Array.from({ length: 100 }, (_, n) => ({ name: `item ${n}`, price: n })) };
  const input = { script: 'items.reduce((sum, { price }) => sum + price, 0)', variables };
  let count = 0;
  const evaluate = (): Promise<Outcome> =>
    new Promise((resolve) => {
      count += 1;
      const place = { instanceId: 'bench', nodeId: 'script', activation: count, attempt: 1 };
      const owner = { organizationId: 'bench', environment: 'PRODUCTION', processId: 'bench' } as const;
      const history = { idempotencyKey: `bench:script:${count}`, progress: [], record: async () => undefined };
      const prepare = () => ({ input, warnings: [] });
      work.start({ ...place, ...owner, ...history, kind: 'script', prepare }, resolve);
    });

  const memory = process.memoryUsage.rss();
  const cold = performance.now();
  await evaluate();
  const first = performance.now() - cold;
  const begun = performance.now();
  await Promise.all(Array.from({ length: SCRIPTS }, evaluate));
  const rate = (SCRIPTS / (performance.now() - begun)) * 1000;
  const grown = (process.memoryUsage.rss() - memory) / MiB;
  console.log(
    `first script ${first.toFixed(0)} ms, then ${rate.toFixed(0)} scripts/s; memory +${grown.toFixed(0)} MiB`,
  );
  await work.close();
}

await benchScript();

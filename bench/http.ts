import { fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { type Daemon, endDaemon, startDaemon } from './daemon.ts';
import { linearFlow } from './flows.ts';
import { load, post } from './load.ts';

const CLIENTS = 64;
const SECONDS = 3;
const ROUNDS = 3;
const NODES = 10;

/** Starts of the 10-node linear flow over HTTP, in turns with a control server that only appends one record a request. */
export async function benchHttp(): Promise<void> {
  const control = fork(resolve(import.meta.dirname, 'control.ts'), { execArgv: ['--import=tsx'] });
  const [{ port: controlPort }] = (await once(control, 'message')) as [{ port: number }];
  const daemon = await startDaemon();
  const body = { processId: await publish(daemon), data: { order: 'A-1', total: 12.5 } };
  const start = post('/process/exec', { 'x-api-key': daemon.key }, body);
  const append = post('/', {}, body);

  const rates: { wfx: number; control: number }[] = [];
  await load(daemon.port, start, CLIENTS, 1);
  await load(controlPort, append, CLIENTS, 1);
  for (let round = 0; round < ROUNDS; round += 1) {
    rates.push({
      wfx: await load(daemon.port, start, CLIENTS, SECONDS),
      control: await load(controlPort, append, CLIENTS, SECONDS),
    });
  }
  console.table(
    rates.map(({ wfx, control: bare }) => ({
      'executions/s': wfx,
      'node transitions/s': wfx * NODES,
      'control requests/s': bare,
      'share of the control': (wfx / bare).toFixed(2),
    })),
  );
  await endDaemon(daemon);
  control.kill('SIGTERM');
  await once(control, 'exit');
}

async function publish({ port, key }: Daemon): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/process/publish`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/yaml' },
    body: linearFlow,
  });
  return ((await answer.json()) as { processId: string }).processId;
}

if (import.meta.url === `file://${process.argv[1]}`) await benchHttp();

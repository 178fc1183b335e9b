import { setTimeout as pause } from 'node:timers/promises';
import { inProcess, repeat } from './in-process.ts';

const EVENTS = 2000;
const waitingFlow = `
id: 6a8de9ef-0b5b-4b53-9c9b-5a5e6a1f7c33
name: Waits for its payment
nodes:
  start: { type: startEvent, next: paid }
  paid: { type: intermediateCatchEvent, message: payment, correlationKey: "{key}", timeout: P30D, timeoutFlow: end, next: end }
  end: { type: endEvent }
`;

/** What it costs to correlate one event, and to be idle, with few and with many waiting subscriptions and timers. */
async function measure(waiting: number) {
  const { runtime, start, close } = await inProcess(waitingFlow);
  const began = performance.now();
  await repeat(waiting + EVENTS, 512, (i) => start({ key: `key-${i}` }));
  const seconds = (performance.now() - began) / 1000;
  const cpu = process.cpuUsage();
  await repeat(EVENTS, 64, (i) =>
    runtime.event({ organizationId: 'bench', eventType: 'payment', correlationKey: `key-${i}`, data: {} }),
  );
  const { user, system } = process.cpuUsage(cpu);
  // A checkpoint may be under way.
  await pause(4000);
  const idle = process.cpuUsage();
  await pause(2000);
  const { user: idleUser, system: idleSystem } = process.cpuUsage(idle);
  const { timers, subscriptions } = runtime.stats;
  await close();
  return {
    'waiting timers': timers,
    'waiting subscriptions': subscriptions,
    's to start them': seconds.toFixed(1),
    'µs CPU to correlate one': Math.round((user + system) / EVENTS),
    '% CPU while idle': (((idleUser + idleSystem) / 2_000_000) * 100).toFixed(1),
    'MB of memory': Math.round(process.memoryUsage.rss() / 1e6),
  };
}

await measure(100);
console.table([await measure(100), await measure(100_000)]);

import { endDaemon, startDaemon } from './daemon.ts';
import { load } from './load.ts';

const CLIENTS = 64;
const SECONDS = 2;
const ROUNDS = 5;

/** The cheapest request with a key that has no rate limits and with one that has both, in turns: what counting costs. */
export async function benchLimits(): Promise<void> {
  const daemon = await startDaemon();
  const make = async (limits: object): Promise<string> => {
    const answer = await fetch(`${daemon.url}/admin/keys`, {
      method: 'POST',
      headers: { 'x-api-key': daemon.key, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'bench', roles: ['viewer'], ...limits }),
    });
    return ((await answer.json()) as { key: string }).key;
  };
  const most = 1_000_000;
  const [free, limited] = [await make({}), await make({ rateLimitPerMinute: most, rateLimitPerHour: most })];
  const rate = (key: string): Promise<number> =>
    load(daemon.port, `GET /auth/whoami HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: ${key}\r\n\r\n`, CLIENTS, SECONDS);

  await rate(free);
  await rate(limited);
  const rows: { free: number; limited: number }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) rows.push({ free: await rate(free), limited: await rate(limited) });
  console.table(
    rows.map((row) => ({
      'requests/s without limits': row.free,
      'requests/s with both': row.limited,
      share: (row.limited / row.free).toFixed(3),
    })),
  );
  const shares = rows.map((row) => row.limited / row.free).sort((a, b) => a - b);
  console.log(
    `The median round gives ${((shares[ROUNDS >> 1] as number) * 100).toFixed(1)} % of the requests without limits.`,
  );
  await endDaemon(daemon);
}

if (import.meta.url === `file://${process.argv[1]}`) await benchLimits();

import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { newId } from '../../src/daemon/runtime/ids.ts';
import { ContentLog } from '../../src/daemon/triggers/content-log.ts';
import { type DeliveryBounds, type DeliveryRecord, DeliveryStore } from '../../src/daemon/triggers/deliveries.ts';
import { tempFolder } from '../folder.ts';
import { openServer } from './server.ts';

const HOUR = 3_600_000;
const now = Date.parse('2026-11-21T09:00:00Z');

t.test('the content log', async (t) => {
  const folder = tempFolder(t);
  const log = await ContentLog.open(folder, 1000);
  const contents = Array.from({ length: 50 }, () => randomBytes(100));
  const places = await Promise.all(contents.map((bytes) => log.append(bytes)));
  const later = await log.append(Buffer.alloc(0));

  t.test('gives back the bytes that it was given', async (t) => {
    for (const [at, place] of places.entries()) t.same(await log.read(place), contents[at]);
    t.same(await log.read(later), Buffer.alloc(0));
  });

  t.test('begins a new segment when one is full, and at every start', async (t) => {
    t.ok(later.segment > (places[0]?.segment ?? 0));
    await log.close();
    const again = await ContentLog.open(folder, 1000);
    const place = await again.append(Buffer.from('new'));
    t.equal(place.segment, later.segment + 1);
    t.same(await again.read(places[0] as (typeof places)[number]), contents[0]);
    await again.close();
  });

  t.test('refuses what the disk does not take, and goes on when it does again', async (t) => {
    const folder = join(tempFolder(t), 'log');
    const log = await ContentLog.open(folder);
    rmSync(folder, { recursive: true });
    const refused = [log.append(Buffer.from('a')), log.append(Buffer.from('b'))];
    for (const one of refused) await t.rejects(one, { name: 'StorageError' });
    mkdirSync(folder);
    const place = await log.append(Buffer.from('c'));
    t.same(await log.read(place), Buffer.from('c'));
    t.equal(await log.read({ ...place, length: 9 }), undefined, 'a content that is torn is none');
    await log.close();
  });
});

t.test('deliveries are forgotten beyond their age, number and size', async (t) => {
  const server = await openServer(t);
  const folder = join(tempFolder(t), 'deliveries');
  const open = async (bounds: Partial<DeliveryBounds>) => {
    const contents = await ContentLog.open(folder, 1000);
    const all = { maxAgeMs: 24 * HOUR, maxPerWebhook: 1000, maxBytes: 1e9, ...bounds };
    return new DeliveryStore(server.runtime.facts, contents, () => ['a', 'b'], all);
  };
  const add = async (store: DeliveryStore, webhookId: string, at: number, bytes = 10): Promise<string> => {
    const body = randomBytes(bytes);
    const record: DeliveryRecord = {
      deliveryId: newId(at),
      webhookId,
      receivedAt: new Date(at).toISOString(),
      environment: null,
      eventType: 'a',
      eventId: null,
      traceId: 'x',
      verdict: 'NO_MATCH',
      reason: null,
      processInstanceIds: [],
      replayOf: null,
      size: bytes,
      content: await store.keep({ a: 'b' }, body),
    };
    await server.runtime.facts.put([store.fact(record)]);
    return record.deliveryId;
  };
  const left = (store: DeliveryStore) => ['a', 'b'].flatMap((id) => store.all(id).map(({ deliveryId }) => deliveryId));

  const aged = await open({});
  const old = await add(aged, 'a', now - 25 * HOUR);
  const young = await add(aged, 'a', now - 23 * HOUR);
  await aged.sweep(now);
  t.same(left(aged), [young]);
  t.equal(aged.get('a', old), undefined);
  await aged.close();

  const counted = await open({ maxPerWebhook: 2 });
  const other = await add(counted, 'b', now);
  const [, second, third] = [await add(counted, 'a', now), await add(counted, 'a', now), await add(counted, 'a', now)];
  await counted.sweep(now);
  t.same(left(counted), [second, third, other], 'what one webhook gets does not push out what another got');
  await counted.close();

  const sized = await open({ maxBytes: 5000 });
  const ids = [];
  for (let n = 0; n < 12; n += 1) ids.push(await add(sized, 'a', now, 1000));
  await sized.sweep(now);
  const kept = left(sized);
  t.same(kept, ids.slice(-kept.length), 'the newest stay');
  t.ok(kept.length >= 3 && kept.length <= 6, `${kept.length} of 12`);
  for (const id of kept) t.equal((await sized.content(sized.get('a', id) as DeliveryRecord))?.body.length, 1000);
  t.ok(readdirSync(folder).length <= 6, 'and their segments alone');
  await sized.close();

  const crashed = await open({});
  await crashed.keep({}, Buffer.from('nobody names this'));
  await crashed.close();
  const before = readdirSync(folder).length;
  const reopened = await open({});
  await reopened.sweep(now, true);
  t.equal(readdirSync(folder).length, before - 1, 'what a crash left without a record is removed at the next start');
  await reopened.close();
});

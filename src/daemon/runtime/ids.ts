import { randomFillSync } from 'node:crypto';

/** Random bytes are fetched many at a time: asking for eight costs as much as asking for thousands. */
const pool = Buffer.alloc(8192);
let used = pool.length;

function randomTail(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  pool[used] = ((pool[used] as number) & 0x3f) | 0x80;
  used += 8;
  return pool.toString('hex', used - 8, used);
}

let lastMs = 0;
let sequence = 0;

/**
 * A new UUIDv7: time-ordered, and strictly increasing within the process also when the clock stands still or steps back, so
 * that sorting by id is sorting by start.
 */
export function newId(now: number): string {
  const ms = Math.max(now, lastMs);
  sequence = ms === lastMs ? sequence + 1 : 0;
  lastMs = ms;
  if (sequence > 0xfff) {
    lastMs = ms + 1;
    sequence = 0;
  }
  const time = lastMs.toString(16).padStart(12, '0');
  const counter = (0x7000 | sequence).toString(16);
  const tail = randomTail();
  return `${time.slice(0, 8)}-${time.slice(8)}-${counter}-${tail.slice(0, 4)}-${tail.slice(4)}`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a text can be an instance's id at all; anything else is simply unknown. */
export const isId = (text: string): boolean => UUID.test(text);

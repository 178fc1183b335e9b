import type { Frame, StoredFrame } from '../ports.ts';
import { CorruptJournalError } from './errors.ts';
import { MAX_PAYLOAD_BYTES, RECORD_HEADER_BYTES } from './format.ts';
import type { StoredRecord } from './scan.ts';

/** A frame as the text of its record. TypeError or RangeError where it is no JSON (a cycle, too deep). */
export const encodeFrame = (frame: Frame): string =>
  JSON.stringify({ at: frame.at, instances: frame.instances, facts: frame.facts });

/** RangeError when a payload of that many bytes is larger than a record may be. */
export function assertFits(payloadBytes: number): void {
  if (payloadBytes <= MAX_PAYLOAD_BYTES) return;
  throw new RangeError(
    `A frame of ${payloadBytes} bytes is larger than the journal takes (${MAX_PAYLOAD_BYTES}): commit less at a time.`,
  );
}

/** The frame in an intact record of `file`. */
export function decodeFrame(record: Pick<StoredRecord, 'number' | 'offset' | 'payload'>, file: string): StoredFrame {
  try {
    const { at, instances, facts } = JSON.parse(record.payload.toString('utf8')) as Frame;
    return { number: record.number, at, instances, facts };
  } catch {
    throw new CorruptJournalError(file, record.offset + RECORD_HEADER_BYTES, 'holds a frame that is no JSON');
  }
}

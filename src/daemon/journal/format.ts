/**
 * The journal on disk, format 1.
 *
 * A journal is a folder of segments `00000001.log`, `00000002.log`, … Numbers have no gaps, and so have the frames in
 * them: frame 1 is the first of segment 1. Only the newest segment is written to; the others are sealed and never
 * change. All numbers are little endian.
 *
 * A segment begins with a header of 48 bytes:
 *
 *     0  magic "wfxjrnl\n"          8   24  number of its first frame       8
 *     8  format                     4   32  time of its creation, ms        8
 *     12 zero                       4   40  zero                            4
 *     16 segment number             8   44  CRC-32 of bytes 0 to 43         4
 *
 * Records follow without padding, one for each frame:
 *
 *     0  CRC-32 of all that follows 4   8   frame number                    8
 *     4  length of the payload      4   16  place in its batch, from 0      4
 *                                       20  payload: the frame as JSON, UTF-8
 *
 * A batch is what one write and one fdatasync made durable. The next batch is written only after that, so a record with
 * place p and number n proves that frame n - p - 1, and all before it, were durable when it was written. This tells a
 * write that a crash tore (cut, with a copy kept as `00000003.log.torn-<offset>-<checksum>`) from damage to what was
 * acknowledged (refused). JSON text holds no zero byte, while every record header does: no payload can hold what looks
 * like a record, and zeros are never one.
 *
 * Beside a sealed segment lies `00000001.idx` (index-file.ts), made again from the segment whenever it is missing or
 * damaged. `checkpoint-<frame>.ckpt` (checkpoint.ts) holds the live state right after that frame. Files that end in `.tmp`
 * were being made when a crash came; they mean nothing.
 */
import { crc32 } from 'node:zlib';

export const FORMAT = 1;
export const HEADER_BYTES = 48;
export const RECORD_HEADER_BYTES = 20;
/** Largest payload of a record. A length beyond it is damage, whatever follows. */
export const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024;
/** `{}`: no frame is shorter. */
export const MIN_PAYLOAD_BYTES = 2;

const MAGIC = Buffer.from('wfxjrnl\n', 'latin1');
const UINT32 = 2 ** 32;

export interface SegmentHeader {
  readonly segment: number;
  readonly firstFrame: number;
  /** ms since the epoch. */
  readonly createdAt: number;
}

export interface RecordHeader {
  readonly crc: number;
  readonly payloadBytes: number;
  readonly number: number;
  readonly place: number;
}

export function encodeSegmentHeader(header: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  MAGIC.copy(bytes);
  bytes.writeUInt32LE(FORMAT, 8);
  writeUint64(bytes, header.segment, 16);
  writeUint64(bytes, header.firstFrame, 24);
  writeUint64(bytes, header.createdAt, 32);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, HEADER_BYTES - 4)), HEADER_BYTES - 4);
  return bytes;
}

/** The header in `bytes`, or a sentence part that says what is wrong with it. */
export function decodeSegmentHeader(bytes: Buffer): SegmentHeader | string {
  if (bytes.length < HEADER_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return 'is no journal segment';
  const format = bytes.readUInt32LE(8);
  if (bytes.readUInt32LE(HEADER_BYTES - 4) !== crc32(bytes.subarray(0, HEADER_BYTES - 4))) {
    return `has a damaged header (it names format ${format}, its checksum does not match)`;
  }
  if (format !== FORMAT) return `has journal format ${format}, and this release of wfx reads format ${FORMAT} only`;
  return { segment: readUint64(bytes, 16), firstFrame: readUint64(bytes, 24), createdAt: readUint64(bytes, 32) };
}

/** Whether `bytes`, all there is of a file, are what a crash leaves of a header: part of one, or zeros. */
export function isUnbornHeader(bytes: Buffer): boolean {
  return isAllZero(bytes, 0, bytes.length) || bytes.subarray(0, MAGIC.length).equals(MAGIC.subarray(0, bytes.length));
}

export function isAllZero(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (bytes[at] !== 0) return false;
  return true;
}

/** Completes the record at `at` of `buffer`, whose payload is in place already. */
export function encodeRecordHeader(buffer: Buffer, at: number, payloadBytes: number, number: number, place: number) {
  buffer.writeUInt32LE(payloadBytes, at + 4);
  writeUint64(buffer, number, at + 8);
  buffer.writeUInt32LE(place, at + 16);
  buffer.writeUInt32LE(crc32(buffer.subarray(at + 4, at + RECORD_HEADER_BYTES + payloadBytes)), at);
}

/** The frame number of the record header at `at`. */
export const frameNumberAt = (buffer: Buffer, at: number): number => readUint64(buffer, at + 8);

/** Reads the record header at `at`; nothing in it is checked yet. */
export function decodeRecordHeader(buffer: Buffer, at: number): RecordHeader {
  return {
    crc: buffer.readUInt32LE(at),
    payloadBytes: buffer.readUInt32LE(at + 4),
    number: frameNumberAt(buffer, at),
    place: buffer.readUInt32LE(at + 16),
  };
}

/** Whether a payload may be that long. */
export const isPayloadLength = (bytes: number): boolean => bytes >= MIN_PAYLOAD_BYTES && bytes <= MAX_PAYLOAD_BYTES;

/** Whether the whole record at `at`, which must lie in `buffer`, has the checksum that its header names. */
export function isIntact(buffer: Buffer, at: number, header: RecordHeader): boolean {
  return header.crc === crc32(buffer.subarray(at + 4, at + RECORD_HEADER_BYTES + header.payloadBytes));
}

function writeUint64(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32LE(value % UINT32, at);
  bytes.writeUInt32LE(Math.floor(value / UINT32), at + 4);
}

const readUint64 = (bytes: Buffer, at: number): number => bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * UINT32;

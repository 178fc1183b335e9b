import type { Readable } from 'node:stream';

/** What is kept of a stream that is read to its end, in bounded memory. */
export interface Output {
  /** The kept part as UTF-8, without characters torn at its cut and without one line break at the end. */
  text(): string;
  /** Bytes that were read and not kept. */
  dropped(): number;
}

/** Keeps the first `limit` bytes. */
export function keepStart(stream: Readable, limit: number): Output {
  const chunks: Buffer[] = [];
  let kept = 0;
  let read = 0;
  stream.on('data', (chunk: Buffer) => {
    read += chunk.length;
    if (kept === limit) return;
    const part = chunk.subarray(0, limit - kept);
    chunks.push(part);
    kept += part.length;
  });
  return {
    // As the start of a longer stream, so that a character torn at the cut is left out.
    text: () => withoutLastBreak(new TextDecoder().decode(Buffer.concat(chunks), { stream: read > kept })),
    dropped: () => read - kept,
  };
}

/** Keeps the last `limit` bytes. */
export function keepEnd(stream: Readable, limit: number): Output {
  let chunks: Buffer[] = [];
  let held = 0;
  let read = 0;
  const last = (): Buffer => {
    const all = Buffer.concat(chunks);
    return all.subarray(Math.max(0, all.length - limit));
  };
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    held += chunk.length;
    read += chunk.length;
    // Cut once in a while, not at every chunk: a cut copies everything.
    if (held < 2 * limit) return;
    chunks = [Buffer.from(last())];
    held = limit;
  });
  return {
    text() {
      const end = last();
      let start = 0;
      if (read > end.length) while (start < 3 && ((end[start] ?? 0) & 0xc0) === 0x80) start += 1;
      return withoutLastBreak(new TextDecoder().decode(end.subarray(start)));
    },
    dropped: () => Math.max(0, read - limit),
  };
}

const withoutLastBreak = (text: string): string => text.replace(/\r?\n$/, '');

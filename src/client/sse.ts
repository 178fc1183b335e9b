/** One event of a `text/event-stream`. */
export interface ServerSentEvent {
  /** `message` where the stream names none. */
  readonly event: string;
  readonly data: string;
  /** The last id that the stream set, in this block or before; undefined while it has set none. */
  readonly id: string | undefined;
}

/** No event of ours comes near it; what does is no stream of ours. */
const LIMIT = 32 * 1024 * 1024;

/**
 * Reads an event stream as the HTML standard says (section 9.2.6): lines end with CR, LF or CRLF, a blank line sends the
 * event, and what the stream's end cuts off is dropped. Feed it text in pieces, cut anywhere.
 */
export class EventStreamParser {
  #line = '';
  /** How much of `#line` holds no line end: long lines that come in many pieces are searched once. */
  #searched = 0;
  #afterCr = false;
  #event = '';
  #data: string[] = [];
  #size = 0;
  #id: string | undefined;
  #reconnectMs: number | undefined;

  /** What the stream asked to wait before connecting again. */
  get reconnectMs(): number | undefined {
    return this.#reconnectMs;
  }

  push(text: string): ServerSentEvent[] {
    const events: ServerSentEvent[] = [];
    this.#line += this.#afterCr && text.startsWith('\n') ? text.slice(1) : text;
    if (text !== '') this.#afterCr = false;
    for (let line = this.#take(); line !== undefined; line = this.#take()) {
      const event = this.#read(line);
      if (event !== undefined) events.push(event);
    }
    if (this.#line.length + this.#size > LIMIT) throw new Error(`the stream sent an event over ${LIMIT} characters`);
    return events;
  }

  #take(): string | undefined {
    const end = indexOfLineEnd(this.#line, this.#searched);
    if (end === -1) {
      this.#searched = this.#line.length;
      return undefined;
    }
    const line = this.#line.slice(0, end);
    const cr = this.#line.charCodeAt(end) === 13;
    this.#afterCr = cr && end + 1 === this.#line.length;
    const crlf = cr && this.#line.charCodeAt(end + 1) === 10;
    this.#line = this.#line.slice(end + (crlf ? 2 : 1));
    this.#searched = 0;
    return line;
  }

  #read(line: string): ServerSentEvent | undefined {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return undefined;
    const name = colon === -1 ? line : line.slice(0, colon);
    const rest = colon === -1 ? '' : line.slice(colon + 1);
    this.#field(name, rest.startsWith(' ') ? rest.slice(1) : rest);
    return undefined;
  }

  #field(name: string, value: string): void {
    if (name === 'event') this.#event = value;
    else if (name === 'id' && !value.includes('\0')) this.#id = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) this.#reconnectMs = Number(value);
    else if (name === 'data') {
      this.#data.push(value);
      this.#size += value.length + 1;
    }
  }

  #dispatch(): ServerSentEvent | undefined {
    const { length } = this.#data;
    const event = { event: this.#event || 'message', data: this.#data.join('\n'), id: this.#id };
    this.#event = '';
    this.#data = [];
    this.#size = 0;
    return length === 0 ? undefined : event;
  }
}

function indexOfLineEnd(text: string, from: number): number {
  const lf = text.indexOf('\n', from);
  const cr = text.slice(0, lf === -1 ? undefined : lf).indexOf('\r', from);
  return cr === -1 ? lf : cr;
}

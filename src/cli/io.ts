import type { ReadStream, WriteStream } from 'node:tty';
import { plainJson } from '../client/index.ts';

type Env = Readonly<Record<string, string | undefined>>;
type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';
const CODES: Readonly<Record<Style, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

/** Styles text, or leaves it as it is where colours are off. */
export type Paint = (style: Style, text: string) => string;

/** The terminal, or whatever stands in its place: results go to stdout, everything else to stderr. */
export class Io {
  readonly env: Env;
  readonly stdin: ReadStream;
  readonly stdout: WriteStream;
  readonly stderr: WriteStream;
  /** For stdout and for stderr: each may be redirected by itself. */
  readonly paint: Paint;
  readonly paintNote: Paint;
  /** Somebody sits there who can be asked. */
  readonly interactive: boolean;
  /** stderr can show a line that changes. */
  readonly live: boolean;

  constructor(
    streams: { readonly stdin: ReadStream; readonly stdout: WriteStream; readonly stderr: WriteStream },
    env: Env,
  ) {
    this.env = env;
    this.stdin = streams.stdin;
    this.stdout = streams.stdout;
    this.stderr = streams.stderr;
    const terminal = env['TERM'] !== 'dumb' && !isSet(env['CI']);
    const colour = terminal && (env['NO_COLOR'] ?? '') === '';
    this.paint = painter(colour && this.stdout.isTTY === true);
    this.paintNote = painter(colour && this.stderr.isTTY === true);
    this.live = terminal && this.stderr.isTTY === true;
    this.interactive = this.live && this.stdin.isTTY === true;
  }

  /** A result. */
  print(text: string): void {
    this.stdout.write(`${text}\n`);
  }

  json(value: unknown): void {
    this.print(plainJson(value, 2));
  }

  /** Anything that is not the result. */
  note(text: string): void {
    this.stderr.write(`${text}\n`);
  }

  warn(text: string): void {
    this.note(`${this.paintNote('yellow', 'warning:')} ${text}`);
  }

  /** Columns of the terminal that results go to; undefined where lines may be as long as they like. */
  get columns(): number | undefined {
    return this.stdout.isTTY === true ? this.stdout.columns : undefined;
  }
}

const isSet = (value: string | undefined): boolean => value !== undefined && !['', '0', 'false'].includes(value);

function painter(colour: boolean): Paint {
  if (!colour) return (_, text) => text;
  return (style, text) => `\u001b[${CODES[style][0]}m${text}\u001b[${CODES[style][1]}m`;
}

import { fitted } from '../../terminal/width.ts';
import type { Io } from '../io.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 120;
const CLEAR = '\r\u001b[2K';

/** The last line of a terminal, which says what goes on while log lines pass above it. Elsewhere it does nothing. */
export class Progress {
  readonly #io: Io;
  readonly #text: () => string;
  #timer: NodeJS.Timeout | undefined;
  #frame = 0;

  /** `text` is asked for at every frame, so it may tell of time. */
  constructor(io: Io, text: () => string) {
    this.#io = io;
    this.#text = text;
  }

  start(): void {
    if (!this.#io.live || this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#draw(), FRAME_MS).unref();
    this.#draw();
  }

  stop(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#io.stderr.write(CLEAR);
  }

  /** Puts a line above the progress line. */
  note(line: string): void {
    if (this.#timer === undefined) {
      this.#io.note(line);
      return;
    }
    this.#io.stderr.write(`${CLEAR}${line}\n`);
    this.#draw();
  }

  #draw(): void {
    this.#frame = (this.#frame + 1) % FRAMES.length;
    const line = fitted(`${FRAMES[this.#frame]} ${this.#text()}`, (this.#io.stderr.columns || 80) - 1);
    this.#io.stderr.write(CLEAR + this.#io.paintNote('dim', line));
  }
}

/**
 * What a command's exit code says (decisions §7). `failed` is kept for a run that Failed (and faults of wfx itself), so
 * that a script can tell it from a command that could not be done.
 */
export const EXIT = {
  ok: 0,
  failed: 1,
  /** Wrong usage, an invalid flow or file, or something asked for that isn't there or can't be done now. */
  usage: 2,
  cancelled: 3,
  /** 401 and 403. */
  notAllowed: 4,
  /** The daemon can't be reached, or can't answer now (429, 5xx). */
  unreachable: 5,
  /** `--timeout` passed; the run goes on. */
  timedOut: 124,
  /** Ctrl-C; the run goes on. */
  interrupted: 130,
} as const;

export type Exit = (typeof EXIT)[keyof typeof EXIT];

/** A command can't go on: what is wrong and where, in one sentence, and what to do about it. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exit: Exit;
  readonly hint: string | undefined;
  constructor(exit: Exit, message: string, hint?: string) {
    super(message);
    this.exit = exit;
    this.hint = hint;
  }
}

export const usage = (message: string, hint?: string): CliError => new CliError(EXIT.usage, message, hint);

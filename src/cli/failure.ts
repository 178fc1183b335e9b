import { ApiError, plain, UnreachableError } from '../client/index.ts';
import type { ErrorCode } from '../contract/errors.ts';
import { CliError, EXIT, type Exit } from './exit.ts';

/** How a failed command ends: its exit code, and what it says on stderr. */
export interface Failure {
  readonly exit: Exit;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly details?: readonly string[];
}

/** Every error that a command may end with, in one place. */
export function failureOf(error: unknown): Failure {
  if (error instanceof CliError) return error;
  if (error instanceof ApiError) return apiFailure(error);
  if (error instanceof UnreachableError)
    return {
      exit: EXIT.unreachable,
      message: sentence(error.message),
      hint: 'check that the daemon runs: wfx daemon status',
    };
  if (error instanceof Error && error.name === 'AbortError') return { exit: EXIT.interrupted, message: 'Interrupted.' };
  if (error instanceof Error && error.name === 'CredentialsError') return { exit: EXIT.usage, message: error.message };
  return fileFailure(error) ?? fault(error);
}

const HINTS: Partial<Record<ApiError['code'], string>> = {
  UNAUTHORIZED: 'set WFX_API_KEY to a valid key, or sign in with wfx login; wfx token prints what is sent now',
  FORBIDDEN: 'use a key whose role allows it: wfx key create --role runner|developer|admin',
  PROCESS_NOT_FOUND: 'wfx flow list shows the published flows',
  VERSION_NOT_FOUND: 'wfx flow versions PROCESS_ID shows the versions',
  NOT_PUBLISHED: 'publish it (wfx publish FILE) or activate a version (wfx flow activate PROCESS_ID VERSION)',
  INSTANCE_NOT_FOUND: 'wfx instance list shows the runs',
  NODE_NOT_FOUND: 'wfx instance show INSTANCE_ID shows the nodes that a run reached',
  TASK_NOT_WAITING: 'wfx task list shows what waits now',
  NO_MATCHING_SUBSCRIPTION: 'nothing waits for it; --time-to-live keeps an event until something does',
  UNEXPECTED_ANSWER: 'check the address: --url, WFX_URL, or wfx context list',
};

function apiFailure(error: ApiError): Failure {
  const isTold = error.details.length === 1 && error.details.every(({ message }) => error.message.includes(message));
  const details = error.details.map(({ path, message }) => plain(path === '' ? message : `${path}: ${message}`));
  return {
    exit: exitOf(error.status, error.code),
    message: sentence(plain(error.message)),
    details: isTold ? [] : details,
    hint: hintOf(error),
  };
}

function hintOf(error: ApiError): string | undefined {
  if (error.retryAfter !== undefined) return `try again in ${error.retryAfter} s`;
  return HINTS[error.code];
}

function exitOf(status: number, code: ErrorCode | 'UNEXPECTED_ANSWER'): Exit {
  if (status === 401 || status === 403) return EXIT.notAllowed;
  if (status === 429 || status >= 500 || code === 'UNEXPECTED_ANSWER') return EXIT.unreachable;
  return EXIT.usage;
}

/** A file of wfx's own, or its folder, that the system refuses. */
function fileFailure(error: unknown): Failure | undefined {
  const { code, path, message } = error as NodeJS.ErrnoException;
  if (!(error instanceof Error) || code === undefined || path === undefined) return undefined;
  return {
    exit: EXIT.usage,
    message: `${plain(path)} can't be used (${plain(message)}).`,
    hint: 'mend its permissions, or choose another data folder with WFX_HOME',
  };
}

/** What nobody foresaw. The stack helps whoever mends it, not who meets it. */
function fault(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  const stack = process.env['WFX_DEBUG'] !== undefined && error instanceof Error ? error.stack : undefined;
  return {
    exit: EXIT.failed,
    message: sentence(plain(message)),
    hint: stack ?? 'this may be a fault of wfx itself; WFX_DEBUG=1 shows where it happened',
  };
}

/** Upper-case start, unless that is the name of a field (`expiresAt`); a full stop at the end. */
function sentence(text: string): string {
  const start = /^[a-z]+[A-Z]/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?)…]$/.test(start) ? start : `${start}.`;
}

import { ApiError, UnreachableError } from '../client/index.ts';

/** What an error says, with what is wrong in each place. */
export function sentenceOf(error: unknown): string {
  if (error instanceof ApiError && error.details.length > 0)
    return `${error.message} ${error.details.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')}`;
  if (error instanceof UnreachableError) return `The daemon can't be reached: ${error.message}.`;
  return error instanceof Error ? error.message : String(error);
}

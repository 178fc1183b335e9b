import type { Paint } from './io.ts';

type Style = Parameters<Paint>[0];
const STYLES: Readonly<Record<string, Style>> = {
  Running: 'cyan',
  Waiting: 'cyan',
  Completed: 'green',
  Failed: 'red',
  Cancelled: 'yellow',
  TimedOut: 'yellow',
  ACTIVE: 'green',
  SUSPENDED: 'yellow',
  REVOKED: 'red',
};

export const styleOf = (state: string): Style | undefined => STYLES[state];

import { plain } from '../client/index.ts';
import type { LogEntry } from '../contract/types.ts';
import { clockTime } from '../terminal/shown.ts';
import { fitted, padded } from '../terminal/width.ts';
import type { Paint } from './io.ts';

const NAME = 26;
/** What every node says of itself: there in full, but not in the foreground. */
const ROUTINE = new Set(['started', 'completed']);

/** These are over as soon as they have begun: that they completed says it all. */
const INSTANT = /Gateway$|^(startEvent|endEvent|ifElse|setVariable|task|outputNode)$/;

/** An entry that tells a person nothing: the start of what is over at once. */
export const isNoise = ({ message, nodeType }: LogEntry): boolean => message === 'started' && INSTANT.test(nodeType);

/** One entry of an instance's log as a line for a person. Nothing in it can command a terminal. */
export function logLine(paint: Paint, entry: LogEntry, prefix = ''): string {
  const name = padded(fitted(plain(prefix + entry.nodeName, 200), NAME), NAME);
  const message = plain(entry.message);
  return `${paint('dim', clockTime(entry.timestamp))}  ${paint('bold', name)}  ${styled(paint, entry.level, message)}`;
}

function styled(paint: Paint, level: LogEntry['level'], message: string): string {
  if (level === 'ERROR') return paint('red', `ERROR ${message}`);
  if (level === 'WARN') return paint('yellow', `WARN ${message}`);
  return ROUTINE.has(message) ? paint('dim', message) : message;
}

import { writeSync } from 'node:fs';

/** The second screen of a terminal; 1007 lets the mouse wheel send arrow keys there, 2004 sets what is pasted apart. */
const ENTER = '\u001b[?1049h\u001b[?1007h\u001b[?2004h\u001b[2J\u001b[H\u001b[?25l';
const LEAVE = '\u001b[?2004l\u001b[?1007l\u001b[?25h\u001b[?1049l';

/**
 * Takes the terminal over and gives what gives it back, once, whatever happens: at a normal end, at a crash before its
 * error is printed, and at a signal that ends the process.
 */
export function enterAlternateScreen(fd: number): () => void {
  writeSync(fd, ENTER);
  let entered = true;
  const leave = (): void => {
    if (!entered) return;
    entered = false;
    process.off('exit', leave);
    process.off('uncaughtExceptionMonitor', leave);
    for (const [signal, onSignal] of handlers) process.off(signal, onSignal);
    try {
      writeSync(fd, LEAVE);
    } catch {
      // The terminal is gone: nobody is left to give it back to.
    }
  };
  const handlers = (['SIGTERM', 'SIGHUP', 'SIGINT'] as const).map((signal) => {
    const onSignal = (): void => {
      leave();
      process.exit(128 + { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }[signal]);
    };
    process.on(signal, onSignal);
    return [signal, onSignal] as const;
  });
  process.on('exit', leave);
  process.on('uncaughtExceptionMonitor', leave);
  return leave;
}

import { plainJson } from '../client/index.ts';
import { STATES } from '../terminal/shown.ts';
import { EXIT } from './exit.ts';
import { logLine } from './log-lines.ts';
import { warningOfLosses } from './reconnecting.ts';
import type { Wfx } from './wfx.ts';

/** A stream that has shown all of its history is silent for at least this long. */
const SILENCE_MS = 700;

/**
 * Prints an instance's log: all that there is, or with `follow` until it ends. The stream does not say where history stops,
 * so without `follow` a finished instance's end, or a silence, stops it.
 */
export async function printLog(wfx: Wfx, processInstanceId: string, follow: boolean): Promise<void> {
  const client = await wfx.client();
  const { stateCd } = await client.call('getInstance', { params: { processInstanceId } });
  const stop = new AbortController();
  const onInterrupt = (): void => stop.abort();
  process.once('SIGINT', onInterrupt);
  const goesOn = follow || stateCd !== 0;
  const silence = goesOn ? undefined : setTimeout(() => stop.abort(), SILENCE_MS);
  try {
    for await (const item of client.log(processInstanceId, {
      signal: stop.signal,
      onReconnecting: warningOfLosses(wfx),
    })) {
      if (item.kind === 'end') {
        if (!wfx.json) wfx.io.note(`The run ended: ${STATES[item.end.stateCd as 1 | 2 | 3]}.`);
      } else if (wfx.json) wfx.io.print(plainJson(item.entry));
      else wfx.io.print(logLine(wfx.io.paint, item.entry));
      if (silence !== undefined) silence.refresh();
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    if (goesOn) process.exitCode = EXIT.interrupted;
  } finally {
    clearTimeout(silence);
    process.removeListener('SIGINT', onInterrupt);
  }
}

import { type Client, plain, plainJson } from '../../client/index.ts';
import { STATES } from '../../terminal/shown.ts';
import { isNoise, logLine } from '../log-lines.ts';
import type { Wfx } from '../wfx.ts';
import type { FlowFolder } from './flow-folder.ts';

/** Of more runs at a time, those that came last are not shown. */
const AT_ONCE = 50;
const STYLES = { 1: 'green', 2: 'red', 3: 'yellow' } as const;

interface Parts {
  readonly wfx: Wfx;
  readonly client: Client;
  readonly flows: FlowFolder;
}

/** Shows what the runs of a folder's flows do, each from its start to its end, until the signal aborts. */
export async function showRuns(
  { wfx, client, flows }: Parts,
  onConnected: () => void,
  signal: AbortSignal,
): Promise<void> {
  const shown = new Set<string>();
  let broken: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    broken = reject;
  });
  const started = async (): Promise<void> => {
    for await (const { event } of client.events({ signal, onConnected })) {
      const { processInstanceId, processId } = event.data;
      if (event.type !== 'INSTANCE_STARTED' || !flows.has(processId)) continue;
      if (shown.size >= AT_ONCE) {
        if (!wfx.json) wfx.io.note(`Run ${processInstanceId} started; ${AT_ONCE} others are shown already.`);
        continue;
      }
      shown.add(processInstanceId);
      showRun(wfx, client, processInstanceId, signal)
        .catch((error) => signal.aborted || broken(error))
        .finally(() => shown.delete(processInstanceId));
    }
  };
  await Promise.race([started(), failed]);
}

async function showRun(wfx: Wfx, client: Client, processInstanceId: string, signal: AbortSignal): Promise<void> {
  const { io, json } = wfx;
  const { processName } = await client.call('getInstance', { params: { processInstanceId } }, { signal });
  const prefix = `${plain(processName, 16)}/`;
  if (!json) io.note(io.paintNote('dim', `Run ${processInstanceId} of ${plain(processName, 100)} began`));
  for await (const item of client.log(processInstanceId, { signal })) {
    if (json)
      io.print(plainJson(item.kind === 'entry' ? { log: item.entry } : { ended: { processInstanceId, ...item.end } }));
    else if (item.kind === 'entry') {
      if (!isNoise(item.entry)) io.print(logLine(io.paint, item.entry, prefix));
    } else {
      const state = item.end.stateCd as 1 | 2 | 3;
      io.note(io.paintNote(STYLES[state], `Run ${processInstanceId} ended: ${STATES[state]}`));
    }
  }
}

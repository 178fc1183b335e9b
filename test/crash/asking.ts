import type { Test } from 'tap';
import { Daemon } from './daemon.ts';
import { ASK, flowFile } from './flows.ts';
import { instanceOf, logOf } from './oracle.ts';
import { openSink } from './sink.ts';

/** Starts a run that waits for its task; gives its id. */
export async function begin({ client }: Daemon, sink: string, number: string): Promise<string> {
  const { processInstanceId } = await client.call('execProcess', {
    body: { processId: ASK, correlationKey: number, data: { number, sink } },
  });
  return processInstanceId;
}

/** Submits the task of a run and follows it to its end; gives what it returned. */
export async function finish({ client }: Daemon, id: string, value: string): Promise<unknown> {
  const body = { processInstanceId: id, nodeId: 'ask', action: 'COMPLETE', data: { inputValue: value } } as const;
  await client.call('submitTask', { body });
  await logOf(client, id);
  return (await instanceOf(client, id)).data['result'];
}

/** A daemon that runs, with the flow that asks, and where the outside is. */
export async function opened(t: Test): Promise<{ readonly daemon: Daemon; readonly sink: string }> {
  const daemon = new Daemon(t);
  const { url } = await openSink(t);
  await daemon.start();
  await daemon.client.call('publishFlow', { body: flowFile(ASK, 1) });
  return { daemon, sink: url };
}

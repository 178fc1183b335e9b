import type { Command } from 'commander';
import type { JsonObject } from '../../engine/json.ts';
import { isoDuration } from '../duration.ts';
import { readMap } from '../flow-file.ts';
import { collected, examples } from '../help.ts';
import { withData } from '../values.ts';
import type { Wfx } from '../wfx.ts';

interface SendOptions {
  readonly correlationKey?: string;
  readonly data?: readonly string[];
  readonly dataFile?: string;
  readonly messageId?: string;
  readonly timeToLive?: string;
}

export function add(command: Command, wfx: Wfx): void {
  command
    .command('send')
    .description('Send an event: a message goes to the one run that waits longest for it, a signal to all that wait.')
    .argument('<event-type>', 'name of the message or signal')
    .option('-k, --correlation-key <key>', 'which run is meant; a signal needs none')
    .option('-d, --data <key=value>', 'a variable that the run gets; may be given several times', collected)
    .option('--data-file <file>', 'variables from a YAML or JSON file; - reads standard input')
    .option('--message-id <id>', 'the same id is taken once, however often it is sent')
    .option('--time-to-live <duration>', 'how long it waits for a run that is not there yet: 90s, 10m, PT2H')
    .addHelpText(
      'after',
      examples(
        ['wfx event send payment-received -k order-17 -d amount=240', 'go on with order 17'],
        ['wfx event send payment-received -k order-17 --time-to-live 10m', 'also if the order comes later'],
        ['wfx event send shop-closed', 'a signal, to every run that waits for it'],
      ),
    )
    .action((eventType: string, options: SendOptions) => send(wfx, eventType, options));
}

async function send(wfx: Wfx, eventType: string, options: SendOptions): Promise<void> {
  const { correlationKey, messageId, timeToLive } = options;
  const file = options.dataFile === undefined ? {} : await readMap(options.dataFile, 'data file');
  const data = withData(file as JsonObject, options.data);
  const body = {
    eventType,
    ...(correlationKey === undefined ? {} : { correlationKey }),
    ...(Object.keys(data).length === 0 ? {} : { data }),
    ...(messageId === undefined ? {} : { messageId }),
    ...(timeToLive === undefined ? {} : { timeToLive: isoDuration(timeToLive, '--time-to-live') }),
  };
  const client = await wfx.client();
  const answer = await client.call('sendEvent', { body });
  if (wfx.json) return wfx.io.json(answer);
  if (answer.status === 'buffered')
    wfx.io.note('No run waits for it yet; it is kept until one does, or its time is over.');
  else
    wfx.io.note(
      `Taken by ${answer.processInstanceIds.length === 1 ? 'one run' : `${answer.processInstanceIds.length} runs`}:`,
    );
  for (const id of answer.processInstanceIds) wfx.io.print(id);
}

import type { Command } from 'commander';
import { plain } from '../../client/index.ts';
import type { Explanation, Wait } from '../../contract/types.ts';
import { releasing, retrying } from '../../terminal/commands.ts';
import { shownDuration } from '../../terminal/duration.ts';
import { between, shownTime, stateOf } from '../../terminal/shown.ts';
import { examples } from '../help.ts';
import { styleOf } from '../shown.ts';
import type { Wfx } from '../wfx.ts';

type Explained = Omit<Explanation, 'children'>;

export function add(command: Command, wfx: Wfx): void {
  command
    .description('Say what a run waits for, since when, what would release it, and what nearly did; or how it ended.')
    .argument('<instance-id>', 'id of the run: wfx instance list shows it')
    .addHelpText('after', examples(['wfx why ID', 'in sentences'], ['wfx why ID -o json', 'for programs']))
    .action((id: string) => why(wfx, id));
}

async function why(wfx: Wfx, processInstanceId: string): Promise<void> {
  const client = await wfx.client();
  const explanation = await client.call('explainInstance', { params: { processInstanceId } });
  if (wfx.json) return wfx.io.json(explanation);
  show(wfx, explanation);
  for (const child of explanation.children) {
    wfx.io.print('');
    show(wfx, child);
  }
}

function show({ io }: Wfx, explained: Explained): void {
  const { processInstanceId, processName, startTime, endTime, waits, total, releases, queuedStarts } = explained;
  const state = stateOf(explained);
  const style = styleOf(state);
  const shown = style === undefined ? state : io.paint(style, state);
  io.print(`${io.paint('bold', plain(processName))}  ${shown}  ${io.paint('dim', processInstanceId)}`);
  const ended = endTime === undefined ? `since ${shownTime(startTime)}` : `ended ${shownTime(endTime)}`;
  io.print(`${sentence(explained.sentence)} ${io.paint('dim', `(${ended})`)}`);
  for (const release of releases) io.print(`  → ${sentence(release.sentence)}`);
  const retry = retrying(explained);
  if (retry !== undefined) io.print(`      ${io.paint('cyan', retry)}`);
  for (const wait of waits) showWait({ io }, processInstanceId, wait);
  if (total > waits.length) io.print(`  and ${total - waits.length} more tokens`);
  if (queuedStarts.length > 0)
    io.print(
      `${counted(queuedStarts.length, 'scheduled start')} of its flow wait for its end: ${queuedStarts.map(shownTime).join(', ')}`,
    );
}

function showWait({ io }: Pick<Wfx, 'io'>, processInstanceId: string, wait: Wait): void {
  const { nodeId, iteration, since, error, nearMisses } = wait;
  const where = iteration === undefined ? nodeId : `${nodeId}, iteration ${iteration + 1}`;
  const waited = `since ${shownTime(since)}, ${shownDuration(between(since, undefined))}`;
  io.print('');
  io.print(`${io.paint('bold', plain(where))}  ${io.paint('dim', waited)}`);
  io.print(`  ${sentence(wait.sentence)}`);
  if (wait.kind === 'WORK' && error !== undefined)
    io.print(`  ${io.paint('yellow', `The attempt before failed with ${plain(`${error.code}: ${error.message}`)}`)}`);
  const command = releasing(processInstanceId, wait);
  for (const [at, release] of wait.releases.entries()) {
    const when = release.at === undefined ? '' : `${shownTime(release.at)}${ahead(release.at)}: `;
    io.print(`  → ${when}${sentence(release.sentence)}`);
    if (at === 0 && command !== undefined) io.print(`      ${io.paint('cyan', plain(command, 2000))}`);
  }
  for (const { sentence: text, at } of nearMisses) {
    const when = at === undefined ? '' : `${shownTime(at)}: `;
    io.print(`  ${io.paint('yellow', `! ${when}${sentence(text)}`)}`);
  }
}

/** How long it is until then. */
function ahead(at: string): string {
  const ms = Date.parse(at) - Date.now();
  return ms > 0 ? ` (in ${shownDuration(ms)})` : '';
}

/** Times are the reader's own, as everywhere else. */
const sentence = (text: string): string => plain(text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, shownTime), 2000);

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

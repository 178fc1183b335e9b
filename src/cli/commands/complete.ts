import type { Command, Option } from 'commander';
import type { Wfx } from '../wfx.ts';

interface Candidate {
  readonly word: string;
  readonly meaning: string;
}

export function add(command: Command, wfx: Wfx): void {
  command
    .argument('[words...]', 'the words after wfx, the last one being completed')
    .option('--described', 'as word:meaning lines')
    .option('--tabbed', 'as word, tab, meaning lines')
    .action((words: readonly string[], options: { readonly described?: true; readonly tabbed?: true }) => {
      for (const { word, meaning } of candidates(command.parent ?? command, words)) {
        if (options.described === true) wfx.io.print(`${word.replaceAll(':', '\\:')}:${meaning}`);
        else wfx.io.print(options.tabbed === true ? `${word}\t${meaning}` : word);
      }
    });
}

/** What may stand where the last of `words` is; none where a file or a value of the user's own is wanted. */
export function candidates(program: Command, words: readonly string[]): readonly Candidate[] {
  const last = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const { command, pending } = walked(program, before);
  if (pending !== undefined)
    return (pending.argChoices ?? []).map((word) => ({ word, meaning: '' })).filter(startsWith(last));
  if (last.startsWith('-')) return [...optionsOf(command), ...optionsOf(program)].filter(startsWith(last));
  return command.commands
    .filter((one) => !one.name().startsWith('__'))
    .map((one) => ({ word: one.name(), meaning: one.summary() || one.description() }))
    .filter(startsWith(last));
}

const startsWith =
  (last: string) =>
  ({ word }: Candidate): boolean =>
    word.startsWith(last);

/** The command that `words` lead to, and the option that still waits for its value. */
function walked(program: Command, words: readonly string[]): { readonly command: Command; readonly pending?: Option } {
  let command = program;
  let pending: Option | undefined;
  for (const word of words) {
    if (pending !== undefined) {
      pending = undefined;
      continue;
    }
    const option = [...command.options, ...program.options].find(({ short, long }) => word === short || word === long);
    if (option?.required === true) pending = option;
    else command = command.commands.find((one) => one.name() === word || one.aliases().includes(word)) ?? command;
  }
  return pending === undefined ? { command } : { command, pending };
}

const optionsOf = (command: Command): Candidate[] =>
  command.options.map(({ long, short, description }) => ({ word: long ?? short ?? '', meaning: description }));

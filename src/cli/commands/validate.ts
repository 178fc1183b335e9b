import type { Command } from 'commander';
import { check } from '../compiled.ts';
import { EXIT } from '../exit.ts';
import { readSource } from '../flow-file.ts';
import { examples } from '../help.ts';
import { counted, showProblems } from '../problems.ts';
import type { Wfx } from '../wfx.ts';

export function add(command: Command, wfx: Wfx): void {
  command
    .description('Check flow files. Needs no daemon.')
    .argument('<file...>', 'flow files; - reads standard input')
    .addHelpText(
      'after',
      examples(
        ['wfx validate order.yaml', 'show every problem with its line'],
        ['wfx validate flows/*.yaml', 'check all; exits with 2 if any is invalid'],
        ['wfx validate -o json order.yaml', '{valid, problems}, each problem with its file'],
      ),
    )
    .action((files: readonly string[]) => validate(wfx, files));
}

async function validate(wfx: Wfx, files: readonly string[]): Promise<void> {
  const all = [];
  for (const file of files) {
    const source = readSource(file, 'flow file');
    const { flow, problems } = await check(source);
    all.push({ valid: flow !== undefined, problems: problems.map((problem) => ({ file: source.name, ...problem })) });
    if (wfx.json) continue;
    showProblems(wfx.io, source, problems);
    const also = problems.length === 0 ? '' : ` (${counted(problems)})`;
    if (flow === undefined) wfx.io.note(`${wfx.io.paintNote('red', '✗')} ${source.name} is not valid${also}`);
    else wfx.io.print(`${wfx.io.paint('green', '✓')} ${source.name} is valid${also}`);
  }
  const valid = all.every((one) => one.valid);
  if (wfx.json) wfx.io.json({ valid, problems: all.flatMap((one) => one.problems) });
  process.exitCode = valid ? EXIT.ok : EXIT.usage;
}

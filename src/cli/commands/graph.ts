import type { Command } from 'commander';
import { mustCompile } from '../compiled.ts';
import { readSource } from '../flow-file.ts';
import { printGraph } from '../graph.ts';
import { examples } from '../help.ts';
import type { Wfx } from '../wfx.ts';

export function add(command: Command, wfx: Wfx): void {
  command
    .description('Draw flow files. Needs no daemon.')
    .argument('<file...>', 'flow files; - reads standard input')
    .option('--mermaid', 'as a Mermaid flowchart, which Markdown pages draw')
    .addHelpText(
      'after',
      examples(
        ['wfx graph order.yaml', 'from the start downwards, a lane for each branch'],
        ['wfx graph --mermaid order.yaml', 'for a README or a wiki'],
        ['wfx graph -o json order.yaml', 'nodes and ways, for programs'],
      ),
    )
    .action((files: readonly string[], options: { readonly mermaid?: true }) => graph(wfx, files, options));
}

async function graph(wfx: Wfx, files: readonly string[], { mermaid }: { readonly mermaid?: true }): Promise<void> {
  const { graphOf } = await import('../../engine/index.ts');
  for (const [at, file] of files.entries()) {
    const flow = await mustCompile(wfx.io, readSource(file, 'flow file'));
    if (wfx.json) wfx.io.json({ processId: flow.id, name: flow.name, ...graphOf(flow) });
    else if (mermaid === true) wfx.io.print((await import('../../terminal/mermaid.ts')).mermaidOf(graphOf(flow)));
    else {
      if (files.length > 1) wfx.io.print(`${at > 0 ? '\n' : ''}${wfx.io.paint('bold', file)}`);
      await printGraph(wfx.io, flow);
    }
  }
}

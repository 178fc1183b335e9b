import type { Compiled, Flow } from '../engine/flow.ts';
import { CliError, EXIT } from './exit.ts';
import type { SourceFile } from './flow-file.ts';
import type { Io } from './io.ts';
import { counted, showProblems } from './problems.ts';

/** Compiles a flow file here, without a daemon. Problems are sorted by line. */
export async function check({ text }: SourceFile): Promise<Compiled> {
  const { compile } = await import('../engine/parse.ts');
  return compile(text);
}

/** The flow of a file that must be valid; shows what is wrong with it otherwise. */
export async function mustCompile(io: Io, source: SourceFile): Promise<Flow> {
  const { flow, problems } = await check(source);
  if (flow !== undefined) return flow;
  showProblems(io, source, problems);
  throw new CliError(EXIT.usage, `${source.name} is not valid: ${counted(problems)}.`);
}

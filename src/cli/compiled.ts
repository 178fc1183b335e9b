import type { Problem } from '../contract/types.ts';
import { CliError, EXIT } from './exit.ts';
import type { SourceFile } from './flow-file.ts';
import type { Io } from './io.ts';
import { counted, showProblems } from './problems.ts';

/** What a flow file holds, as far as a command needs it. */
export interface CheckedFlow {
  readonly id: string;
  readonly name: string;
  readonly warnings: readonly Problem[];
}

/** Compiles a flow file here, without a daemon. Problems are sorted by line. */
export async function check({
  text,
}: SourceFile): Promise<{ readonly flow?: CheckedFlow; readonly problems: readonly Problem[] }> {
  const { compile } = await import('../engine/parse.ts');
  const { flow, problems } = compile(text);
  return flow === undefined ? { problems } : { flow: { id: flow.id, name: flow.name, warnings: problems }, problems };
}

/** The flow of a file that must be valid; shows what is wrong with it otherwise. */
export async function mustCompile(io: Io, source: SourceFile): Promise<CheckedFlow> {
  const { flow, problems } = await check(source);
  if (flow !== undefined) return flow;
  showProblems(io, source, problems);
  throw new CliError(EXIT.usage, `${source.name} is not valid: ${counted(problems)}.`);
}

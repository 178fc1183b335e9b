import type { Flow, Problem } from '../../src/engine/flow.ts';
import { compile } from '../../src/engine/parse.ts';

const ID = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

/** A flow file with these nodes, written as the lines below `nodes:`. Its first node stands in line 4. */
export const flowOf = (nodes: string) => `id: ${ID}\nname: Test\nnodes:\n${nodes}\n`;

/** A flow of a start that forks to the node `it` with these keys and to an end called `done`. `it` stands in line 5. */
export const nodeOf = (keys: string) =>
  flowOf(`  start: { type: startEvent, next: [it, done] }\n  it: { ${keys} }\n  done: { type: endEvent }`);

export const codes = (text: string) => compile(text).problems.map((problem) => problem.code);
export const errors = (text: string) => compile(text).problems.filter((problem) => problem.severity === 'error');
export const warnings = (text: string) => compile(text).problems.filter((problem) => problem.severity === 'warning');

/** One line for each problem: position, code, path and hint. */
export const lines = (problems: readonly Problem[]) =>
  problems.map((p) => `${p.line}:${p.column} ${p.code} ${p.path}${p.hint === undefined ? '' : ` -> ${p.hint}`}`);

export function compiled(text: string): Flow {
  const { flow, problems } = compile(text);
  if (flow === undefined) throw new Error(JSON.stringify(problems, null, 2));
  return flow;
}

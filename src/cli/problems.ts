import { plain } from '../client/index.ts';
import type { Problem } from '../contract/types.ts';
import { fitted, widthOf } from '../terminal/width.ts';
import type { SourceFile } from './flow-file.ts';
import type { Io } from './io.ts';

/** Columns of a source line that are shown before the caret, where the line is long. */
const BEFORE = 60;
const SHOWN = 110;

/**
 * Shows problems as a compiler does: where (`file:line:column`, which terminals and editors open), what, the line of the
 * source with a caret under the place, and what to do.
 */
export function showProblems(io: Io, { name, text }: SourceFile, problems: readonly Problem[]): void {
  const lines = text.split(/\r\n|[\n\r]/);
  for (const problem of problems) showProblem(io, name, lines[problem.line - 1] ?? '', problem);
}

function showProblem(io: Io, file: string, source: string, problem: Problem): void {
  const paint = io.paintNote;
  const style = problem.severity === 'error' ? 'red' : 'yellow';
  const number = String(problem.line);
  const gutter = ' '.repeat(number.length);
  const { line, caret } = excerpt(source.replace(/^\ufeff/, ''), problem.column - 1);
  io.note(
    `${paint('bold', `${plain(file)}:${problem.line}:${problem.column}`)}: ${paint(style, problem.severity)}: ${plain(problem.message)}`,
  );
  if (line.trim() !== '') {
    io.note(paint('dim', `${number} | `) + line);
    io.note(paint('dim', `${gutter} | `) + ' '.repeat(caret) + paint(style, '^'));
  }
  if (problem.hint !== undefined)
    io.note(`${gutter} ${paint('dim', '=')} ${paint('cyan', 'hint:')} ${plain(problem.hint)}`);
}

/** The part of a source line around `column` (from 0), and the terminal column of the caret in it. */
function excerpt(source: string, column: number): { readonly line: string; readonly caret: number } {
  const start = column > SHOWN - 10 ? column - BEFORE : 0;
  const shown = (text: string): string => plain(text.replaceAll('\t', '  '), SHOWN * 2);
  const head = (start > 0 ? '…' : '') + shown(source.slice(start, column));
  return { line: fitted(head + shown(source.slice(column)), SHOWN), caret: widthOf(head) };
}

/** `2 errors and 1 warning`. */
export function counted(problems: readonly Problem[]): string {
  const of = (severity: string): string => {
    const count = problems.filter((problem) => problem.severity === severity).length;
    return count === 0 ? '' : `${count} ${severity}${count === 1 ? '' : 's'}`;
  };
  return [of('error'), of('warning')].filter((part) => part !== '').join(' and ');
}

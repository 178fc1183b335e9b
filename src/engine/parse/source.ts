import { Composer, type Document, isScalar, Lexer, Parser, type YAMLError } from 'yaml';
import type { Problems } from './problems.ts';
import { explain } from './syntax.ts';
import { type SourceNode, TreeReader } from './tree.ts';

/** Bytes of UTF-8. */
const MAX_BYTES = 1024 * 1024;
/** Maps and lists inside of each other. */
const MAX_DEPTH = 64;
const MAX_LEXEMES = 600_000;
const MAX_STRAY_TOKENS = 20;

/**
 * Reads YAML 1.2 (core schema) or JSON into a tree that knows where everything stands, or reports why not. Never throws;
 * the time is bounded by the size of the text, which is bounded itself. Give the text that `problems` counts in.
 */
export function readSource(text: string, problems: Problems): SourceNode | undefined {
  const refuse = refusal(text);
  if (refuse !== undefined) return report(problems, refuse.offset, refuse.code, refuse.message, refuse.hint);
  const document = withoutStackTraces(() => compose(text, problems));
  if (document === undefined) return undefined;
  if (syntaxErrors(document, text, problems)) return undefined;
  if (document.contents === null || isEmptyScalar(document)) {
    return report(problems, 0, 'EMPTY_FILE', 'the file is empty: a flow needs `id`, `name` and `nodes`', INIT);
  }
  return new TreeReader(text, problems).read(document.contents);
}

const INIT = '`wfx flow init` writes a flow to begin with';

interface Refusal {
  readonly offset: number;
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

/** What can be seen before the text is taken apart. */
function refusal(text: string): Refusal | undefined {
  const bytes = text.length * 3 <= MAX_BYTES ? 0 : text.length > MAX_BYTES ? text.length : utf8Length(text);
  if (bytes > MAX_BYTES) {
    const size = (bytes / MAX_BYTES).toFixed(1);
    return { offset: 0, code: 'TOO_LARGE', message: `the file has ${size} MiB; a flow file may have 1 MiB at most` };
  }
  const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/u.exec(text);
  if (control === null) return undefined;
  const code = control[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  const message = `the control character U+${code} is not allowed in a text file`;
  return { offset: control.index, code: 'CONTROL_CHARACTER', message, hint: `write "\\u${code}" in double quotes` };
}

const utf8Length = (text: string) => new TextEncoder().encode(text).length;

function report(problems: Problems, offset: number, code: string, message: string, hint?: string): undefined {
  problems.add(offset, { severity: 'error', code, path: '', message, hint });
}

/** The parser makes an Error of every mistake; capturing a stack for each of 500,000 would take seconds. */
function withoutStackTraces<T>(work: () => T): T {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return work();
  } finally {
    Error.stackTraceLimit = limit;
  }
}

/** The one document of the text. Deep nesting is refused before the recursive composer could meet it. */
function compose(text: string, problems: Problems): Document.Parsed | undefined {
  const parser = new Parser();
  const composer = new Composer({
    schema: 'core',
    resolveKnownTags: false,
    merge: false,
    uniqueKeys: false,
    logLevel: 'silent',
  });
  const documents: Document.Parsed[] = [];
  let lexemes = 0;
  let strays = 0;
  const take = (tokens: Iterable<Parameters<Composer['next']>[0]>) => {
    for (const token of tokens) {
      if (token.type === 'error' || token.type === 'doc-end') strays += 1;
      for (const document of composer.next(token)) documents.push(document as Document.Parsed);
    }
  };
  for (const lexeme of new Lexer().lex(text)) {
    take(parser.next(lexeme));
    lexemes += 1;
    if (parser.stack.length > MAX_DEPTH + 2) {
      return report(problems, parser.offset, 'TOO_DEEP', `nested deeper than ${MAX_DEPTH} levels`);
    }
    if (lexemes > MAX_LEXEMES) return report(problems, parser.offset, 'TOO_LARGE', 'the file holds too many values');
    if (documents.length > 1 || strays > MAX_STRAY_TOKENS) break;
  }
  take(parser.end());
  for (const document of composer.end(true, text.length)) documents.push(document as Document.Parsed);
  const [first, second] = documents;
  if (second === undefined || !hasContent(second)) return first;
  const offset = second.range[0];
  return report(
    problems,
    offset,
    'MULTIPLE_DOCUMENTS',
    'a second document begins here: one file holds one flow',
    SPLIT,
  );
}

const SPLIT = 'remove the `---`, or put each flow into a file of its own';

const hasContent = (document: Document.Parsed) => document.contents !== null && !isEmptyScalar(document);

const isEmptyScalar = ({ contents }: Document.Parsed) =>
  isScalar(contents) && contents.value === null && contents.source === '';

/** Reports the first error of each line; true when there was any. */
function syntaxErrors(document: Document.Parsed, text: string, problems: Problems): boolean {
  const unknownTags = document.warnings.filter((warning) => warning.code === 'TAG_RESOLVE_FAILED');
  const lines = new Set<number>();
  for (const error of [...document.errors, ...unknownTags]) {
    const offset = positionOf(error, text);
    const { line } = problems.position(offset);
    if (lines.has(line) || lines.size >= MAX_STRAY_TOKENS) continue;
    lines.add(line);
    const { code, message, hint, offset: better } = explain(error, offset, text);
    problems.add(better ?? offset, { severity: 'error', code, path: '', message, hint });
  }
  return lines.size > 0;
}

const positionOf = (error: YAMLError, text: string) => Math.min(Math.max(error.pos[0], 0), text.length);

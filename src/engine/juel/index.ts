import type { Json } from '../json.ts';
import { type Ast, type ExpressionProblem, Malformed } from './ast.ts';
import { toBoolean } from './coerce.ts';
import { Evaluation, type Lookup } from './evaluate.ts';
import { tokenize } from './lexer.ts';
import { Parser } from './parser.ts';

export type { Ast, ExpressionProblem } from './ast.ts';
export { ExpressionError } from './ast.ts';
export type { Lookup } from './evaluate.ts';

/** A condition's text in UTF-16 units. */
const MAX_LENGTH = 64 * 1024;

/** A parsed condition. `names` are the variables it reads, each time it reads one, with their offsets in `text`. */
export interface Condition {
  readonly text: string;
  readonly root: Ast;
  readonly names: readonly { readonly name: string; readonly offset: number }[];
}

export type Parsed =
  | { readonly ok: true; readonly condition: Condition }
  | { readonly ok: false; readonly problem: ExpressionProblem };

/**
 * Reads a condition: one `${…}` in JUEL, the Unified Expression Language 2.2 (decisions §4).
 *
 * There are no function or method calls. Text beside an expression makes a text of the whole, which is hardly ever
 * meant: it is taken only around constants, EL's way to write a literal `${`; anywhere else it is a problem, and so are
 * `#{…}`, a text without an expression, one over 64 KiB, and nesting deeper than 200 levels.
 */
export function parseCondition(text: string): Parsed {
  try {
    if (text.length > MAX_LENGTH)
      throw new Malformed(`the condition is longer than ${MAX_LENGTH} characters`, MAX_LENGTH);
    const root = parseParts(text);
    return { ok: true, condition: { text, root, names: namesOf(root) } };
  } catch (error) {
    if (error instanceof Malformed) return { ok: false, problem: { message: error.message, offset: error.offset } };
    throw error;
  }
}

/**
 * The value of a condition. Throws ExpressionError where EL has none: an unknown variable, a text where a number is
 * needed, a property of a number.
 *
 * JSON has one kind of number where Java has Long and Double, so 1 and 1.0 are the same here: `1 == '1.0'` is true
 * rather than an error, arithmetic is that of doubles (whole numbers exact to 2^53), and `%` by zero is always an error.
 * `/` divides without rounding, as in EL. Texts become numbers by EL's rule ("1", "1.5", "1e3"; the empty text is 0). A
 * property that an object lacks and an index outside a list are null, and a number may name an object's property.
 */
export function evaluate(condition: Condition, lookup: Lookup): Json {
  return new Evaluation(lookup).value(condition.root);
}

/** The value as EL coerces it to a boolean: null is false, a text is true when it is "true" in any case; a number, a list or an object is an ExpressionError. */
export function test(condition: Condition, lookup: Lookup): boolean {
  return toBoolean(evaluate(condition, lookup), 0);
}

function parseParts(text: string): Ast {
  const start = text.length - text.trimStart().length;
  const end = text.trimEnd().length;
  const parts: Ast[] = [];
  let at = start;
  while (at < end) {
    const opened = text.indexOf('${', at);
    const literal = text.slice(at, opened < 0 ? end : opened);
    const deferred = literal.indexOf('#{');
    if (deferred >= 0) throw new Malformed('#{…} is not known here: write ${…}', at + deferred);
    if (literal !== '') parts.push({ kind: 'constant', value: literal });
    if (opened < 0) break;
    const { list, end: closed } = tokenize(text, opened + 2);
    parts.push(new Parser(list).parse());
    at = closed;
  }
  const [only, ...more] = parts;
  if (only === undefined) throw new Malformed('the condition is empty: write ${…}', 0);
  if (!text.includes('${')) throw new Malformed(`a condition is written in \${…}: write ${wrapped(text)}`, start);
  if (more.length === 0) return only;
  const whole: Ast = { kind: 'text', parts };
  if (namesOf(whole).length > 0) {
    throw new Malformed('a condition is one single ${…}: put everything inside its braces', beside(text, start));
  }
  return whole;
}

const wrapped = (text: string): string => (text.length > 60 ? '${…} around it' : `\${${text.trim()}}`);

/** Where the text beside the first `${…}` begins. */
function beside(text: string, start: number): number {
  return text.startsWith('${', start) ? tokenize(text, start + 2).end : start;
}

function namesOf(root: Ast): { name: string; offset: number }[] {
  const found: { name: string; offset: number }[] = [];
  const open: Ast[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.kind === 'name') found.push({ name: node.name, offset: node.offset });
    else open.push(...childrenOf(node));
  }
  return found.sort((a, b) => a.offset - b.offset);
}

function childrenOf(node: Ast): readonly Ast[] {
  switch (node.kind) {
    case 'path':
      return [node.base, ...node.steps.map((step) => step.key)];
    case 'unary':
      return [node.operand];
    case 'chain':
      return [node.first, ...node.links.map((link) => link.operand)];
    case 'choice':
      return [...node.cases.flatMap((one) => [one.when, one.value]), node.otherwise];
    case 'text':
      return node.parts;
    default:
      return [];
  }
}

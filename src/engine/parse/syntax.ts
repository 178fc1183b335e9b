import type { YAMLError } from 'yaml';

export interface Explanation {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  /** Where the mistake is, when that is not where the parser noticed it. */
  readonly offset?: number;
}

/** The line that an error is in: all of it, what stands before its value, and the value. */
interface Line {
  readonly text: string;
  readonly before: string;
  readonly value: string;
  readonly start: number;
}

/** What an error of the YAML parser means to the author of a flow, and what to do about it. */
export function explain(error: YAMLError, offset: number, text: string): Explanation {
  const line = lineAt(text, offset);
  for (const rule of RULES) {
    const explanation = rule(error, line, text);
    if (explanation !== undefined) return { code: 'YAML_SYNTAX', ...explanation };
  }
  return { code: 'YAML_SYNTAX', message: `not valid YAML: ${lowered(error.message)}` };
}

type Rule = (error: YAMLError, line: Line, text: string) => Omit<Explanation, 'code'> | Explanation | undefined;

/** The first one that knows the error speaks. */
const RULES: readonly Rule[] = [
  tag,
  specialSpace,
  tab,
  alias,
  openMap,
  braceInFlow,
  directive,
  reserved,
  quote,
  escapeSequence,
  open,
  colon,
  list,
  indentation,
];

function tag(error: YAMLError): Explanation | undefined {
  if (error.code !== 'TAG_RESOLVE_FAILED') return undefined;
  const name = /Unresolved tag: (\S{1,80})/u.exec(error.message)?.[1]?.replace(/^tag:yaml\.org,2002:/u, '!!') ?? '';
  return {
    code: 'UNKNOWN_TAG',
    message: `the tag ${name} is not allowed: flow files hold plain values only`,
    hint: 'remove the tag, or quote the text',
  };
}

function specialSpace(_: YAMLError, { text, start }: Line) {
  const found = /[\u00a0\u2000-\u200b\u202f\u205f\u3000\ufeff]/u.exec(text);
  if (found === null) return undefined;
  const code = found[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  const message = `this looks like a space but is the character U+${code}, which YAML takes for a letter`;
  return { message, hint: 'replace it with an ordinary space', offset: start + found.index };
}

function tab(error: YAMLError, line: Line) {
  if (error.code !== 'TAB_AS_INDENT' && !/^ *\t/u.test(line.text)) return undefined;
  return { message: 'a tab is used for indentation', hint: 'indent with spaces' };
}

function alias(error: YAMLError, { text, before, value, start }: Line) {
  const message = "a text without quotes can't begin with *, which makes it a YAML alias";
  if (value.startsWith('*')) return { message, hint: quoted(before, value), offset: start + before.length };
  const found = /([\w-]+:\s+)(\*[^,}\]"']*)/u.exec(text);
  if (found === null || !/alias/iu.test(error.message)) return undefined;
  const [all, key = '', inner = ''] = found;
  return { message, hint: quoted(key, inner), offset: start + found.index + all.length - inner.length };
}

/** `{name}` where more text follows: YAML takes the brace for the beginning of a map. */
function openMap(_: YAMLError, { before, value, start }: Line) {
  if (!/^\{+[^{}:,]*\}+\s*[^\s#}]/u.test(value)) return undefined;
  const message = "a text without quotes can't begin with {, which opens a YAML map";
  return { message, hint: quoted(before, value), offset: start + before.length };
}

const BRACES_IN_FLOW = /([{,]\s*[\w-]+:\s+)((?:[^"'\s,[\]{}][^"',[\]{}]*)?\{[^{}]*\}[^,}\]]*)/u;

/** Inside of { } or [ ] a text without quotes can't hold a brace at all. */
function braceInFlow(error: YAMLError, { text, value, start }: Line) {
  if (!/^[{[]/u.test(value) || error.code === 'BAD_DQ_ESCAPE') return undefined;
  const found = BRACES_IN_FLOW.exec(text);
  if (found === null) return undefined;
  const [, key = '', inner = ''] = found;
  const message = 'inside of { } a text with braces needs quotes';
  return { message, hint: quoted(key, inner), offset: start + found.index + key.length };
}

function directive(error: YAMLError, { text, start }: Line) {
  if (!text.startsWith('%') || !/directive/iu.test(error.message)) return undefined;
  return {
    message: "a line can't begin with %, which makes it a YAML directive",
    hint: 'quote the key',
    offset: start,
  };
}

function reserved(error: YAMLError, { before, value }: Line) {
  if (error.code !== 'BAD_SCALAR_START') return undefined;
  const character = /character (.)/u.exec(error.message)?.[1] ?? value.slice(0, 1);
  return { message: `a text without quotes can't begin with ${character}`, hint: quoted(before, value) };
}

function quote(error: YAMLError, { before, value }: Line, text: string) {
  if (/^Missing closing/u.test(error.message)) {
    const opened = /(?:[:[{,-][ \t]+|^)(["'])(?:(?!\1).)*$/mu.exec(text);
    const at = opened === null ? {} : { offset: opened.index + opened[0].indexOf(opened[1] as string) };
    return { message: 'a quote is opened and never closed', ...at };
  }
  if (error.code !== 'UNEXPECTED_TOKEN' || !/^["']/u.test(value)) return undefined;
  const inner = value.replace(/^(["'])(.*)\1$/u, '$2');
  return {
    message: 'text goes on after the closing quote',
    hint: inner === value ? 'put all of it into the quotes' : quoted(before, inner),
  };
}

function escapeSequence(error: YAMLError) {
  if (error.code !== 'BAD_DQ_ESCAPE') return undefined;
  const sequence = /sequence (.*)$/u.exec(error.message)?.[1] ?? '\\';
  return {
    message: `in double quotes ${sequence.slice(0, 12)} means nothing`,
    hint: 'write \\\\ for a backslash, or use single quotes',
  };
}

function open(error: YAMLError) {
  const closing = /(?:end with a|Expected .*?) ([\]}])/u.exec(error.message)?.[1];
  if (closing === undefined) return undefined;
  return { message: `a ${closing === ']' ? '[' : '{'} is opened and not closed with ${closing}` };
}

function colon(error: YAMLError, { text, before, value }: Line) {
  if (error.code === 'BLOCK_AS_IMPLICIT_KEY' && /:(\s|$)/u.test(value)) {
    return {
      message: "a text without quotes can't hold a colon and a space, which begin another key",
      hint: quoted(before, value),
    };
  }
  const glued = /^\s*(?:- )?([\w-]+):(\S.*)$/u.exec(text);
  const keyless = /followed by map values|on a single line/u.test(error.message);
  if (glued !== null && keyless)
    return { message: 'a space is missing after the colon', hint: `write ${clip(`${glued[1]}: ${glued[2]}`)}` };
  if (!/followed by map values/u.test(error.message)) return undefined;
  return {
    message: `a key without a value: ${JSON.stringify(clip(text.trim()))} has no colon`,
    hint: 'write `key: value`',
  };
}

function list(error: YAMLError, { value }: Line) {
  if (!/block-seq-ind|Block collections are not allowed/u.test(error.message)) return undefined;
  return {
    message: "a list can't begin on the line of its key",
    hint: value.startsWith('- ') ? `write [${clip(value.slice(2))}], or begin a new line` : 'begin a new line',
  };
}

function indentation(error: YAMLError) {
  const codes = ['BAD_INDENT', 'BLOCK_AS_IMPLICIT_KEY', 'MULTILINE_IMPLICIT_KEY', 'BLOCK_IN_FLOW'];
  if (!codes.includes(error.code)) return undefined;
  return {
    message: `the indentation does not fit: ${lowered(error.message)}`,
    hint: 'keys of one map begin in the same column',
  };
}

function quoted(before: string, value: string): string {
  const key = /([\w-]+):\s*$/u.exec(before)?.[1];
  const text = value.replace(/\s+#.*$/u, '').trimEnd();
  return `quote it: ${key === undefined ? '' : `${key}: `}${JSON.stringify(clip(text))}`;
}

const clip = (text: string) => (text.length > 80 ? `${text.slice(0, 79)}…` : text);

const lowered = (message: string) => clip(message.slice(0, 1).toLowerCase() + message.slice(1)).replace(/:$/u, '');

function lineAt(text: string, offset: number): Line {
  let start = text.lastIndexOf('\n', offset - 1) + 1;
  if (text[offset] === '\n' && offset > 0 && start > offset) start = text.lastIndexOf('\n', offset - 2) + 1;
  const next = text.indexOf('\n', start);
  const line = text.slice(start, Math.min(next < 0 ? text.length : next, start + 2000)).replace(/\r$/u, '');
  const before = /^\s*(?:- +)*(?:[\w.-]+:\s+|"[^"]*":\s+)?/u.exec(line)?.[0] ?? '';
  return { text: line, before, value: line.slice(before.length).trimEnd(), start };
}

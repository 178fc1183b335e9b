import { isObject, type Json, type JsonObject, member } from './json.ts';

/** One `{a.b}` in a template. */
export interface Reference {
  readonly path: readonly string[];
  /** As written: what stays in the text when nothing is found. */
  readonly text: string;
  /** Where in the template's source, in UTF-16 units. */
  readonly offset: number;
}

/** A text with references. `parts` in order make up the source; no two texts stand side by side, and none is empty. */
export interface Template {
  readonly source: string;
  readonly parts: readonly (string | Reference)[];
}

/** A JSON tree whose texts are templates, parsed once. A subtree without references is one constant. */
export type ValueTemplate =
  | { readonly kind: 'constant'; readonly value: Json }
  | { readonly kind: 'text'; readonly template: Template }
  | { readonly kind: 'list'; readonly items: readonly ValueTemplate[] }
  | { readonly kind: 'object'; readonly entries: readonly (readonly [key: string, value: ValueTemplate])[] };

/** The value that a reference stands for, or undefined: then its text stays as it is written. */
export type Resolve = (reference: Reference) => Json | undefined;

/** Told of each reference that stayed literal, once for each place it stands in. */
export type Unresolved = (reference: Reference) => void;

/** A template that asks for more than one value may be. */
export class TemplateError extends Error {
  readonly code: 'TEMPLATE_TOO_LARGE' | 'TEMPLATE_TOO_DEEP';

  constructor(code: TemplateError['code'], message: string) {
    super(message);
    this.name = 'TemplateError';
    this.code = code;
  }
}

/** What one template resolves to, as JSON text, in UTF-16 units. */
const MAX_SIZE = 4 * 1024 * 1024;
const MAX_DEPTH = 500;

const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const SEGMENT = /\.[A-Za-z0-9_]+/y;

/**
 * Reads a template (interface "Variable resolution rules", decisions §4). Only `{name}` and `{name.segment.0}` are
 * references; `${name}` and every other brace are literal text, so nothing here can be malformed. `{{a}}` is a brace,
 * the value of a, and a brace.
 */
export function parseTemplate(source: string): Template {
  const parts: (string | Reference)[] = [];
  let from = 0;
  for (let at = source.indexOf('{'); at >= 0; at = source.indexOf('{', at + 1)) {
    const reference = source[at - 1] === '$' ? undefined : referenceAt(source, at);
    if (reference === undefined) continue;
    if (at > from) parts.push(source.slice(from, at));
    parts.push(reference);
    from = at + reference.text.length;
  }
  if (from < source.length) parts.push(source.slice(from));
  return { source, parts };
}

function referenceAt(source: string, offset: number): Reference | undefined {
  const path: string[] = [];
  let at = offset + 1;
  for (let part = matchAt(NAME, source, at); part !== undefined; part = matchAt(SEGMENT, source, at)) {
    path.push(path.length === 0 ? part : part.slice(1));
    at += part.length;
  }
  if (path.length === 0 || source[at] !== '}') return undefined;
  return { path, text: source.slice(offset, at + 1), offset };
}

/**
 * Reads a JSON tree whose texts are templates; keys are literal. Throws TemplateError TEMPLATE_TOO_DEEP below 500
 * levels.
 */
export function parseValue(value: Json): ValueTemplate {
  return parseAt(value, 0);
}

function parseAt(value: Json, depth: number): ValueTemplate {
  if (depth > MAX_DEPTH) {
    throw new TemplateError('TEMPLATE_TOO_DEEP', `the value is nested deeper than ${MAX_DEPTH} levels`);
  }
  if (typeof value === 'string') {
    const template = parseTemplate(value);
    return template.parts.some((part) => typeof part !== 'string') ? { kind: 'text', template } : constant(value);
  }
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => parseAt(item, depth + 1));
    return items.every((item) => item.kind === 'constant') ? constant(value) : { kind: 'list', items };
  }
  if (!isObject(value)) return constant(value);
  const entries = Object.keys(value).map((key) => [key, parseAt(value[key] as Json, depth + 1)] as const);
  return entries.every(([, entry]) => entry.kind === 'constant') ? constant(value) : { kind: 'object', entries };
}

const constant = (value: Json): ValueTemplate => ({ kind: 'constant', value });

/**
 * The template's value. Exactly one reference keeps the value's type; inside text, texts go in as they are and
 * everything else as JSON. What a reference brings in is never resolved again.
 *
 * Throws TemplateError TEMPLATE_TOO_LARGE beyond 4 MiB of text.
 */
export function resolveTemplate(template: Template, resolve: Resolve, unresolved?: Unresolved): Json {
  return new Resolution(resolve, unresolved).template(template);
}

/** As `resolveTemplate`, but always text: a single reference to a number gives its digits. */
export function resolveText(template: Template, resolve: Resolve, unresolved?: Unresolved): string {
  return new Resolution(resolve, unresolved).text(template);
}

/** The texts of a list of templates; one that is exactly a reference to a list stands for that list's items. */
export function resolveTexts(templates: readonly Template[], resolve: Resolve, unresolved?: Unresolved): string[] {
  const resolution = new Resolution(resolve, unresolved);
  return templates.flatMap((template) => {
    const value = resolution.template(template);
    return (Array.isArray(value) ? value : [value]).map((item: Json) => asText(item));
  });
}

/**
 * A tree with its templates resolved. Constant subtrees are passed on as they are, not copied; objects that are made
 * have no prototype, so that `__proto__` is a key like any other. The limit of 4 MiB is on the whole tree.
 */
export function resolveValue(value: ValueTemplate, resolve: Resolve, unresolved?: Unresolved): Json {
  return new Resolution(resolve, unresolved).value(value);
}

/** Every reference in a template or a tree, in the order written. */
export function referencesOf(value: ValueTemplate | Template): readonly Reference[] {
  if ('parts' in value) return value.parts.filter((part) => typeof part !== 'string');
  switch (value.kind) {
    case 'constant':
      return [];
    case 'text':
      return referencesOf(value.template);
    case 'list':
      return value.items.flatMap(referencesOf);
    case 'object':
      return value.entries.flatMap(([, entry]) => referencesOf(entry));
  }
}

/** What `path` leads to in `variables`, by own properties and list indices only; undefined where it leads nowhere. */
export function referenceIn(variables: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = variables;
  for (const segment of path) {
    if (value === undefined) return undefined;
    value = member(value, segment);
  }
  return value;
}

/** The resolving of one tree, with what is left of its size. */
class Resolution {
  readonly #resolve: Resolve;
  readonly #unresolved: Unresolved | undefined;
  #left = MAX_SIZE;

  constructor(resolve: Resolve, unresolved: Unresolved | undefined) {
    this.#resolve = resolve;
    this.#unresolved = unresolved;
  }

  value(value: ValueTemplate): Json {
    switch (value.kind) {
      case 'constant':
        return value.value;
      case 'text':
        return this.template(value.template);
      case 'list':
        return value.items.map((item) => this.value(item));
      case 'object': {
        const object: Record<string, Json> = Object.create(null);
        for (const [key, entry] of value.entries) object[key] = this.value(entry);
        return object;
      }
    }
  }

  template(template: Template): Json {
    const [only, ...more] = template.parts;
    if (only === undefined || typeof only === 'string' || more.length > 0) return this.text(template);
    const value = this.#found(only);
    return value === undefined ? only.text : value;
  }

  text(template: Template): string {
    return template.parts.map((part) => (typeof part === 'string' ? this.#literal(part) : this.#inText(part))).join('');
  }

  #literal(text: string): string {
    this.#spend(text.length);
    return text;
  }

  #inText(reference: Reference): string {
    const value = this.#found(reference);
    return value === undefined ? reference.text : asText(value);
  }

  #found(reference: Reference): Json | undefined {
    const value = this.#resolve(reference);
    if (value === undefined) {
      this.#spend(reference.text.length);
      this.#unresolved?.(reference);
    } else this.#weigh(value);
    return value;
  }

  /** Spends about as much as the value has JSON text, stopping as soon as that is too much. */
  #weigh(value: Json): void {
    const open: Json[] = [value];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (typeof next === 'string') this.#spend(next.length);
      else if (Array.isArray(next)) {
        this.#spend(2 + next.length);
        for (const item of next) open.push(item);
      } else if (isObject(next)) {
        for (const key of Object.keys(next)) {
          this.#spend(key.length + 4);
          open.push(next[key] as Json);
        }
      } else this.#spend(1);
    }
  }

  #spend(size: number): void {
    this.#left -= size;
    if (this.#left >= 0) return;
    throw new TemplateError(
      'TEMPLATE_TOO_LARGE',
      'the resolved text is larger than 4 MiB: refer to less, or keep large data in a file',
    );
  }
}

const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  type Pair,
  type ParsedNode,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import type { Json } from '../json.ts';
import type { Problems } from './problems.ts';

const MAX_ALIASES = 100;
/** Values in the whole file, those counted again that an alias repeats. */
const MAX_VALUES = 250_000;
const MAX_DEPTH = 64;

/** A value of the file and where it stands, offsets in UTF-16 units. */
export interface SourceNode {
  readonly value: Json;
  readonly start: number;
  readonly end: number;
  /** A scalar as it is written, without quotes. */
  readonly written: string;
  /** Was refused here already. */
  readonly broken: boolean;
  readonly entries?: ReadonlyMap<string, SourceEntry>;
  readonly items?: readonly SourceNode[];
  /** Values inside, itself included, with what aliases repeat. */
  readonly size: number;
  /** Levels of maps and lists. */
  readonly height: number;
}

export interface SourceEntry {
  readonly keyStart: number;
  readonly node: SourceNode;
}

/** Turns the YAML parser's document into plain JSON values with positions, refusing what JSON does not have. */
export class TreeReader {
  readonly #text: string;
  readonly #problems: Problems;
  readonly #anchors = new Map<string, SourceNode | 'open'>();
  #aliases = 0;

  constructor(text: string, problems: Problems) {
    this.#text = text;
    this.#problems = problems;
  }

  read(root: ParsedNode): SourceNode | undefined {
    const node = this.#node(root, '');
    if (node.size <= MAX_VALUES && node.height <= MAX_DEPTH) return node;
    const what = node.size > MAX_VALUES ? `more than ${MAX_VALUES} values` : `more than ${MAX_DEPTH} levels`;
    this.#error(node.start, 'TOO_LARGE', '', `with its aliases written out the file would have ${what}`);
    return undefined;
  }

  #node(node: ParsedNode, path: string): SourceNode {
    if (isAlias(node)) return this.#alias(node, path);
    const anchor = node.anchor;
    if (anchor !== undefined) this.#anchors.set(anchor, 'open');
    const read = isMap(node)
      ? this.#map(node, path)
      : isScalar(node)
        ? this.#scalar(node, path)
        : this.#list(node, path);
    if (anchor !== undefined) this.#anchors.set(anchor, read);
    return read;
  }

  #alias(node: Alias.Parsed, path: string): SourceNode {
    const [start, end] = node.range;
    const target = this.#anchors.get(node.source);
    const written = this.#text.slice(start, end);
    const broken: SourceNode = { value: null, start, end, written, broken: true, size: 1, height: 0 };
    this.#aliases += 1;
    if (this.#aliases > MAX_ALIASES) {
      if (this.#aliases === MAX_ALIASES + 1) {
        this.#error(start, 'TOO_MANY_ALIASES', path, `the file has more than ${MAX_ALIASES} aliases`);
      }
      return broken;
    }
    if (target === undefined) {
      const message = `${written} without quotes is a YAML alias, and there is no anchor &${node.source} above it`;
      return this.#refuse(
        broken,
        'UNKNOWN_ALIAS',
        path,
        message,
        `quote it if it is a text: ${JSON.stringify(written)}`,
      );
    }
    if (target === 'open')
      return this.#refuse(broken, 'CYCLIC_ALIAS', path, `the alias ${written} stands inside of what it refers to`);
    return target.size > MAX_VALUES ? broken : target;
  }

  #list(node: YAMLSeq.Parsed, path: string): SourceNode {
    const items = node.items.map((item, index) => this.#node(item as ParsedNode, joined(path, String(index))));
    return this.#collection(node, items, { items, value: items.map((item) => item.value) });
  }

  #map(node: YAMLMap.Parsed, path: string): SourceNode {
    const entries = new Map<string, SourceEntry>();
    const value: Record<string, Json> = Object.create(null);
    if (this.#isBraceTrap(node, path)) return { ...this.#collection(node, [], { value }), broken: true };
    for (const pair of node.items as Pair<ParsedNode, ParsedNode | null>[]) {
      const name = this.#key(pair.key, entries, path);
      if (name === undefined) continue;
      const keyStart = pair.key.range[0];
      const read =
        pair.value === null ? this.#valueless(pair.key, node, name, path) : this.#node(pair.value, joined(path, name));
      entries.set(name, { keyStart, node: read });
      value[name] = read.value;
    }
    return this.#collection(
      node,
      Array.from(entries.values(), (entry) => entry.node),
      { entries, value },
    );
  }

  #collection(
    node: ParsedNode,
    inside: readonly SourceNode[],
    rest: Pick<SourceNode, 'value' | 'items' | 'entries'>,
  ): SourceNode {
    let size = 1;
    let height = 0;
    for (const item of inside) {
      size += item.size;
      height = Math.max(height, item.height);
    }
    const [start, end] = node.range;
    return { start, end, written: '', broken: false, size, height: height + 1, ...rest };
  }

  /** `{name}` without quotes is a map whose only key has no value: the likeliest mistake of all (decisions §4). */
  #isBraceTrap(node: YAMLMap.Parsed, path: string): boolean {
    const pairs = node.items as Pair<ParsedNode, ParsedNode | null>[];
    if (!node.flow || pairs.length === 0 || !pairs.every((pair) => pair.value === null)) return false;
    const written = this.#text.slice(node.range[0], node.range[1]);
    const glued = /^\{\s*([\w-]+):(\S[^,]*)\}$/u.exec(written);
    if (glued !== null) {
      const hint = `write { ${glued[1]}: ${glued[2]?.trim()} }`;
      this.#error(node.range[0], 'MISSING_SPACE', path, 'a space is missing after the colon', hint);
      return true;
    }
    const text = written
      .replace(/\s+/gu, ' ')
      .replace(/^\{\s*(\{.*\})\s*\}$/u, '$1')
      .replace(/^\{ *(.*?) *\}$/u, '{$1}')
      .slice(0, 80);
    const message = `${written.slice(0, 80)} without quotes is a YAML map, not a text with a reference`;
    this.#error(node.range[0], 'UNQUOTED_BRACES', path, message, `quote it: ${JSON.stringify(text)}`);
    return true;
  }

  #valueless(key: ParsedNode, map: YAMLMap.Parsed, name: string, path: string): SourceNode {
    const [start, end] = key.range;
    if (map.flow) {
      const hint = /^[\w-]+:\S/u.test(name) ? 'put a space after the colon' : `write { ${name}: value }`;
      this.#error(start, 'MISSING_VALUE', joined(path, name), `the key \`${name.slice(0, 80)}\` has no value`, hint);
    }
    return { value: null, start, end, written: '', broken: Boolean(map.flow), size: 1, height: 0 };
  }

  /** The key's name, or undefined where the pair can't be kept. */
  #key(key: ParsedNode, entries: ReadonlyMap<string, SourceEntry>, path: string): string | undefined {
    const start = key.range[0];
    if (isScalar(key) && key.anchor !== undefined)
      this.#anchors.set(key.anchor, this.#scalar(key as Scalar.Parsed, path));
    const scalar = isAlias(key) ? this.#alias(key, path).value : isScalar(key) ? (key as Scalar).value : undefined;
    if (scalar === undefined) {
      return this.#error(
        start,
        'BAD_KEY',
        path,
        'a key must be a text, not a list or a map',
        'quote it if it is a text',
      );
    }
    if (typeof scalar !== 'string') {
      const written = this.#text.slice(start, key.range[1]);
      const what = scalar === null ? 'empty' : `a ${typeof scalar}`;
      const message =
        written === '' ? 'a key is missing before the colon' : `the key ${written} is ${what}, and keys must be texts`;
      return this.#error(start, 'BAD_KEY', path, message, written === '' ? undefined : `quote it: "${written}"`);
    }
    if (scalar === '<<' && isScalar(key) && key.type === 'PLAIN') {
      const message = 'there is no key `<<`: YAML 1.2 has no merge keys';
      return this.#error(start, 'UNKNOWN_KEY', joined(path, '<<'), message, 'write the keys out');
    }
    const first = entries.get(scalar);
    if (first === undefined) return scalar;
    const { line } = this.#problems.position(first.keyStart);
    const message = `the key \`${scalar.slice(0, 80)}\` is there twice, first in line ${line}`;
    return this.#error(start, 'DUPLICATE_KEY', joined(path, scalar), message, 'rename or remove one of them');
  }

  #scalar(node: Scalar.Parsed, path: string): SourceNode {
    const [start, end] = node.range;
    const written = node.source;
    const value = node.value as Json;
    const read: SourceNode = { value, start, end, written, broken: false, size: 1, height: 0 };
    return typeof value === 'number' ? this.#number(read, path) : read;
  }

  #number(read: SourceNode, path: string): SourceNode {
    const { value, written } = read;
    const hint = `quote it if it is a text: "${written.slice(0, 80)}"`;
    if (!Number.isFinite(value)) {
      return this.#refuse(
        { ...read, value: null },
        'NOT_A_NUMBER',
        path,
        `${written.slice(0, 80)} is no number that JSON can hold`,
        hint,
      );
    }
    const doubt = this.#doubt(value as number, written, path);
    if (doubt !== undefined) {
      this.#problems.add(read.start, { severity: 'warning', code: 'NUMBER_CHANGED', path, message: doubt, hint });
    }
    return read;
  }

  /** Numbers that don't come out as they are written. */
  #doubt(value: number, written: string, path: string): string | undefined {
    const digits = written.slice(0, 80);
    if (/^[-+]?\d+$/u.test(written) && !Number.isSafeInteger(value))
      return `${digits} is too large to be exact: it becomes ${value}`;
    if (/^[-+]?0\d/u.test(written)) return `${digits} is the number ${value}: its leading zero is lost`;
    if (/\.\d*0$/u.test(written) && /(version|release|tag|revision)$/iu.test(path))
      return `${digits} is the number ${value}`;
    return undefined;
  }

  #refuse(node: SourceNode, code: string, path: string, message: string, hint?: string): SourceNode {
    this.#error(node.start, code, path, message, hint);
    return { ...node, broken: true };
  }

  #error(offset: number, code: string, path: string, message: string, hint?: string): undefined {
    this.#problems.add(offset, { severity: 'error', code, path, message, hint });
  }
}

/** A path with one more step; odd names are quoted. */
export function joined(path: string, step: string): string {
  const name = /^[\w$<-]+$/u.test(step) ? step : JSON.stringify(step.slice(0, 80));
  return path === '' ? name : `${path}.${name}`;
}

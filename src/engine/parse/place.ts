import type { Body, Connection, Problem } from '../flow.ts';
import type { Json } from '../json.ts';
import type { At, Detail } from '../keys/kind.ts';
import type { Problems } from './problems.ts';
import { joined, type SourceNode } from './tree.ts';

/** The node whose keys are being read: takes what its values tell of the graph. */
export interface Owner {
  readonly id: string;
  connect(connection: Connection, at: At): void;
  body(value: Json, at: Place): Body | undefined;
}

/** What is shared by all places of a file. */
export interface File {
  readonly text: string;
  readonly problems: Problems;
  /** First names of the variables that something sets, with the nodes that do; '' is what an instance begins with. */
  readonly set: Map<string, Set<string>>;
  /** First names of the variables that something reads, with the first place in each node. */
  readonly used: Map<string, Map<string, Use>>;
}

/** Where a variable is read. */
export interface Use {
  readonly at: At;
  readonly offset: number;
}

/** A value in the source tree, as the kinds see it. */
export class Place implements At {
  readonly path: string;
  readonly name: string;
  readonly source: SourceNode;
  readonly keyStart: number;
  readonly #file: File;
  readonly #owner: Owner | undefined;

  constructor(
    file: File,
    source: SourceNode,
    from: { path?: string; name?: string; keyStart?: number; owner?: Owner | undefined } = {},
  ) {
    this.#file = file;
    this.source = source;
    this.path = from.path ?? '';
    this.name = from.name ?? 'the file';
    this.keyStart = from.keyStart ?? source.start;
    this.#owner = from.owner;
  }

  get node(): string {
    return this.#owner?.id ?? '';
  }

  get written(): string {
    return this.source.written;
  }

  get broken(): boolean {
    return this.source.broken;
  }

  key(name: string): Place {
    const entry = this.source.entries?.get(name);
    return this.#inner(name, entry?.node ?? this.source, entry?.keyStart ?? this.keyStart);
  }

  item(index: number): Place {
    const node = this.source.items?.[index] ?? this.source;
    return this.#inner(String(index), node, node.start, `${this.name}[${index}]`);
  }

  #inner(step: string, source: SourceNode, keyStart: number, name = step): Place {
    return new Place(this.#file, source, { path: joined(this.path, step), name, keyStart, owner: this.#owner });
  }

  /** The same place, read on behalf of a node. */
  ownedBy(owner: Owner): Place {
    const { path, name, keyStart } = this;
    return new Place(this.#file, this.source, { path, name, keyStart, owner });
  }

  error(code: string, message: string, detail: Detail = {}): undefined {
    this.#report('error', code, message, detail);
  }

  warning(code: string, message: string, detail: Detail = {}): undefined {
    this.#report('warning', code, message, detail);
  }

  #report(severity: Problem['severity'], code: string, message: string, detail: Detail): void {
    const offset = detail.onKey ? this.keyStart : this.#within(detail.offset);
    this.#file.problems.add(offset, { severity, code, path: this.path, message, hint: detail.hint });
  }

  /** Where an offset into the scalar's text is in the file, as far as the text stands there unescaped. */
  #within(offset: number | undefined): number {
    const { start, end, value } = this.source;
    if (offset === undefined || typeof value !== 'string') return start;
    const at = this.#file.text.slice(start, end).indexOf(value.trimEnd());
    return at < 0 ? start : Math.min(start + at + offset, end);
  }

  uses(variable: string, offset: number): void {
    const { used } = this.#file;
    const byNode = used.get(variable) ?? new Map<string, Use>();
    if (!byNode.has(this.node)) byNode.set(this.node, { at: this, offset });
    used.set(variable, byNode);
  }

  sets(variable: string, inside = false): void {
    const { set } = this.#file;
    set.set(variable, (set.get(variable) ?? new Set()).add(inside ? '' : this.node));
  }

  connect(key: string, to: string): Connection {
    const connection = { id: `${this.node}.${key}`, from: this.node, to };
    this.#owner?.connect(connection, this);
    return connection;
  }

  body(value: Json): Body | undefined {
    return this.#owner?.body(value, this);
  }
}

import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ApiError, type Client, plain, UnreachableError } from '../../client/index.ts';
import type { Published } from '../../contract/types.ts';
import type { Flow } from '../../engine/flow.ts';
import { isObject } from '../../engine/json.ts';
import { check } from '../compiled.ts';
import { CliError } from '../exit.ts';
import { failureOf } from '../failure.ts';
import { readSource, type SourceFile } from '../flow-file.ts';
import { counted, showProblems } from '../problems.ts';
import { publish } from '../publishing.ts';
import type { Wfx } from '../wfx.ts';

/** What is known of a file that holds a flow, or held one. */
interface Known {
  /** As it was when it was last looked at. */
  readonly text: string;
  /** Of the last valid flow in it. */
  readonly flow: Flow | undefined;
  /** The version that the flow became; undefined while it isn't published. */
  readonly version: string | undefined;
  /** The id of its flow, which another file has already. */
  readonly waitsFor?: string;
}

/** `nodes` at the outermost level is what makes a YAML or JSON file a flow; the others of a folder are none of ours. */
function holdsFlow(text: string): boolean {
  if (!/^\s*[{[]/.test(text)) return /^(["']?)nodes\1[ \t]*:/m.test(text);
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && Object.hasOwn(value, 'nodes');
  } catch {
    return /\bnodes["']?\s*:/.test(text);
  }
}

/** The flows of a folder, published as their files change. Its methods are called one after the other. */
export class FlowFolder {
  readonly #wfx: Wfx;
  readonly #client: Client;
  readonly #dir: string;
  readonly #files = new Map<string, Known>();
  /** Flows of files that are gone: whoever takes one over is a file that was renamed. */
  readonly #left = new Map<string, string>();
  /** Files that wait for a daemon that answers. */
  readonly #unsent = new Set<string>();

  constructor(wfx: Wfx, client: Client, dir: string) {
    this.#wfx = wfx;
    this.#client = client;
    this.#dir = dir;
  }

  /** Ids of the flows in the folder. */
  has(processId: string): boolean {
    return this.#ownerOf(processId) !== undefined;
  }

  get size(): number {
    return [...this.#files.values()].filter(({ version }) => version !== undefined).length;
  }

  /** A file is new, or was saved. */
  async changed(path: string): Promise<void> {
    const source = this.#read(path);
    const before = this.#files.get(path);
    if (source === undefined || source.text === before?.text) return;
    if (source.text.trim() === '') return this.#isEmpty(path, before);
    if (before === undefined && !holdsFlow(source.text)) return;
    await this.#look(path, source, before);
  }

  /** A file is gone. What it published stays: deleting a file by mistake must not stop what runs. */
  async removed(path: string): Promise<void> {
    const known = this.#files.get(path);
    this.#files.delete(path);
    this.#unsent.delete(path);
    if (known?.flow === undefined) return;
    const { id } = known.flow;
    if (this.#ownerOf(id) !== undefined || (await this.#passedOn(id))) return;
    if (known.version !== undefined) this.#left.set(id, path);
  }

  /** The whole folder is gone. */
  vanished(): void {
    this.#files.clear();
    this.#unsent.clear();
    this.#left.clear();
  }

  /** Tells of files that were deleted, and not renamed, since the last call. */
  tellOfDeleted(): void {
    for (const [id, path] of this.#left)
      this.#note('yellow', `${path} is gone; its flow stays published (to end it: wfx flow unpublish ${id})`);
    this.#left.clear();
  }

  /** Publishes what a daemon that was away did not take. */
  async sendUnsent(): Promise<void> {
    for (const path of [...this.#unsent]) await this.#again(path);
  }

  /** Whether a file waited for the id, which no other file has any more. */
  async #passedOn(id: string): Promise<boolean> {
    const [path] = [...this.#files].find(([, { waitsFor }]) => waitsFor === id) ?? [];
    if (path !== undefined) await this.#again(path);
    return path !== undefined;
  }

  async #again(path: string): Promise<void> {
    const known = this.#files.get(path);
    if (known === undefined) return;
    this.#files.set(path, { ...known, text: '' });
    await this.changed(path);
  }

  /** Undefined for what is no file (any more), such as a pipe, and for one that can't be read, which is said. */
  #read(path: string): SourceFile | undefined {
    const file = join(this.#dir, path);
    if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
    try {
      return { ...readSource(file, 'flow file'), name: path };
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      this.#note('red', `${path}: ${error.message}`);
      return undefined;
    }
  }

  /** Some editors empty a file before they write it. */
  #isEmpty(path: string, before: Known | undefined): void {
    if (before === undefined) return;
    this.#files.set(path, { ...before, text: '' });
    this.#note('yellow', `${path} is empty; nothing was published`);
  }

  async #look(path: string, source: SourceFile, before: Known | undefined): Promise<void> {
    const { flow, problems } = await check(source);
    if (flow === undefined) {
      this.#files.set(path, { flow: before?.flow, version: before?.version, text: source.text });
      return this.#tellProblems(source, problems, before);
    }
    await this.#take(path, source, flow);
    const old = before?.flow;
    if (old === undefined || old.id === flow.id || (await this.#passedOn(old.id)) || before?.version === undefined)
      return;
    this.#note('yellow', `${path} has another id now; flow ${old.id} stays published`);
  }

  /** Publishes a valid flow, unless another file has its id. */
  async #take(path: string, source: SourceFile, flow: Flow): Promise<void> {
    const owner = this.#ownerOf(flow.id);
    if (owner !== undefined && owner !== path && existsSync(join(this.#dir, owner))) {
      this.#files.set(path, { text: source.text, flow: undefined, version: undefined, waitsFor: flow.id });
      return this.#note('red', `${path} has the same id as ${owner}, so it was not published: give it another id`);
    }
    if (owner !== undefined && owner !== path) this.#files.delete(owner);
    const from = owner !== path ? (owner ?? this.#left.get(flow.id)) : undefined;
    this.#left.delete(flow.id);
    if (from !== undefined) this.#note('dim', `${from} is ${path} now`);
    this.#files.set(path, { text: source.text, flow, version: undefined });
    await this.#publish(path, source, flow);
  }

  #tellProblems(source: SourceFile, problems: Parameters<typeof counted>[0], before: Known | undefined): void {
    const { io, json } = this.#wfx;
    if (json) return io.print(JSON.stringify({ problems: problems.map((one) => ({ file: source.name, ...one })) }));
    showProblems(io, source, problems);
    const still = before?.version === undefined ? '' : `; version ${before.version} stays`;
    this.#note('red', `✗ ${source.name} is not published: ${counted(problems)}${still}`);
  }

  async #publish(path: string, source: SourceFile, flow: Flow): Promise<void> {
    const isWaiting = this.#unsent.delete(path);
    try {
      const published = await publish(this.#wfx, this.#client, source, 'DEVELOPMENT');
      this.#files.set(path, { text: source.text, flow, version: published.version });
      this.#tellPublished(path, flow, published);
      await this.#tellOfWebhooks(flow);
    } catch (error) {
      if (error instanceof UnreachableError || (error instanceof ApiError && error.status === 503)) {
        this.#unsent.add(path);
        if (!isWaiting) this.#note('yellow', `${path} waits for the daemon: ${plain(error.message)}`);
        return;
      }
      const { message, details = [] } = failureOf(error);
      this.#note('red', `✗ ${path} is not published: ${[message, ...details].join(' ')}`);
    }
  }

  #tellPublished(path: string, flow: Flow, published: Published): void {
    const { io, json } = this.#wfx;
    if (json) return io.print(JSON.stringify({ published: { file: path, ...published } }));
    const what = published.unchanged ? 'is unchanged: version' : 'is published as version';
    io.print(`${io.paint('green', '✓')} ${plain(path)}: ${plain(flow.name)} ${what} ${published.version}`);
  }

  /** A flow whose webhook isn't there, or starts PRODUCTION alone, would stand still in silence. */
  async #tellOfWebhooks({ triggers }: Flow): Promise<void> {
    const names = triggers.flatMap((trigger) => (trigger.type === 'webhook' ? [trigger.registration] : []));
    if (names.length === 0) return;
    const { items } = await this.#client.call('listWebhooks', { query: { limit: 500 } });
    for (const name of new Set(names)) {
      const webhook = items.find((one) => one.name === name || one.id === name);
      const make = `wfx webhook create ${plain(name, 100)} --per-environment --provider NAME`;
      if (webhook === undefined) this.#note('yellow', `  there is no webhook ${plain(name, 100)} yet: ${make}`);
      else if (webhook.mode === 'SHARED')
        this.#note(
          'yellow',
          `  webhook ${plain(name, 100)} starts PRODUCTION alone; for this flow make one of its own: ${make}`,
        );
    }
  }

  #ownerOf(processId: string): string | undefined {
    for (const [path, { flow }] of this.#files) if (flow?.id === processId) return path;
    return undefined;
  }

  #note(style: 'red' | 'yellow' | 'dim', text: string): void {
    this.#wfx.io.note(this.#wfx.io.paintNote(style, plain(text)));
  }
}

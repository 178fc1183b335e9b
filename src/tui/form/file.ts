import { readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { type Client, plain } from '../../client/index.ts';
import type { Json } from '../../engine/json.ts';
import type { Key } from '../keys.ts';
import { lineOf } from '../line.ts';
import { TextField } from '../text-field.ts';
import type { Control, Look } from './control.ts';

const MOST_SHOWN = 6;
/** What a folder may hold to be looked through at every key. */
const MOST_ENTRIES = 5000;

/** The path of a file of this machine, with completion. */
export class PathControl implements Control {
  readonly name: string;
  readonly label: string;
  readonly required: boolean;
  readonly hint = 'tab completes';
  readonly #field: TextField;

  constructor({
    name,
    label,
    required = true,
    text = '',
  }: { name: string; label: string; required?: boolean; text?: string }) {
    this.name = name;
    this.label = label;
    this.required = required;
    this.#field = new TextField(text);
  }

  get text(): string {
    return this.#field.text;
  }

  type(key: Key): boolean {
    if (key.name !== 'tab') return this.#field.type(key);
    const completed = commonStart(candidates(this.#field.text));
    if (completed === undefined || completed.length <= this.#field.text.length) return false;
    this.#field.set(completed);
    return true;
  }

  value(): Json | undefined | Promise<Json | undefined> {
    return this.text === '' ? undefined : absolute(this.text);
  }

  lines({ paint, width, focused }: Look): readonly string[] {
    const [text = ''] = this.#field.view(paint, width - 2, 1, focused);
    const line = `${paint('dim', '│')} ${text}`;
    if (!focused) return [line];
    const found = candidates(this.#field.text);
    const names = found
      .slice(0, MOST_SHOWN)
      .map((path) => `  ${plain(basename(path), 200)}${path.endsWith('/') ? '/' : ''}`);
    const more = found.length > MOST_SHOWN ? [`  … ${found.length - MOST_SHOWN} more`] : [];
    return [line, ...[...names, ...more].map((name) => lineOf(paint, [{ text: name, tone: 'dim' }], width))];
  }
}

/** A file that is uploaded when the form is submitted; what a flow gets is a reference to it. */
export class FileControl extends PathControl {
  readonly #client: Client;
  #uploaded: { readonly path: string; readonly changed: number; readonly reference: Json } | undefined;

  constructor(client: Client, options: ConstructorParameters<typeof PathControl>[0]) {
    super(options);
    this.#client = client;
  }

  override async value(): Promise<Json | undefined> {
    if (this.text === '') return undefined;
    const path = absolute(this.text);
    const changed = modified(path);
    // A form that was refused for another field is submitted again: the file is there already.
    if (this.#uploaded?.path !== path || this.#uploaded.changed !== changed)
      this.#uploaded = { path, changed, reference: await this.#upload(path) };
    return this.#uploaded.reference;
  }

  async #upload(path: string): Promise<Json> {
    const { fileId, name, contentType, size } = await this.#client.call('uploadFile', {
      query: { name: basename(path) },
      body: readFileSync(path),
    });
    return { id: fileId, name, contentType, size };
  }
}

function modified(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new Error('there is no such file');
  if (!stat.isFile()) throw new Error('is no file');
  return stat.mtimeMs;
}

export const absolute = (path: string): string => resolve(path.replace(/^~(?=\/|$)/, homedir()));

/** Paths that begin as `text` does, written the same way; folders end with a slash. */
function candidates(text: string): readonly string[] {
  const folder = text.endsWith('/') ? text : text.includes('/') ? `${dirname(text)}/`.replace(/^\/\/$/, '/') : '';
  const begun = text.slice(folder.length);
  try {
    return readdirSync(absolute(folder === '' ? '.' : folder), { withFileTypes: true })
      .slice(0, MOST_ENTRIES)
      .filter(({ name }) => name.startsWith(begun) && (begun !== '' || !name.startsWith('.')))
      .map((entry) => `${folder}${entry.name}${isFolder(entry, folder) ? '/' : ''}`)
      .sort();
  } catch {
    return [];
  }
}

function isFolder(
  entry: { readonly name: string; isDirectory(): boolean; isSymbolicLink(): boolean },
  folder: string,
): boolean {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  return (
    statSync(join(absolute(folder === '' ? '.' : folder), entry.name), { throwIfNoEntry: false })?.isDirectory() ===
    true
  );
}

/** What all of them begin with. */
function commonStart([first, ...others]: readonly string[]): string | undefined {
  if (first === undefined) return undefined;
  let start = first;
  for (const other of others) while (!other.startsWith(start)) start = start.slice(0, -1);
  return start;
}

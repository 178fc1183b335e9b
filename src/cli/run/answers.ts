import { basename } from 'node:path';
import type { Client } from '../../client/index.ts';
import type { Task } from '../../contract/types.ts';
import type { Field } from '../../engine/form.ts';
import { isObject, type Json, type JsonObject } from '../../engine/json.ts';
import { exampleValue, formOf } from '../../terminal/commands.ts';
import { typedValue } from '../../terminal/typed.ts';
import { usage } from '../exit.ts';
import { readBytes } from '../flow-file.ts';
import { assignment } from '../values.ts';

/** What a task is answered with. */
export type Answer = { readonly action: 'COMPLETE'; readonly data: JsonObject } | { readonly action: 'CANCEL' };

export const CANCEL: Answer = { action: 'CANCEL' };
const CANCEL_WORD = '@cancel';

/** Values given for one node on the command line: several are taken in turn, the last one over and over. */
interface Given {
  readonly whole: string[];
  readonly fields: Map<string, string[]>;
}

/** Answers given before the run began: `--set-input` and `--input-file`. */
export class Answers {
  readonly #given = new Map<string, Given>();
  readonly #file: ReadonlyMap<string, Json>;
  readonly #rounds = new Map<string, number>();

  constructor(inputs: readonly string[], file: Readonly<Record<string, unknown>>) {
    for (const text of inputs) this.#add(text);
    this.#file = new Map(Object.entries(file) as [string, Json][]);
  }

  /** `review=approve`, or for a field of a form `review.amount=5`: node ids hold no dots. */
  #add(text: string): void {
    const [place, value] = assignment(text, '--set-input', 'review=approve');
    const dot = place.indexOf('.');
    const nodeId = dot === -1 ? place : place.slice(0, dot);
    const given: Given = this.#given.get(nodeId) ?? { whole: [], fields: new Map() };
    this.#given.set(nodeId, given);
    if (dot === -1) given.whole.push(value);
    else given.fields.set(place.slice(dot + 1), [...(given.fields.get(place.slice(dot + 1)) ?? []), value]);
  }

  /** The next answer for a task, or undefined where none was given. Files that it names are uploaded. */
  async next(task: Task, client: Client): Promise<Answer | undefined> {
    const round = this.#rounds.get(task.nodeId) ?? 0;
    this.#rounds.set(task.nodeId, round + 1);
    const given = this.#given.get(task.nodeId);
    if (given !== undefined) return fromTexts(task, given, round, client);
    const value = this.#file.get(task.nodeId);
    return value === undefined ? undefined : fromValue(task, value, client);
  }

  /** Nodes that were given an answer and never asked for one. */
  get unused(): readonly string[] {
    return [...new Set([...this.#given.keys(), ...this.#file.keys()])].filter((nodeId) => !this.#rounds.has(nodeId));
  }
}

const inTurn = (values: readonly string[], round: number): string | undefined =>
  values[Math.min(round, values.length - 1)];

async function fromTexts(task: Task, { whole, fields }: Given, round: number, client: Client): Promise<Answer> {
  const text = inTurn(whole, round);
  if (text === CANCEL_WORD) return CANCEL;
  const form = formOf(task);
  if (form.inputType !== 'form') {
    if (text === undefined)
      throw usage(`${task.nodeId} asks for one value, not for fields.`, `--set-input ${task.nodeId}=…`);
    return complete({ inputValue: await fromText({ ...form, type: form.inputType }, text, client) });
  }
  const formData: Record<string, Json> = { ...(text === undefined ? {} : objectIn(task, text)) };
  for (const [name, values] of fields) {
    const field = form.fields?.find((one) => one.name === name);
    const value = inTurn(values, round) ?? '';
    formData[name] = field === undefined ? typedValue(value) : await fromText(field, value, client);
  }
  return complete({ formData });
}

function objectIn(task: Task, text: string): JsonObject {
  const value = text === '' ? {} : typedValue(text);
  if (isObject(value)) return value;
  throw usage(`${task.nodeId} is a form, so “${text}” can't answer it.`, `answer its fields: ${exampleInput(task)}`);
}

/** Text as a field's type wants it. The daemon checks it, so only what text can't say is made here: lists and files. */
async function fromText(field: Pick<Field, 'type'>, text: string, client: Client): Promise<Json> {
  if (field.type === 'file') return uploaded(client, text);
  if (field.type !== 'checkbox') return text;
  const value = typedValue(text);
  if (Array.isArray(value) || typeof value === 'boolean') return value;
  return text === '' ? [] : text.split(',').map((item) => item.trim());
}

async function fromValue(task: Task, value: Json, client: Client): Promise<Answer> {
  if (value === CANCEL_WORD) return CANCEL;
  const form = formOf(task);
  if (form.inputType !== 'form') return complete({ inputValue: await withFile(form.inputType, value, client) });
  if (!isObject(value)) throw usage(`${task.nodeId} is a form: the input file must give a map of its fields.`);
  const formData: Record<string, Json> = { ...value };
  for (const { name, type } of form.fields ?? [])
    if (Object.hasOwn(value, name)) formData[name] = await withFile(type, value[name] as Json, client);
  return complete({ formData });
}

const withFile = (type: string, value: Json, client: Client): Json | Promise<Json> =>
  type === 'file' && typeof value === 'string' ? uploaded(client, value) : value;

const complete = (data: JsonObject): Answer => ({ action: 'COMPLETE', data });

/** Uploads a file of this machine; what a flow gets is a reference to it. */
export async function uploaded(client: Client, path: string): Promise<JsonObject> {
  const bytes = readBytes(path, 'file');
  const { fileId, name, contentType, size } = await client.call('uploadFile', {
    query: { name: basename(path) },
    body: bytes,
  });
  return { id: fileId, name, contentType, size };
}

/** How `--set-input` could answer a task, as an example. */
export function exampleInput(task: Task): string {
  const form = formOf(task);
  if (form.inputType !== 'form') return `--set-input ${task.nodeId}=${exampleValue({ ...form, type: form.inputType })}`;
  const fields = form.fields ?? [];
  if (fields.length === 0) return `--set-input ${task.nodeId}=`;
  return fields.map((field) => `--set-input ${task.nodeId}.${field.name}=${exampleValue(field)}`).join(' ');
}

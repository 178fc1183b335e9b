import * as clack from '@clack/prompts';
import { type Client, plain } from '../../client/index.ts';
import type { Task } from '../../contract/types.ts';
import { type Field, type Form, type Option, submitted } from '../../engine/form.ts';
import type { Json } from '../../engine/json.ts';
import { formOf } from '../../terminal/commands.ts';
import type { Io } from '../io.ts';
import { type Answer, CANCEL, uploaded } from './answers.ts';

/** Ctrl-C in a prompt, or the signal. */
const STOPPED = Symbol('stopped');

interface Asking {
  readonly io: Io;
  readonly client: Client;
  readonly signal: AbortSignal;
}

/** A question with the text shown for it. */
type Question = Omit<Field, 'required'> & { readonly message: string; readonly required: boolean };

/**
 * Asks a person at the terminal for what a task wants. Ctrl-C answers with CANCEL; undefined when the signal took the
 * question back.
 */
export async function askAtTerminal(task: Task, asking: Asking): Promise<Answer | undefined> {
  const form = formOf(task);
  const title = plain(form.title);
  const data =
    form.inputType === 'form'
      ? await askFields(form, title, asking)
      : await askOne(form, form.inputType, title, asking);
  if (asking.signal.aborted) return undefined;
  return data === STOPPED ? CANCEL : { action: 'COMPLETE', data };
}

async function askOne(form: Form, type: Field['type'], message: string, asking: Asking) {
  const value = await ask({ ...form, name: 'inputValue', type, message }, asking);
  return value === STOPPED ? STOPPED : { inputValue: value };
}

async function askFields(form: Form, title: string, asking: Asking) {
  clack.intro(title, { output: asking.io.stderr });
  const formData: Record<string, Json> = {};
  for (const field of form.fields ?? []) {
    const message = plain(field.label ?? field.name);
    const value = await ask({ ...field, required: field.required ?? form.required, message }, asking);
    if (value === STOPPED) return STOPPED;
    if (value !== null) formData[field.name] = value;
  }
  if ((form.fields ?? []).length === 0 && !(await confirmed(asking))) return STOPPED;
  clack.outro('Submitted', { output: asking.io.stderr });
  return { formData };
}

/** A task without a form is only done. */
async function confirmed({ io, signal }: Asking): Promise<boolean> {
  const streams = { input: io.stdin, output: io.stderr, signal };
  return !clack.isCancel(
    await clack.select({ ...streams, message: 'Is it done?', options: [{ value: true, label: 'Done' }] }),
  );
}

async function ask(question: Question, asking: Asking): Promise<Json | typeof STOPPED> {
  const streams = { input: asking.io.stdin, output: asking.io.stderr, signal: asking.signal };
  const value = await prompt(question, streams);
  if (clack.isCancel(value)) return STOPPED;
  if (question.type === 'file' && typeof value === 'string' && value !== '') return uploaded(asking.client, value);
  if (value === '' || value === undefined)
    return question.type === 'textbox' || question.type === 'textarea' ? '' : null;
  return question.type === 'number' ? Number(value) : (value as Json);
}

type Streams = Pick<clack.TextOptions, 'input' | 'output' | 'signal'>;

function prompt(question: Question, streams: Streams): Promise<unknown> {
  const { type, message } = question;
  const options = question.options ?? [];
  if ((type === 'select' || type === 'radio') && question.options !== undefined)
    return clack.select<Json>({
      ...streams,
      message,
      options: choices(options),
      ...initial('initialValue', question.default),
    });
  if (type === 'checkbox' && question.options === undefined)
    return clack.confirm({ ...streams, message, initialValue: question.default === true });
  if (type === 'checkbox')
    return clack.multiselect<Json>({
      ...streams,
      message,
      options: choices(options),
      required: question.required,
      initialValues: Array.isArray(question.default) ? question.default : [],
    });
  const text = {
    ...streams,
    message,
    placeholder: placeholderOf(type),
    validate: complaint(question),
    ...initialText(question.default),
  };
  if (type === 'textarea') return clack.multiline(text);
  return type === 'file' ? clack.path({ ...text, root: process.cwd() }) : clack.text(text);
}

const choices = (options: readonly Option[]) =>
  options.map(({ value, label }) => ({ value, label: plain(label) })) as Parameters<
    typeof clack.select<Json>
  >[0]['options'];

const initial = <Name extends string>(name: Name, value: Json | undefined) =>
  (value === undefined ? {} : { [name]: value }) as { [N in Name]?: Json };

const initialText = (value: Json | undefined) =>
  value === undefined || value === null ? {} : { initialValue: plain(String(value)) };

const placeholderOf = (type: string): string =>
  ({ number: 'a number', date: 'YYYY-MM-DD', file: 'path of a file', textarea: 'Enter twice submits' })[type] ?? '';

/** Says at once what the daemon would say: the same check on both sides. A file is checked when it is uploaded. */
function complaint(question: Question): (value: string | undefined) => string | undefined {
  const { message: _, label: _label, name: _name, default: _default, type, ...rest } = question;
  const form = { ...rest, title: '', inputType: type };
  return (value = '') => {
    const checked = submitted(form, { inputValue: value });
    return checked.ok
      ? undefined
      : checked.details[0]?.message.replace(/^inputValue (is required: |must be )/, 'Give ');
  };
}

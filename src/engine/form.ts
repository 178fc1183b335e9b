import { isObject, type Json, type JsonObject, merged } from './json.ts';
import { parseDate } from './time.ts';

export type InputType = 'textbox' | 'textarea' | 'number' | 'date' | 'select' | 'checkbox' | 'radio' | 'file' | 'form';

/** What can be chosen: `value` (a text, a number or a boolean) is what becomes the variable. */
export interface Option {
  readonly value: Json;
  readonly label: string;
}

/** One field of a form. It must be filled in when `required` is true, or when it is absent and the form's is true. */
export interface Field {
  readonly name: string;
  readonly label?: string;
  readonly type: Exclude<InputType, 'form'>;
  readonly options?: readonly Option[];
  readonly required?: boolean;
  readonly default?: Json;
}

/** What a waiting node asks for, with its references resolved. `fields` belong to inputType `form`, the rest to others. */
export interface Form {
  readonly title: string;
  readonly inputType: InputType;
  readonly options?: readonly Option[];
  readonly fields?: readonly Field[];
  readonly required: boolean;
  readonly default?: Json;
}

/** What is wrong with submitted data; `path` is where, as the sender wrote it: `data.formData.amount`. */
export interface Detail {
  readonly path: string;
  readonly message: string;
}

export type Submitted =
  | { readonly ok: true; readonly variables: JsonObject }
  | { readonly ok: false; readonly details: readonly Detail[] };

/** A value as it becomes a variable, or why it can't. */
type Checked = { readonly value: Json } | { readonly message: string };

/**
 * Checks data submitted to an Input Node or a User Task against its form (interface "Input Node").
 *
 * Simple types read `inputValue`, and always set it: null where nothing was given. Forms read each field from `formData`,
 * or from the data itself where there is no `formData`, and set `formData` with every field. Where nothing was given a
 * default is taken, as it is. Every other key of the data becomes a variable too.
 */
export function submitted(form: Form, data: JsonObject): Submitted {
  return form.inputType === 'form' ? submittedForm(form, data) : submittedInput(form, form.inputType, data);
}

function submittedInput(form: Form, type: Field['type'], data: JsonObject): Submitted {
  const checked = check({ ...form, name: 'inputValue', type }, own(data, 'inputValue'), form.required);
  if ('message' in checked) return { ok: false, details: [{ path: 'data.inputValue', message: checked.message }] };
  return { ok: true, variables: merged(data, { inputValue: checked.value }) };
}

function submittedForm(form: Form, data: JsonObject): Submitted {
  const given = own(data, 'formData');
  const nested = given !== undefined;
  const answers = nested ? given : data;
  if (!isObject(answers)) return refused('data.formData', 'formData must be an object with the fields of the form');
  const fields = form.fields ?? [];
  if (form.required && fields.length === 0 && Object.keys(answers).length === 0) {
    return refused('data', 'the form is required: submit its data');
  }
  const details: Detail[] = [];
  const values: Record<string, Json> = Object.create(null);
  for (const field of fields) {
    const checked = check(field, own(answers, field.name), field.required ?? form.required);
    if ('value' in checked) values[field.name] = checked.value;
    else details.push({ path: `${nested ? 'data.formData' : 'data'}.${field.name}`, message: checked.message });
  }
  if (details.length > 0) return { ok: false, details };
  const formData = merged(answers, values);
  const submittedKeys = nested ? data : merged(data, answered(values, data));
  return { ok: true, variables: merged(submittedKeys, { formData }) };
}

/** The checked values of the keys that the data has: a field that was left out sets no variable of its own. */
function answered(values: JsonObject, data: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([name]) => Object.hasOwn(data, name)));
}

const refused = (path: string, message: string): Submitted => ({ ok: false, details: [{ path, message }] });

const own = (data: JsonObject, key: string): Json | undefined => (Object.hasOwn(data, key) ? data[key] : undefined);

function check(field: Field, value: Json | undefined, required: boolean): Checked {
  if (isMissing(field, value)) {
    if (field.default !== undefined) return { value: field.default };
    if (required) return { message: `${field.name} is required: ${wanted(field)}` };
    return { value: null };
  }
  const checked = asType(field, value as Json);
  if (checked === undefined) return { message: `${field.name} must be ${wanted(field)}` };
  if (required && isEmpty(checked)) return { message: `${field.name} is required: ${wanted(field)}` };
  return { value: checked };
}

/** Nothing was given. The empty text is how web forms send that, except where the answer is a text. */
function isMissing(field: Field, value: Json | undefined): boolean {
  if (value === undefined || value === null) return true;
  if (value !== '' || field.type === 'textbox' || field.type === 'textarea') return false;
  return chosen(field, value) === undefined;
}

const isEmpty = (value: Json): boolean => value === '' || (Array.isArray(value) && value.length === 0);

/** The value as its field's type has it, or undefined when it is none. */
function asType(field: Field, value: Json): Json | undefined {
  switch (field.type) {
    case 'textbox':
    case 'textarea':
      return typeof value === 'string' ? value : undefined;
    case 'number':
      return asNumber(value);
    case 'date':
      return typeof value === 'string' && parseDate(value) !== undefined ? value : undefined;
    case 'select':
    case 'radio':
      return chosen(field, value);
    case 'checkbox':
      return asChoices(field, value);
    case 'file':
      return isFileReference(value) ? value : undefined;
  }
}

function asNumber(value: Json): number | undefined {
  if (typeof value === 'string' && (value.length > 400 || !/^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(value))) {
    return undefined;
  }
  const number = typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** The option that the value names: the value itself or its text. Without options any text, number or boolean is one. */
function chosen(field: Field, value: Json): Json | undefined {
  if (typeof value === 'object') return undefined;
  if (field.options === undefined) return value === '' ? undefined : value;
  const option = field.options.find((one) => one.value === value) ?? field.options.find((one) => isNamed(one, value));
  return option?.value;
}

const isNamed = ({ value }: Option, given: string | number | boolean): boolean => String(value) === String(given);

/** A list of options; a checkbox without options may also be a single box, ticked or not. */
function asChoices(field: Field, value: Json): Json | undefined {
  if (typeof value === 'boolean' && field.options === undefined) return value;
  if (!Array.isArray(value)) return undefined;
  const choices = value.map((item: Json) => chosen(field, item));
  return choices.includes(undefined) ? undefined : (choices as Json[]);
}

function isFileReference(value: Json): boolean {
  const id = isObject(value) ? own(value, 'id') : value;
  return typeof id === 'string' && id !== '';
}

/** What a field takes, to follow "must be". */
function wanted(field: Field): string {
  switch (field.type) {
    case 'textbox':
    case 'textarea':
      return 'a text';
    case 'number':
      return 'a number';
    case 'date':
      return 'an ISO 8601 date such as 2026-01-31';
    case 'select':
    case 'radio':
      return field.options ? `one of ${listed(field.options)}` : 'a text, a number or a boolean';
    case 'checkbox':
      return field.options ? `a list of ${listed(field.options)}` : 'a list';
    case 'file':
      return 'a file: the id of an uploaded one, or an object with that id';
  }
}

function listed(options: readonly Option[]): string {
  const shown = options.slice(0, 10).map((option) => String(option.value).slice(0, 40));
  return `${shown.join(', ')}${options.length > shown.length ? ', …' : ''}`;
}

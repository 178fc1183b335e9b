import type { Client } from '../../client/index.ts';
import type { Field, Form } from '../../engine/form.ts';
import type { Json } from '../../engine/json.ts';
import { ChoiceControl, TickControl } from './choice.ts';
import type { Control } from './control.ts';
import { DateControl } from './date.ts';
import { FileControl } from './file.ts';
import { numberOf, TextControl } from './text.ts';

/** The questions of a task's form: its fields, or the one value that it asks for. */
export function controlsOf(form: Form, client: Client): readonly Control[] {
  if (form.inputType !== 'form')
    return [controlOf({ ...form, name: 'inputValue', label: 'Answer', type: form.inputType }, form.required, client)];
  return (form.fields ?? []).map((field) => controlOf(field, field.required ?? form.required, client));
}

function controlOf(field: Field, required: boolean, client: Client): Control {
  const { name, type, options } = field;
  const given = { name, label: field.label ?? name, required };
  const text = textOf(field.default);
  switch (type) {
    case 'textarea':
      return new TextControl({ ...given, text, lines: true });
    case 'number':
      return new TextControl({ ...given, text, hint: 'a number', read: numberOf });
    case 'date':
      return new DateControl({ ...given, text });
    case 'select':
    case 'radio':
      if (options === undefined) break;
      return new ChoiceControl({ ...given, options, chosen: field.default === undefined ? [] : [field.default] });
    case 'checkbox':
      if (options === undefined) return new TickControl({ ...given, ticked: field.default === true });
      return new ChoiceControl({ ...given, options, many: true, chosen: listOf(field.default) });
    case 'file':
      return new FileControl(client, given);
    case 'textbox':
      break;
  }
  return new TextControl({ ...given, text });
}

const textOf = (value: Json | undefined): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);

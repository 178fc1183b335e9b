import type { FieldSpec } from './flow.ts';
import { type Form, submitted } from './form.ts';
import { isObject, type Json, type JsonObject } from './json.ts';
import type { ValueTemplate } from './template.ts';
import type { Turn } from './turn.ts';

/** Options as the form shows them: `{value, label}` each. They may come from a variable, so they are checked here too. */
export function resolveOptions(turn: Turn, options: ValueTemplate): readonly Json[] {
  const list = turn.value(options);
  if (!Array.isArray(list)) return turn.fail('FORM_INVALID', 'the options of the form are not a list');
  return list.map((option) => optionOf(turn, option as Json));
}

function optionOf(turn: Turn, option: Json): Json {
  if (option !== null && typeof option !== 'object') return { value: option, label: String(option) };
  const value = isObject(option) ? option['value'] : undefined;
  if (value === undefined || value === null || typeof value === 'object') {
    return turn.fail('FORM_INVALID', 'an option of the form is neither a text or number nor {value, label}');
  }
  const label = (option as JsonObject)['label'];
  return { value, label: typeof label === 'string' ? label : String(label ?? value) };
}

export function resolveFields(turn: Turn, fields: readonly FieldSpec[]): readonly JsonObject[] {
  return fields.map((field) => {
    const shown: Record<string, Json> = { name: field.name, type: field.type, required: field.required };
    if (field.label !== undefined) shown['label'] = turn.text(field.label);
    if (field.options !== undefined) shown['options'] = resolveOptions(turn, field.options);
    if (field.default !== undefined) shown['default'] = turn.value(field.default);
    return shown;
  });
}

/** Submitted data against the form of a waiting task: the variables it gives, or what is wrong with it by field. */
export function checkTask(task: JsonObject, data: JsonObject): ReturnType<typeof submitted> {
  return submitted(task['form'] as unknown as Form, data);
}
